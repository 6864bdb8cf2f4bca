"""Options for the texts of a command, and reading them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tokbench.cli.corpus_options import (
    MAX_DOCUMENT,
    TEXT_FIELD,
    ErrorsOption,
    MaxDocumentOption,
    TextFieldOption,
    tell_problems,
)
from tokbench.cli.options import parse_bytes
from tokbench.core.progress import no_progress
from tokbench.corpus.inputs import read_inputs, read_text_blocks
from tokbench.errors import ConfigError, TokbenchError
from tokbench.render.console import ProgressChoice, showing_progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.core.progress import Progress
    from tokbench.corpus.inputs import TextBlocks, TextInput


STDIN = "-"
"""How standard input is named, and what is read where nothing is."""

DecodeErrors = Literal["replace", "strict"]
DecodeErrorsOption = Annotated[
    DecodeErrors, typer.Option(help="How to decode incomplete characters: replace with U+FFFD, or fail.")
]
TextOrFileFlag = Annotated[
    bool | None,
    typer.Option("--text/--file", help="Treat every argument as text, or as a path."),
]
TextsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TEXT", help="Texts, files, folders, patterns, URLs, or - for stdin, the default."
    ),
]


@dataclass(frozen=True, slots=True)
class TextChoices:
    """How arguments are interpreted as texts or files, and how files are read."""

    text: TextOrFileFlag = None
    text_field: TextFieldOption = None
    errors: ErrorsOption = "strict"
    max_document_bytes: MaxDocumentOption = MAX_DOCUMENT

    def refuse_tokenizer(self, arguments: list[str] | None) -> None:
        """Raise `ConfigError` if the first of several texts is a tokenizer: -t was probably forgotten."""
        if self.text is not None or not arguments or len(arguments) < 2 or not Path(arguments[0]).exists():
            return
        from tokbench.opening.recognition import recognize

        try:
            recognize(Path(arguments[0]))
        except TokbenchError:
            return
        raise ConfigError(
            f"{arguments[0]} is a tokenizer, but is given as a text",
            hint=f"-t {arguments[0]} opens it; --file reads every argument as a file of text",
        )

    def read(self, arguments: list[str] | None, *, progress: Progress | None = None) -> Iterator[TextInput]:
        """Read the texts of arguments, or stdin without any. Raises like `tokbench.corpus.inputs.read_inputs`."""
        return read_inputs(
            arguments or [STDIN],
            max_document_bytes=parse_bytes(self.max_document_bytes, option="--max-document-bytes"),
            progress=progress or no_progress,
            **self._begin(arguments),
        )

    def read_blocks(self, arguments: list[str] | None) -> Iterator[TextBlocks]:
        """Read the texts block by block. Raises like `tokbench.corpus.inputs.read_text_blocks`."""
        return read_text_blocks(arguments or [STDIN], **self._begin(arguments))

    def _begin(self, arguments: list[str] | None) -> dict[str, Any]:
        """Say that standard input is read, if it is a terminal, and return the options of both ways of reading."""
        if not arguments and sys.stdin is not None and sys.stdin.isatty():
            print("reading text from stdin; Ctrl-D ends it", file=sys.stderr)
        return {
            "kind": "text" if self.text and arguments else "file" if self.text is False else "auto",
            "text_field": self.text_field or TEXT_FIELD,
            "errors": self.errors,
            "tell": tell_problems,
        }

    def read_with_progress(
        self, arguments: list[str] | None, *, progress: ProgressChoice
    ) -> Iterator[TextInput]:
        """Like `read`, with a progress bar that disappears when each text is read."""
        report = no_progress

        def tell(phase: str, done: int, total: int | None, unit: str) -> None:
            report(phase, done, total, unit)

        items = self.read(arguments, progress=tell)
        while True:
            with showing_progress(progress) as bar:
                report = bar
                item = next(items, None)
            if item is None:
                return
            yield item
