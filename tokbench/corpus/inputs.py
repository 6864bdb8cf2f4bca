"""The texts that a command's arguments name: a text itself, files, folders, or standard input."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tokbench.core.progress import no_progress
from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus, ErrorPolicy

InputKind = Literal["auto", "text", "file"]

_PATH_LIKE = re.compile(r"\S*[/\\]\S*|\S+\.[A-Za-z][A-Za-z0-9]{0,9}|\S*\*\S*")
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class TextInput:
    """A text and its source.

    Attributes:
        source: its name in messages: "docs/a.txt", "data.jsonl:17", or the text itself, shortened.
        text: the text.
        file: the file that contains it: "data.jsonl"; else its source.
        continues: whether the previous text was a part of the same file.
        is_argument: whether the text itself was the argument, and is in no file.
    """

    source: str
    text: str
    file: str
    continues: bool = False
    is_argument: bool = False

    def place(self, offset: int) -> str | None:
        r"""Return the position of a byte as messages name it; None for a text that was an argument.

        >>> TextInput("a.txt", "one\ntwo", file="a.txt").place(5)
        'a.txt, line 2'
        """
        if self.is_argument:
            return None
        if self.source != self.file and "\n" not in self.text:
            return self.source  # "data.jsonl:17" already names a line
        line = self.text.encode()[:offset].count(b"\n") + 1
        return f"{self.source}, line {line}"


def read_inputs(
    arguments: Sequence[str],
    *,
    kind: InputKind = "auto",
    text_field: str | Sequence[str] = "text",
    errors: ErrorPolicy = "strict",
    max_document_bytes: int | None = None,
    tell: Callable[[Corpus], None] = lambda _: None,
    progress: Progress = no_progress,
) -> Iterator[TextInput]:
    """Yield the texts of a command's arguments.

    Under "auto", "-" is standard input, an argument that names a file or folder is read, and any other is a text. An
    argument that looks like a path or a pattern but does not exist is an error, and not a text of a few letters.

    Args:
        arguments: as the user wrote them.
        kind: "text" takes every argument as a text, "file" takes every one as a path.
        text_field: as for `open_corpus`.
        errors: as for `open_corpus`.
        max_document_bytes: as for `open_corpus`; None for its default.
        tell: called with every corpus after it was read, to report its problems.
        progress: called with the position in the files.

    Raises:
        CorpusError: a path is missing, or a file cannot be read.

    >>> next(read_inputs(["two words"])).text
    'two words'
    """
    bound = {} if max_document_bytes is None else {"max_document_bytes": max_document_bytes}
    if kind != "text" and arguments.count("-") > 1:
        raise CorpusError("standard input can be read only once", hint="name - once")
    for argument in arguments:
        if kind == "text" or (kind == "auto" and is_text(argument)):
            text = _utf8(argument)
            source = _shortened(text)
            yield TextInput(source, text, file=source, is_argument=True)
        else:
            corpus = _open(argument, kind=kind, text_field=text_field, errors=errors, **bound)
            from tokbench.core.progress import watched

            phase = f"reading {_shortened(argument)}"
            yield from watched(_read(corpus), corpus, phase=phase, progress=progress)
            tell(corpus)


@dataclass(frozen=True, slots=True)
class TextBlocks:
    """A text or a file that is read block by block.

    Attributes:
        source: its name in messages.
        blocks: its blocks, to be used before the next text is requested.
        is_joined: whether the blocks are parts of one text, and not separate texts.
    """

    source: str
    blocks: Iterator[str]
    is_joined: bool


def read_text_blocks(
    arguments: Sequence[str],
    *,
    kind: InputKind = "auto",
    text_field: str | Sequence[str] = "text",
    errors: ErrorPolicy = "strict",
    tell: Callable[[Corpus], None] = lambda _: None,
) -> Iterator[TextBlocks]:
    """Yield the texts of a command's arguments, as `read_inputs` does, but read them only as far as blocks are used.

    Raises:
        CorpusError: as `read_inputs`.

    >>> [list(text.blocks) for text in read_text_blocks(["two words"])]
    [['two words']]
    """
    if kind != "text" and arguments.count("-") > 1:
        raise CorpusError("standard input can be read only once", hint="name - once")
    for argument in arguments:
        if kind == "text" or (kind == "auto" and is_text(argument)):
            text = _utf8(argument)
            yield TextBlocks(_shortened(text), iter([text]), is_joined=True)
        else:
            corpus = _open(argument, kind=kind, text_field=text_field, errors=errors)
            for name, blocks, is_joined in corpus.text_blocks():
                yield TextBlocks(name, blocks, is_joined)
            tell(corpus)


def is_text(argument: str) -> bool:
    """Whether an argument is a text: it is not an existing path and does not look like a path.

    >>> is_text("two words"), is_text("-"), is_text("notes.txt")
    (True, False, False)
    """
    return argument != "-" and not _exists(argument) and _PATH_LIKE.fullmatch(argument) is None


def _exists(argument: str) -> bool:
    try:
        return bool(argument) and Path(argument).exists()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False


def _utf8(argument: str) -> str:
    """Return an argument decoded as UTF-8, independent of the locale."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(argument).decode()
        except UnicodeError:
            raise CorpusError(
                f"the text {_shortened(argument)!a} is not UTF-8", hint="put it into a file, and name that"
            ) from None
    return argument


def _open(argument: str, *, kind: InputKind, **options: Any) -> Corpus:
    from tokbench.corpus import open_corpus

    try:
        return open_corpus(argument, **options)
    except CorpusError as error:
        if kind == "file" or _exists(argument):
            raise
        hint = f"--text treats it as text; {error.hint or 'else check the path'}"
        raise CorpusError(error.message, hint=hint) from None


def _read(corpus: Corpus) -> Iterator[TextInput]:
    names = {file.name for file in corpus.files}
    before = None
    try:
        for document in corpus.documents():
            source = document.source
            file = source if source in names else source.rpartition(":")[0]
            yield TextInput(source, document.text, file=file, continues=file == before)
            before = file
    except CorpusError as error:
        if len(names) > 1 or not error.message.startswith("there is no text"):
            raise
        yield TextInput(corpus.files[0].name, "", file=corpus.files[0].name)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
