"""The parts of each token of a BPE, and the choice of those to remove, leaf by leaf: `reference.prune` in one pass.

A token becomes a leaf, and enters a heap, when the last merge that uses it has been removed. While it waits, its
frequency can only rise, when a removed token that was a whole pre-token is split into it; such a token is pushed again.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, ClassVar

from tokbench.errors import ConfigError
from tokbench.formats.merges import merged_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence


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


@dataclass(frozen=True, slots=True)
class Removal:
    """The tokens to remove.

    Attributes:
        ids: the ids in the order of their removal.
        frequencies: id → token occurrences of each remaining token, including those inherited from removed tokens.
        needed: selected ids that remain because remaining tokens need them.
        fixed: selected ids that remain because they are never removed, such as bytes and added tokens.
    """

    ids: tuple[int, ...]
    frequencies: Mapping[int, int]
    needed: tuple[int, ...] = ()
    fixed: tuple[int, ...] = ()


class Remaining(ABC):
    """A vocabulary from which tokens are removed one at a time.

    Args:
        ids: every id that has a token.
        kept: the ids that are never removed.
        frequencies: id → token occurrences; 0 for missing ids.
    """

    kept_tokens: ClassVar[str] = "single characters and special tokens"
    """The tokens in `kept`, as messages name them."""

    def __init__(
        self, ids: Collection[int], kept: Collection[int], frequencies: Mapping[int, int] | None = None
    ) -> None:
        self.ids = set(ids)
        self.removed: list[int] = []
        self.frequencies = Counter(frequencies)
        """Id → token occurrences, including those inherited from removed tokens."""
        self._kept = kept

    @abstractmethod
    def remove(self, may_go: Callable[[int], bool], *, most: int = 0) -> None:
        """Remove the ids that satisfy `may_go`, the least useful first, while more than `most` tokens remain."""

    def choose(
        self, *, selected: Collection[int] = (), size: int | None = None, min_count: int | None = None
    ) -> Removal:
        """Choose the tokens to remove: the selected ones, then rare ones, then the least useful until `size` remain.

        Args:
            selected: ids to remove, unless remaining tokens need them.
            size: maximum number of remaining tokens, special tokens included; None for no limit.
            min_count: tokens with fewer occurrences are removed; None for no limit.

        Raises:
            ConfigError: more than `size` tokens can never be removed.
        """
        if size is not None and size < len(self._kept):
            raise ConfigError(
                f"{self.kept_tokens} alone are {len(self._kept):,} tokens, more than {size:,}",
                hint=f"--size takes {len(self._kept)} or more here",
            )
        self.remove(set(selected).__contains__)
        if min_count is not None:
            self.remove(lambda token: self.frequencies[token] < min_count)
        if size is not None:
            self.remove(lambda _: True, most=size)
        still = sorted(self.ids.intersection(selected))
        return Removal(
            ids=tuple(self.removed),
            frequencies={id: self.frequencies[id] for id in sorted(self.ids)},
            needed=tuple(id for id in still if id not in self._kept),
            fixed=tuple(id for id in still if id in self._kept),
        )


class Leaves(Remaining):
    """A BPE from which leaves are removed, the least frequent first.

    Args:
        tokens: the tokens with their parts.
        frequencies: id → token occurrences; 0 for missing ids.

    >>> from tokbench.surgery.leaves import merge_parts
    >>> vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "bc": 5}
    >>> tokens = merge_parts(vocab, [("a", "b"), ("ab", "c"), ("b", "c")])
    >>> Leaves(tokens, {2: 1, 3: 2, 4: 3, 5: 4}).choose(size=4).ids
    (4, 5)
    """

    kept_tokens = "the bytes or characters and the special tokens"

    def __init__(self, tokens: MergeParts, frequencies: Mapping[int, int] | None = None) -> None:
        super().__init__(tokens.ids, tokens.kept, frequencies)
        self._tokens = tokens
        self._uses = Counter(part for parts in tokens.parts.values() for part in parts)

    def remove(self, may_go: Callable[[int], bool], *, most: int = 0) -> None:
        """Remove every leaf that satisfies `may_go`, or becomes one, while more than `most` tokens remain."""
        waiting = [self._item(id) for id in self.ids if self._is_leaf(id) and may_go(id)]
        heapq.heapify(waiting)
        while waiting and len(self.ids) > most:
            frequency, negative = heapq.heappop(waiting)
            if frequency != self.frequencies[-negative]:
                heapq.heappush(waiting, self._item(-negative))
            elif may_go(-negative):
                for freed in self._remove(-negative):
                    heapq.heappush(waiting, self._item(freed))

    def _is_leaf(self, id: int) -> bool:
        return not self._uses[id] and id not in self._kept

    def _item(self, id: int) -> tuple[int, int]:
        return self.frequencies[id], -id

    def _remove(self, id: int) -> list[int]:
        """Remove a leaf, and return the tokens that become leaves."""
        self.ids.remove(id)
        self.removed.append(id)
        if frequency := self.frequencies.pop(id, 0):
            self._pass_on(id, frequency)
        parts = self._tokens.parts.get(id, ())
        self._uses.subtract(parts)
        return [part for part in dict.fromkeys(parts) if self._is_leaf(part)]

    def _pass_on(self, id: int, frequency: int) -> None:
        """Add the occurrences of a removed token to the remaining tokens that replace it."""
        for part in self._tokens.parts.get(id) or self._tokens.spelled.get(id, ()):
            if part in self.ids:
                self.frequencies[part] += frequency
            else:
                self._pass_on(part, frequency)
