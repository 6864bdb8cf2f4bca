"""The options of reading a corpus, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from tokbench.core.near_names import meant
from tokbench.corpus.document import DocumentUnit, ErrorPolicy
from tokbench.corpus.document_limits import MAX_DOCUMENT_BYTES, MOST_DOCUMENT_BYTES
from tokbench.corpus.groups import check_group_by
from tokbench.errors import ConfigError


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """How the files of a corpus are read; see `open_corpus`."""

    documents: DocumentUnit = "file"
    text_field: str | tuple[str, ...] = "text"
    group_by: str = "auto"
    errors: ErrorPolicy = "strict"
    max_document_bytes: int = MAX_DOCUMENT_BYTES

    def __post_init__(self) -> None:
        _check_choice("documents", self.documents, get_args(DocumentUnit))
        _check_choice("errors", self.errors, get_args(ErrorPolicy))
        check_group_by(self.group_by)
        if not self.text_fields:
            raise ConfigError("there is no field to read texts from", hint='name one, as text_field="text"')
        if not isinstance(self.max_document_bytes, int):
            raise ConfigError(
                f"max_document_bytes is {self.max_document_bytes!r:.40}, where a number is needed"
            )
        if not 1 <= self.max_document_bytes <= MOST_DOCUMENT_BYTES:
            raise ConfigError(
                f"max_document_bytes must be between 1 byte and {MOST_DOCUMENT_BYTES >> 30} GiB, "
                f"and is {self.max_document_bytes}",
                hint="--max-document-bytes 256MiB is the default",
            )

    @property
    def text_fields(self) -> tuple[str, ...]:
        """The fields of a record that make its text, each once."""
        fields = (self.text_field,) if isinstance(self.text_field, str) else self.text_field
        return tuple(dict.fromkeys(fields))


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(
            f"unknown {option} {value!r}", hint=meant(value, choices, otherwise=f"choose {{}} (--{option})")
        )
