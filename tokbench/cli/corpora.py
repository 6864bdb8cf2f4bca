"""The options with which any command reads a corpus, and the opening itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli import completion
from tokbench.cli.options import (
    MAX_DOCUMENT,
    TEXT_FIELD,
    ErrorPolicy,
    ErrorsOption,
    MaxDocumentOption,
    TextFieldOption,
    parse_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.corpus import Corpus


class DocumentUnit(StrEnum):
    """What a text file falls into."""

    file = "file"
    lines = "lines"
    paragraphs = "paragraphs"


PathsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH", help="Files, folders or patterns. By default the bundled texts."),
]
DocumentsOption = Annotated[DocumentUnit, typer.Option(help="What a text file falls into.")]
GroupByOption = Annotated[
    str,
    typer.Option(
        autocompletion=completion.groupings,
        metavar="HOW",
        help="auto, path, script, extension or field:NAME.",
    ),
]


@dataclass(frozen=True, slots=True)
class DocumentChoices:
    """Which documents a command reads."""

    paths: PathsArgument = None
    documents: DocumentsOption = DocumentUnit.file
    text_field: TextFieldOption = None
    errors: ErrorsOption = ErrorPolicy.STRICT
    max_document_bytes: MaxDocumentOption = MAX_DOCUMENT

    def corpus(self, *, group_by: str = "auto") -> Corpus:
        """They, or the bundled texts. Raises `CorpusError`, `ConfigError`."""
        return chosen_corpus(
            self.paths,
            documents=self.documents,
            text_field=self.text_field,
            errors=self.errors,
            max_document_bytes=self.max_document_bytes,
            group_by=group_by,
        )


def chosen_corpus(
    paths: list[str] | None,
    *,
    documents: DocumentUnit,
    text_field: Sequence[str] | None,
    errors: ErrorPolicy,
    max_document_bytes: str,
    group_by: str = "auto",
) -> Corpus:
    """The corpus that was named, or the bundled texts. Raises `CorpusError`, `ConfigError`."""
    from tokbench.corpus import bundled_corpus, open_corpus

    most = parse_bytes(max_document_bytes, option="--max-document-bytes")
    if not paths:
        return bundled_corpus(documents=documents.value, group_by=group_by)
    return open_corpus(
        *paths,
        documents=documents.value,
        text_field=text_field or TEXT_FIELD,
        errors=errors.value,
        group_by=group_by,
        max_document_bytes=most,
    )
