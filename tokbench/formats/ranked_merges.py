"""Derive the list of merges of a vocabulary that has only ranks or scores.

Where ranks alone are known (a rank file of tiktoken, the scores of a SentencePiece BPE), two
neighbours merge when their concatenation is a piece, the lowest rank first and of equal ones the
leftmost. Where merges are listed (`tokenizers`), only the listed pairs merge.

Listing one pair for each piece is exact, whatever the text. For consider a piece that is made
somewhere in a text. No merge crossed its borders, so the merges inside them came in the order
in which they come when the piece stands alone: the last of them, the one that makes the piece,
is always the same pair. A pair that is not the last merge of its piece is never merged, so
leaving it out changes nothing.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

Text = TypeVar("Text", str, bytes)


def last_pair(piece: Text, ranks: Mapping[Text, float]) -> tuple[Text, Text] | None:
    """The pair whose merge makes a piece, or None where none does.

    Args:
        piece: of two symbols (bytes, or characters) or more.
        ranks: piece → rank.

    >>> last_pair("abab", {"ab": 1, "ba": 2, "aba": 3, "abab": 4})
    ('ab', 'ab')
    >>> last_pair("aba", {"ba": 1, "aba": 2, "ab": 3})
    ('a', 'ba')
    """
    parts = [piece[index : index + 1] for index in range(len(piece))]
    found = [ranks.get(left + right, inf) for left, right in pairwise(parts)]
    while len(parts) > 2:
        best = min(found)
        if best == inf:
            return None
        place = found.index(best)
        made = parts[place] + parts[place + 1]
        parts[place : place + 2] = [made]
        del found[place]
        if place > 0:
            found[place - 1] = ranks.get(parts[place - 1] + made, inf)
        if place < len(found):
            found[place] = ranks.get(made + parts[place + 1], inf)
    return parts[0], parts[1]
