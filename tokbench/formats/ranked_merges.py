"""Derive the list of merges of a vocabulary that has only ranks or scores.

With ranks alone (a rank file of tiktoken, the scores of a SentencePiece BPE), two neighbours merge if their
concatenation is a piece, the lowest rank first and among equal ranks the leftmost. With listed merges (`tokenizers`),
only the listed pairs merge.

Listing one pair for each piece is exact for every text. Consider a piece that is produced somewhere in a text. No merge
crossed its borders, so the merges inside it came in the same order as if the piece stood alone: the last of them, which
produces the piece, is always of the same pair. A pair that is not the last merge of its piece never merges, so leaving
it out changes nothing.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Text = TypeVar("Text", str, bytes)


def last_pair(piece: Text, ranks: Mapping[Text, float]) -> tuple[Text, Text] | None:
    """Return the pair whose merge produces a piece, or None if none does.

    Args:
        piece: a piece of two or more symbols (bytes, or characters).
        ranks: piece → rank.

    >>> last_pair("abab", {"ab": 1, "ba": 2, "aba": 3, "abab": 4})
    ('ab', 'ab')
    >>> last_pair("aba", {"ba": 1, "aba": 2, "ab": 3})
    ('a', 'ba')
    """
    parts = [piece[index : index + 1] for index in range(len(piece))]
    parts = merged_parts(parts, lambda left, right: ranks.get(left + right, inf), fewest=2)
    return (parts[0], parts[1]) if len(parts) == 2 else None


def merged_parts(parts: list[Text], rank: Callable[[Text, Text], float], *, fewest: int = 1) -> list[Text]:
    """Merge neighbours, the lowest rank first and among equal ranks the leftmost, and return what is left.

    Args:
        parts: the symbols; the list is changed.
        rank: returns the rank of two neighbours; infinite if they do not merge.
        fewest: the number of parts at which merging stops.

    >>> merged_parts(list("abcab"), lambda left, right: {"ab": 1, "cab": 2}.get(left + right, inf))
    ['ab', 'cab']
    """
    ranks = [rank(left, right) for left, right in pairwise(parts)]
    while len(parts) > fewest and (best := min(ranks)) != inf:
        place = ranks.index(best)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
        del ranks[place]
        if place > 0:
            ranks[place - 1] = rank(parts[place - 1], parts[place])
        if place < len(ranks):
            ranks[place] = rank(parts[place], parts[place + 1])
    return parts
