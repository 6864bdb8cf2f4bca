"""Options for texts and corpora, and reading them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from tokbench.cli import completion
from tokbench.cli.options import parse_bytes
from tokbench.cli.standard_input import STDIN, tell_of_stdin
from tokbench.core.progress import no_progress
from tokbench.corpus import bundled_corpus, open_corpus
from tokbench.corpus.document import DocumentUnit, ErrorPolicy
from tokbench.corpus.inputs import is_text, read_inputs, read_text_blocks
from tokbench.corpus.opening import without_folder
from tokbench.errors import ConfigError, TokbenchError
from tokbench.files.storage.open import refuse_unwritable
from tokbench.render.console import ProgressChoice, showing_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.corpus.inputs import TextBlocks, TextInput

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
        help="The field that contains the text of a JSONL or Parquet record, by default `text`; the texts of several "
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

        Raises `CorpusError`, `ConfigError`, `StoreError`.
        """
        if written is not None:
            refuse_unwritable(written)
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
        if STDIN in self.paths:
            tell_of_stdin("text")
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
    """Report tokenizers that are given as text on stderr: this may be a mistake, as JSON can be text."""
    from tokbench.workbench.open import tokenizer_folders, tokenizers_among

    found = list(tokenizers_among(paths))
    for path in found:
        print(f"note: {path} is a tokenizer, and is read as text here; -t names one", file=sys.stderr)
    for path in map(Path, paths):
        if path not in found and tokenizer_folders(path):
            print(
                f"note: {path} contains nothing but files of tokenizers, which are read as text here; -t names one",
                file=sys.stderr,
            )


def tell_records(corpus: Corpus, text_field: Sequence[str] | None) -> None:
    """Report JSON records that are read as text, and a --text-field without effect, on stderr."""
    from tokbench.corpus.records import records_as_text

    if found := records_as_text(corpus.files):
        name, field = found.file.name, (text_field or TEXT_FIELD)[0]
        if found.form == "table":
            note = (
                f"{name} is a table, and is read as text with all of its columns and their titles; "
                f"only a .jsonl or .parquet file is read by its field {field!r}: convert it to one"
            )
        else:
            way = (
                "jq -c '.[]' writes one"
                if found.form == "list"
                else "rename it, or link to it by such a name"
            )
            note = (
                f"{name} contains JSON records, and is read as text with the names of all fields; "
                f"only a .jsonl file is read by its field {field!r}: {way}"
            )
        print(f"note: {note}", file=sys.stderr)
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
        """Report what may surprise on stderr: waiting for stdin, or a tokenizer read as text; return common options."""
        if not arguments or (STDIN in arguments and not self.text):
            tell_of_stdin("text")
        if arguments and self.text is None:
            _tell_tokenizers([argument for argument in arguments if not is_text(argument)])
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
