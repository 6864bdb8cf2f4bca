"""Ids as people and programs write them: numbers between spaces or commas, or the JSON of `encode`."""

from __future__ import annotations

import re
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterable

_NO_SEPARATORS = str.maketrans(",[]", "   ")
_NUMBER = re.compile(r"-?[0-9]{1,100}")
_NUMBERS = re.compile(r"[-0-9\s]*")
_SHOWN = 40


def read_ids(arguments: Iterable[str]) -> list[int]:
    """The ids of a command's arguments; "-" stands for standard input.

    Raises:
        CorpusError: something that is no id.

    >>> read_ids(["15 4,8", "16"])
    [15, 4, 8, 16]
    """
    ids: list[int] = []
    for text in arguments:
        ids.extend(parse_ids(_read_stdin() if text == "-" else text, position=len(ids)))
    return ids


def parse_ids(text: str, *, position: int = 0) -> list[int]:
    """The ids of one text: numbers, a JSON list, or JSON documents with a field `ids`, one a line.

    Args:
        text: as it was written.
        position: how many ids stand before it, for messages.

    Raises:
        CorpusError: something that is no id.

    >>> parse_ids('{"ids": [1, 2]}')
    [1, 2]
    """
    if text.lstrip().startswith("{"):
        return _ids_of_documents(text)
    text = text.translate(_NO_SEPARATORS)
    words = text.split()
    try:
        # One look at the whole text, because int takes other numbers too (1_000, +1, ١); millions are common.
        if _NUMBERS.fullmatch(text):
            return list(map(int, words))
    except ValueError:
        pass
    index, word = next((i, word) for i, word in enumerate(words) if not _NUMBER.fullmatch(word))
    shown = word if len(word) <= _SHOWN else f"{word[:_SHOWN]}…"
    raise CorpusError(
        f"{shown!r}, at position {position + index}, is no id",
        hint="ids are whole numbers, as `tokbench encode` prints them",
    )


def _read_stdin() -> str:
    if sys.stdin is None:
        raise CorpusError("<stdin>: there is no standard input", hint="give the ids as arguments")
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"<stdin>: not UTF-8 at byte {error.start}", hint="decode reads ids, not text"
        ) from None


def _ids_of_documents(text: str) -> list[int]:
    import orjson

    try:
        documents = [orjson.loads(text)]
    except orjson.JSONDecodeError:
        try:
            documents = [orjson.loads(line) for line in text.splitlines() if line.strip()]
        except orjson.JSONDecodeError as error:
            raise CorpusError(f"the ids are not JSON: {error}", hint=_HINT) from None
    return list(chain.from_iterable(map(_ids_of, documents)))


def _ids_of(document: Any) -> list[int]:
    ids = document.get("ids") if isinstance(document, dict) else None
    if not isinstance(ids, list) or not all(type(id) is int for id in ids):
        raise CorpusError("the JSON holds no list `ids` of whole numbers", hint=_HINT)
    return ids


_HINT = "pipe `tokbench encode --json` into it"
