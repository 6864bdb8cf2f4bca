"""Choice of the tokens to remove from a BPE, leaf by leaf: a one-pass implementation of `reference.prune`.

A token becomes a leaf, and enters a heap, when the last merge that uses it has been removed. While it waits, its
frequency can only rise, when a removed token that was a whole pre-token is split into it; such a token is pushed again.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tokbench.surgery.merge_parts import MergeParts


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

    >>> from tokbench.surgery.merge_parts import merge_parts
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
