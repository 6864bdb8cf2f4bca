"""The merges of a BPE in the forms of files: ranks for tiktoken, listed merges for tokenizers, and one from the other.

With ranks alone (a rank file of tiktoken, the scores of a SentencePiece BPE), two neighbours merge if their
concatenation is a piece, the lowest rank first and among equal ranks the leftmost. With listed merges (`tokenizers`),
only the listed pairs merge.

Listing one pair for each piece is exact for every text. Consider a piece that is produced somewhere in a text. No merge
crossed its borders, so the merges inside it came in the same order as if the piece stood alone: the last of them, which
produces the piece, is always of the same pair. A pair that is not the last merge of its piece never merges, so leaving
it out changes nothing.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, TypeVar

from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokbench.core.descriptions import ByteLevelBpe


Merge = tuple[int, int, int]
_MANY_PARTS = 128


def ordinary_tokens(description: ByteLevelBpe) -> list[bytes | None]:
    """Return the bytes of each id; None for gaps and special tokens."""
    special = set(description.special_tokens.values())
    return [None if id in special else token for id, token in enumerate(description.tokens)]


def ranks_of(description: ByteLevelBpe) -> list[tuple[bytes, int]]:
    """Return the tokens with their ranks (ids) for tiktoken.

    Raises:
        ConversionError: ranks alone would imply other merges, or the same bytes have two ids.
    """
    tokens = ordinary_tokens(description)
    ranks = _ids_of(tokens)
    if description.merges is not None:
        _check_implied(description.merges, tokens, ranks, whole_tokens_first=description.whole_tokens_first)
    return sorted(ranks.items(), key=lambda item: item[1])


def listed_merges(description: ByteLevelBpe) -> list[Merge]:
    """Return the merges in the order of their ranks: as listed, or derived from the tokens' ranks.

    Raises:
        ConversionError: the same bytes have two ids, so that their rank is ambiguous.
    """
    if description.merges is not None:
        return list(description.merges)
    ranks = _ids_of(ordinary_tokens(description))
    return [merge for token in sorted(ranks, key=ranks.__getitem__) if (merge := _merge_of(token, ranks))]


def needs_whole_tokens_first(description: ByteLevelBpe, merges: Sequence[Merge]) -> bool:
    """Whether pre-tokens must be looked up whole, because merges may not produce some token.

    Merges derived from ranks produce every token that they contain; listed merges need not, as another merge may come
    first.
    """
    if not description.whole_tokens_first:
        return False
    if description.merges is not None:
        return True
    merged_ids = {merge[2] for merge in merges}
    tokens = ordinary_tokens(description)
    return any(
        token is not None and len(token) > 1 and id not in merged_ids for id, token in enumerate(tokens)
    )


def _ids_of(tokens: Sequence[bytes | None]) -> dict[bytes, int]:
    ids: dict[bytes, int] = {}
    for id, token in enumerate(tokens):
        if token is not None and (first := ids.setdefault(token, id)) != id:
            raise ConversionError(
                f"tokens {first} and {id} are both {token!r}, so ranks cannot distinguish them"
            )
    return ids


def _merge_of(token: bytes, ranks: dict[bytes, int]) -> Merge | None:
    pair = last_pair(token, ranks) if len(token) > 1 else None
    if pair is None or pair[0] not in ranks or pair[1] not in ranks:
        return None
    return ranks[pair[0]], ranks[pair[1]], ranks[token]


def _check_implied(
    merges: Sequence[Merge],
    tokens: Sequence[bytes | None],
    ranks: dict[bytes, int],
    *,
    whole_tokens_first: bool,
) -> None:
    """Check that listed merges are those that the ranks imply, as ranks alone allow no others."""
    merged_ids = [merge[2] for merge in merges]
    if merged_ids != sorted(set(merged_ids)):
        raise ConversionError(
            "a rank file merges in the order of the ids, and these merges are listed in another order"
        )
    listed = {merge[2]: merge for merge in merges}
    for id, token in enumerate(tokens):
        if token is None or len(token) < 2:
            continue
        implied = _merge_of(token, ranks)
        if implied != listed.get(id):
            raise ConversionError(f"with ranks alone, token {id}, {token!r}, would be merged differently")
        if implied is None and not whole_tokens_first:
            raise ConversionError(
                f"token {id}, {token!r}, is not made by a merge, but tiktoken uses it for a whole pre-token"
            )


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
    if len(parts) > _MANY_PARTS:
        return _many_merged_parts(parts, rank, fewest=fewest)
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


def _many_merged_parts(parts: list[Text], rank: Callable[[Text, Text], float], *, fewest: int) -> list[Text]:
    """Do the same as `merged_parts` with a heap, in time that is linear in the number of parts up to a logarithm."""
    end = len(parts)
    following, previous = list(range(1, end + 1)), list(range(-1, end - 1))
    ranks = [*(rank(left, right) for left, right in pairwise(parts)), inf]
    heap = [(found, place) for place, found in enumerate(ranks) if found != inf]
    heapify(heap)
    left_over = end
    while left_over > fewest and heap:
        found, place = heappop(heap)
        if found != ranks[place]:  # the pair has been merged, or has become another one
            continue
        taken = following[place]
        parts[place] += parts[taken]
        ranks[taken] = inf
        left_over -= 1
        beyond = following[place] = following[taken]
        if beyond < end:
            previous[beyond] = place
        for first, second in ((previous[place], place), (place, beyond)):
            if first < 0:
                continue
            ranks[first] = rank(parts[first], parts[second]) if second < end else inf
            if ranks[first] != inf:
                heappush(heap, (ranks[first], first))
    kept, place = [], 0
    while place < end:
        kept.append(parts[place])
        place = following[place]
    return kept
