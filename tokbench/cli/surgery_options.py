"""The options that commands which change a vocabulary share: the text that decides, the size of the embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli.corpus_options import (
    MAX_DOCUMENT,
    DocumentsOption,
    ErrorsOption,
    GroupByOption,
    TextFieldOption,
    chosen_corpus,
)

if TYPE_CHECKING:
    from tokbench.corpus import Corpus

PadOption = Annotated[
    int,
    typer.Option(metavar="N", min=1, help="Round the number of embedding rows up to a multiple of N."),
]


@dataclass(frozen=True, slots=True)
class CountedText:
    """The text on which tokens are counted."""

    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="The text to count tokens and compare tokenizers on: a file, a folder or a pattern; repeatable.",
        ),
    ] = None
    documents: DocumentsOption = "file"
    text_field: TextFieldOption = None
    errors: ErrorsOption = "strict"
    group_by: GroupByOption = "auto"

    def open(self) -> Corpus | None:
        """The corpus; None where none is named. Raises `CorpusError`, `ConfigError`."""
        if not self.corpus:
            return None
        return chosen_corpus(
            self.corpus,
            documents=self.documents,
            text_field=self.text_field,
            errors=self.errors,
            max_document_bytes=MAX_DOCUMENT,
            group_by=self.group_by,
        )
