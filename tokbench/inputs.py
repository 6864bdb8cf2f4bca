"""The texts that a command names: a text itself, files, folders, or standard input."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tokbench.corpus import open_corpus
from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

InputKind = Literal["auto", "text", "file"]

_PATH_LIKE = re.compile(r"\S*[/\\]\S*|\S+\.[A-Za-z][A-Za-z0-9]{0,9}|\S*\*\S*")
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class TextInput:
    """A text, and what messages call where it came from."""

    source: str
    text: str


def read_inputs(arguments: Iterable[str], *, kind: InputKind = "auto") -> Iterator[TextInput]:
    """The texts of a command's arguments, one after another.

    Under "auto", "-" is standard input, an argument that names a file or folder is read, and any
    other is a text; one that looks like a path and is none is an error rather than a text of a
    few letters.

    Args:
        arguments: as the user wrote them.
        kind: "text" takes every argument as it is, "file" takes every one as a path.

    Raises:
        CorpusError: a path that is missing, or a file that cannot be read.

    >>> next(read_inputs(["two words"]))
    TextInput(source='two words', text='two words')
    """
    for argument in arguments:
        if kind == "text" or (kind == "auto" and argument != "-" and _is_text(argument)):
            yield TextInput(_shortened(argument), argument)
        else:
            yield from _read(argument)


def _is_text(argument: str) -> bool:
    if _exists(argument):
        return False
    if _PATH_LIKE.fullmatch(argument):
        if "*" in argument and any(Path().glob(argument.removeprefix("/"))):
            return False
        raise CorpusError(
            f"there is no file {argument!r}",
            hint="check the path, or say --text to take it as the text itself",
        )
    return True


def _exists(argument: str) -> bool:
    try:
        return Path(argument).exists()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False


def _read(argument: str) -> Iterator[TextInput]:
    if argument != "-" and Path(argument).is_file() and Path(argument).stat().st_size == 0:
        yield TextInput(argument, "")
        return
    try:
        for document in open_corpus(argument).documents():
            yield TextInput(document.source, document.text)
    except CorpusError as error:
        if argument != "-" or "no text" not in error.message:
            raise
        yield TextInput("<stdin>", "")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
