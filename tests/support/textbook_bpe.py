"""BPE over bytes by the textbook: training and encoding."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

Pair = tuple[int, int]

BYTES = [bytes([byte]) for byte in range(256)]
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


def learned(text: str, *, pattern: str | None, count: int) -> tuple[Pair, ...]:
    """Learn `count` merges: repeatedly merge the most frequent pair; ties go to the smallest ids."""
    words = [list(word.encode()) for word in _split(pattern, text)]
    merges: list[Pair] = []
    for new in range(256, 256 + count):
        pairs = [pair for word in words for pair in pairwise(word)]
        merges.append(min(set(pairs), key=lambda pair: (-pairs.count(pair), pair)))
        words = [_merged(word, merges[-1], new) for word in words]
    return tuple(merges)


def token_bytes(merges: Sequence[Pair]) -> list[bytes]:
    """Return the bytes of each id."""
    tokens = list(BYTES)
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    return tokens


def encoded(text: str, merges: Sequence[Pair], *, pattern: str | None) -> list[int]:
    """Encode by definition: apply the merges one after another in every pre-token."""
    ids: list[int] = []
    for word in _split(pattern, text):
        piece = list(word.encode())
        for new, pair in enumerate(merges, start=256):
            piece = _merged(piece, pair, new)
        ids += piece
    return ids


def _split(pattern: str | None, text: str) -> list[str]:
    return regex.findall(pattern, text) if pattern else [text]


def _merged(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Apply one merge from left to right without overlaps."""
    result: list[int] = []
    for id in ids:
        result.append(id)
        if result[-2:] == list(pair):
            result[-2:] = [new]
    return result
