"""Ids as people and programs write them: numbers between spaces or commas, or the JSON of `encode`."""

from __future__ import annotations

import re
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterable

_BETWEEN = re.compile(r"[\s,\[\]]+")
_NUMBER = re.compile(r"-?[0-9]{1,30}")


def read_ids(arguments: Iterable[str]) -> list[int]:
    """The ids of a command's arguments; "-" stands for standard input.

    Raises:
        CorpusError: something that is no id.

    >>> read_ids(["15 4,8"])
    [15, 4, 8]
    """
    return list(chain.from_iterable(_read_stdin() if text == "-" else parse_ids(text) for text in arguments))


def parse_ids(text: str) -> list[int]:
    """The ids of one text: numbers, a JSON list, or JSON documents with a field `ids`, one a line.

    >>> parse_ids('{"ids": [1, 2]}')
    [1, 2]
    """
    if text.lstrip().startswith("{"):
        return list(chain.from_iterable(_ids_of_document(line) for line in text.splitlines() if line.strip()))
    words = [word for word in _BETWEEN.split(text) if word]
    for position, word in enumerate(words):
        if not _NUMBER.fullmatch(word):
            raise CorpusError(
                f"{word[:40]!r}, at position {position}, is no id",
                hint="ids are whole numbers, as `tokbench encode` prints them",
            )
    return [int(word) for word in words]


def _read_stdin() -> list[int]:
    data = sys.stdin.buffer.read()
    try:
        return parse_ids(data.decode())
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"<stdin>: not UTF-8 at byte {error.start}", hint="decode reads ids, not text"
        ) from None


def _ids_of_document(line: str) -> list[int]:
    import orjson

    try:
        document: Any = orjson.loads(line)
        ids = document["ids"]
        if not isinstance(ids, list) or not all(type(id) is int for id in ids):
            raise TypeError
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise CorpusError(
            "the JSON on stdin holds no list `ids`", hint="pipe `tokbench encode --json` into it"
        ) from None
    return ids
