"""The options with which any command reads a corpus, and the opening itself."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

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
    from collections.abc import Mapping, Sequence

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


def as_before(
    arguments: Mapping[str, Any], documents: DocumentChoices, group_by: str, command: typer.Context
) -> tuple[DocumentChoices, str]:
    """Which documents an older result was made on, where the command line does not say otherwise.

    Args:
        arguments: what was asked for then, as `asked_for` put it down.
        documents: what the command line says.
        group_by: the same.
        command: tells what was given.

    Raises:
        ConfigError: the arguments are damaged.
    """
    found: dict[str, Any] = {}
    for name, now in {**_by_name(documents), "group_by": group_by}.items():
        source = command.get_parameter_source(name)
        if name in arguments and (source is None or source.name == "DEFAULT"):
            found[name] = _as_option(arguments[name], now, name=name)
    return replace(
        documents, **{name: value for name, value in found.items() if name != "group_by"}
    ), found.get("group_by", group_by)


def _by_name(documents: DocumentChoices) -> dict[str, Any]:
    return {one.name: getattr(documents, one.name) for one in fields(documents)}


def _as_option(value: Any, now: Any, *, name: str) -> Any:
    """What stands in a result as the option that it was. Raises `ConfigError`."""
    from tokbench.errors import ConfigError

    parts = value if isinstance(value, list) else [value]
    try:
        is_several = isinstance(value, list) and isinstance(now, str)
        if not parts or is_several or not all(isinstance(part, str) for part in parts):
            raise ValueError
        return type(now)(value) if isinstance(now, StrEnum) else value
    except ValueError:
        raise ConfigError(
            f"the baseline is damaged: it has {name} {value!r}",
            hint="write it again with `tokbench compare --json`",
        ) from None
