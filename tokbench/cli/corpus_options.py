"""Options for reading a corpus, and opening it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from tokbench.cli import completion
from tokbench.cli.options import parse_bytes
from tokbench.corpus import bundled_corpus, open_corpus
from tokbench.corpus.document import DocumentUnit, ErrorPolicy
from tokbench.corpus.opening import without_folder
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.corpus import Corpus


PathsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH", help="Files, folders, patterns, URLs, or - for stdin. By default the bundled texts."
    ),
]
TextFieldOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="The field that holds the text of a JSONL or Parquet record, by default `text`; the texts of several "
        "fields are joined by a blank line. Repeatable.",
    ),
]
TEXT_FIELD = ("text",)
ErrorsOption = Annotated[
    ErrorPolicy,
    typer.Option(help="How to handle bytes that are not UTF-8; skip leaves out records without a text, too."),
]
MaxDocumentOption = Annotated[
    str,
    typer.Option(
        "--max-document-bytes",
        metavar="SIZE",
        help="The maximum size of a document, e.g. 64MB or 1GiB: a longer one is an error, or is "
        "skipped with --errors skip.",
    ),
]
MAX_DOCUMENT = "256MiB"
DocumentsOption = Annotated[DocumentUnit, typer.Option(help="How to split files into documents.")]
GroupByOption = Annotated[
    str,
    typer.Option(
        autocompletion=completion.groupings,
        metavar="HOW",
        help="How to group documents: auto, path, script, extension or field:NAME.",
    ),
]


@dataclass(frozen=True, slots=True)
class DocumentChoices:
    """Which documents a command reads."""

    paths: PathsArgument = None
    documents: DocumentsOption = "file"
    text_field: TextFieldOption = None
    errors: ErrorsOption = "strict"
    max_document_bytes: MaxDocumentOption = MAX_DOCUMENT

    def corpus(self, *, group_by: str = "auto", written: str | None = None) -> Corpus:
        """Return the corpus, or the bundled texts, without files in the output folder.

        Raises `CorpusError`, `ConfigError`.
        """
        most = parse_bytes(self.max_document_bytes, option="--max-document-bytes")
        if not self.paths:
            return bundled_corpus(documents=self.documents, group_by=group_by)
        corpus = open_corpus(
            *self.paths,
            documents=self.documents,
            text_field=self.text_field or TEXT_FIELD,
            errors=self.errors,
            group_by=group_by,
            max_document_bytes=most,
        )
        _tell_tokenizers(self.paths)
        tell_records(corpus, self.text_field)
        return corpus if written is None else without_folder(corpus, written)


@dataclass(frozen=True, slots=True)
class CountedText:
    """The text on which tokens are counted, given by an option."""

    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH", help="Text to count tokens on, to show the most frequent first; repeatable."
        ),
    ] = None
    documents: DocumentsOption = "file"
    text_field: TextFieldOption = None
    errors: ErrorsOption = "strict"

    def open(self, *, group_by: str = "auto") -> Corpus | None:
        """Open the corpus; return None if none is given. Raises `CorpusError`, `ConfigError`."""
        if not self.corpus:
            return None
        choices = DocumentChoices(self.corpus, self.documents, self.text_field, self.errors)
        return choices.corpus(group_by=group_by)


@dataclass(frozen=True, slots=True)
class ComparedText(CountedText):
    """The text on which tokens are counted, and two tokenizers compared by group."""

    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="The text to count tokens and compare tokenizers on: a file, a folder or a pattern; repeatable.",
        ),
    ] = None
    group_by: GroupByOption = "auto"

    def open_grouped(self) -> Corpus | None:
        """Open the corpus in groups; return None if none is given. Raises `CorpusError`, `ConfigError`."""
        return self.open(group_by=self.group_by)


def _tell_tokenizers(paths: list[str]) -> None:
    """Report tokenizer files that are given as text on stderr: this may be a mistake, as JSON can be text."""
    from tokbench.workbench.open import tokenizers_among

    for path in tokenizers_among(paths):
        print(f"note: {path} is a tokenizer, and is read as text here; -t names one", file=sys.stderr)


def tell_records(corpus: Corpus, text_field: Sequence[str] | None) -> None:
    """Report JSON records that are read as text, and a --text-field without effect, on stderr."""
    from tokbench.corpus.records import records_as_text

    if found := records_as_text(corpus.files):
        way = "jq -c '.[]' writes one" if found.is_list else "rename it, or link to it by such a name"
        print(
            f"note: {found.file.name} holds JSON records, and is read as text with the names of all fields; "
            f"only a .jsonl file is read by its field {(text_field or TEXT_FIELD)[0]!r}: {way}",
            file=sys.stderr,
        )
    elif text_field and all(file.kind == "text" for file in corpus.files):
        print("note: --text-field has no effect: no file is .jsonl or .parquet", file=sys.stderr)


def tell_problems(corpus: Corpus) -> None:
    """Report skipped and replaced documents of a corpus on stderr."""
    if message := str(corpus.problems):
        print(f"note: {message}", file=sys.stderr)
    left_out = corpus.left_out
    if replace(left_out, hidden=0, special=0) != type(left_out)():
        print(f"note: left out of the folders: {left_out}", file=sys.stderr)


_CHOICES = {"documents": get_args(DocumentUnit), "errors": get_args(ErrorPolicy)}


def as_before(
    arguments: Mapping[str, Any], documents: DocumentChoices, group_by: str, command: typer.Context
) -> tuple[DocumentChoices, str]:
    """Return the document choices of an earlier result, unless the command line overrides them.

    Args:
        arguments: the arguments of the earlier result, as `asked_for` returned them.
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
    """Convert an argument of a result to the value of its option. Raises `ConfigError`."""
    parts = value if isinstance(value, list) else [value]
    try:
        is_several = isinstance(value, list) and isinstance(now, str)
        if not parts or is_several or not all(isinstance(part, str) for part in parts):
            raise ValueError
        if name in _CHOICES and value not in _CHOICES[name]:
            raise ValueError
    except ValueError:
        raise ConfigError(
            f"the baseline is damaged: it has {name} {value!r}",
            hint="write it again with `tokbench compare --json`",
        ) from None
    return value
