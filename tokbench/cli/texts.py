"""The texts that a command is given, and what is told of those that could not be read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tokbench.cli.options import parse_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.cli.options import ErrorPolicy
    from tokbench.corpus import Corpus
    from tokbench.inputs import TextInput


def read_texts(
    arguments: list[str],
    *,
    text: bool,
    file: bool,
    text_field: str,
    errors: ErrorPolicy,
    max_document_bytes: str,
) -> Iterator[TextInput]:
    """The texts of a command's arguments; raises as `tokbench.inputs.read_inputs`."""
    from tokbench.errors import ConfigError
    from tokbench.inputs import read_inputs

    if text and file:
        raise ConfigError("--text and --file cannot both be meant", hint="give one of them, or neither")
    return read_inputs(
        arguments,
        kind="text" if text else "file" if file else "auto",
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
