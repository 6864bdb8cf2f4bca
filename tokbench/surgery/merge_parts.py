"""The parts of each token of a BPE, as pruning needs them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from tokbench.formats.merges import merged_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class MergeParts:
    """The tokens of a BPE with their parts.

    Attributes:
        ids: every id that has a token.
        parts: id → the two tokens that its merge joins. If several merges are listed for a token, only the last merge
            of its own bytes ever produces it (`formats.merges` has the proof), so only that one is used.
        spelled: id → the result of merging its bytes, for a token without a merge that is used only for whole
            pre-tokens.
        kept: ids that are never removed: bytes, special tokens and other added tokens.
    """

    ids: frozenset[int]
    parts: Mapping[int, tuple[int, int]]
    spelled: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    kept: frozenset[int] = frozenset()


def merge_parts(
    vocab: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    *,
    kept: Iterable[int] = (),
    whole_tokens_first: bool = False,
) -> MergeParts:
    """Determine the parts of each token of a vocabulary.

    Args:
        vocab: piece → id; a piece of one character is an initial symbol of merging, and is kept.
        merges: pairs of pieces in rank order.
        kept: further ids that are never removed.
        whole_tokens_first: whether a pre-token in the vocabulary becomes that token without merging.

    >>> found = merge_parts({"a": 0, "b": 1, "ab": 2, "abab": 3, "x": 4}, [("a", "b"), ("ab", "ab")])
    >>> dict(found.parts), sorted(found.kept)
    ({2: (0, 1), 3: (2, 2)}, [0, 1, 4])
    """
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    makers: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for pair in ranks:
        makers[pair[0] + pair[1]].append(pair)
    parts: dict[int, tuple[int, int]] = {}
    spelled: dict[int, tuple[int, ...]] = {}
    fixed = {*kept, *(id for piece, id in vocab.items() if len(piece) == 1)}
    for piece, id in vocab.items():
        known = makers.get(piece, [])
        if len(known) > 1:
            last = last_merge(piece, ranks)
            known = known[:1] if last is None else [last]
        if known:
            parts[id] = vocab[known[0][0]], vocab[known[0][1]]
        elif whole_tokens_first and id not in fixed:
            spelled[id] = tuple(vocab[part] for part in merged(piece, ranks) if part in vocab)
    return MergeParts(frozenset(vocab.values()), parts, spelled, frozenset(fixed))


def merged(piece: str, ranks: Mapping[tuple[str, str], int]) -> list[str]:
    """Merge a piece by itself.

    Args:
        piece: a piece whose characters are its initial symbols.
        ranks: pair of pieces → rank.

    >>> merged("bab", {("a", "b"): 0}), merged("abab", {("a", "b"): 0, ("ab", "ab"): 1})
    (['b', 'ab'], ['abab'])
    """
    return merged_parts(list(piece), lambda left, right: ranks.get((left, right), inf))


def last_merge(piece: str, ranks: Mapping[tuple[str, str], int]) -> tuple[str, str] | None:
    """Return the two parts that the last merge of a piece by itself joins; None if merging does not produce it.

    >>> last_merge("abab", {("a", "b"): 0, ("ab", "ab"): 1}), last_merge("bab", {("a", "b"): 0})
    (('ab', 'ab'), None)
    """
    parts = merged_parts(list(piece), lambda left, right: ranks.get((left, right), inf), fewest=2)
    return (parts[0], parts[1]) if len(parts) == 2 and (parts[0], parts[1]) in ranks else None
