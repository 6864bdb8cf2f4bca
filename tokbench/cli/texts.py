"""The texts that a command is given, and what is told of those that could not be read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli.options import parse_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.cli.options import ErrorPolicy
    from tokbench.corpus import Corpus
    from tokbench.inputs import TextInput


STDIN = "-"
"""How standard input is named, and what is read where nothing is."""

TextsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT", help="Texts, files, folders, patterns, or - for stdin, the default."),
]


def read_texts(
    arguments: list[str] | None,
    *,
    text: bool,
    file: bool,
    text_field: str,
    errors: ErrorPolicy,
    max_document_bytes: str,
) -> Iterator[TextInput]:
    """The texts of a command's arguments, or of stdin without any; raises as `tokbench.inputs.read_inputs`."""
    from tokbench.errors import ConfigError
    from tokbench.inputs import read_inputs

    if text and file:
        raise ConfigError("--text and --file cannot both be meant", hint="give one of them, or neither")
    if not arguments and sys.stdin is not None and sys.stdin.isatty():
        print("reading text from stdin; Ctrl-D ends it", file=sys.stderr)
    return read_inputs(
        arguments or [STDIN],
        kind="text" if text and arguments else "file" if file else "auto",
        text_field=text_field,
        errors=errors.value,
        max_document_bytes=parse_bytes(max_document_bytes, option="--max-document-bytes"),
        tell=tell_problems,
    )


def tell_problems(corpus: Corpus) -> None:
    """Say on stderr what of a corpus was passed over or replaced."""
    if message := str(corpus.problems):
        print(f"note: {message}", file=sys.stderr)
    if corpus.left_out.binary:
        print(f"note: left out of the folders: {corpus.left_out}", file=sys.stderr)
