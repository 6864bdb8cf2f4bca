"""Choice of the tokens to remove from a BPE, leaf by leaf: a one-pass implementation of `reference.prune`.

A token becomes a leaf, and enters a heap, when the last merge that uses it has been removed. While it waits, its
frequency can only rise, when a removed token that was a whole pre-token is split into it; such a token is pushed again.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tokbench.surgery.merge_parts import MergeParts

NO_FREQUENCIES: Mapping[int, int] = MappingProxyType({})


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


def choose_leaves(
    tokens: MergeParts,
    *,
    frequencies: Mapping[int, int] = NO_FREQUENCIES,
    selected: Collection[int] = (),
    size: int | None = None,
    min_count: int | None = None,
) -> Removal:
    """Choose the tokens to remove: the selected ones, then the least frequent leaves until both limits hold.

    Args:
        tokens: the tokens with their parts.
        frequencies: id → token occurrences; 0 for missing ids.
        selected: ids to remove, unless a remaining merge needs them.
        size: maximum number of remaining tokens, special tokens included; None for no limit.
        min_count: leaves with fewer occurrences are removed; None for no limit.

    Raises:
        ConfigError: more than `size` tokens can never be removed.

    >>> from tokbench.surgery.merge_parts import merge_parts
    >>> vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "bc": 5}
    >>> tokens = merge_parts(vocab, [("a", "b"), ("ab", "c"), ("b", "c")])
    >>> choose_leaves(tokens, frequencies={2: 1, 3: 2, 4: 3, 5: 4}, size=4).ids
    (4, 5)
    """
    check_size(size, kept=tokens.kept, what="the bytes or characters and the special tokens")
    leaves = _Leaves(tokens, frequencies)
    leaves.remove_selected(set(selected))
    if size is not None or min_count is not None:
        leaves.remove_rarest(size=size, min_count=min_count)
    return removal_of(
        leaves.removed, leaves.left, frequency=leaves.frequency, selected=selected, kept=tokens.kept
    )


def check_size(size: int | None, *, kept: Collection[int], what: str) -> None:
    """Raise `ConfigError` if more than `size` tokens can never be removed; `what` names these tokens."""
    if size is not None and size < len(kept):
        raise ConfigError(
            f"{what} alone are {len(kept):,} tokens, more than {size:,}",
            hint=f"--size takes {len(kept)} or more here",
        )


def removal_of(
    removed: Collection[int],
    left: Collection[int],
    *,
    frequency: Callable[[int], int],
    selected: Collection[int],
    kept: Collection[int],
) -> Removal:
    """Build a `Removal` from the removed, the remaining and the selected ids."""
    still = sorted(set(selected) & set(left))
    return Removal(
        ids=tuple(removed),
        frequencies={id: frequency(id) for id in sorted(left)},
        needed=tuple(id for id in still if id not in kept),
        fixed=tuple(id for id in still if id in kept),
    )


class _Leaves:
    """A vocabulary from which leaves are removed."""

    def __init__(self, tokens: MergeParts, frequencies: Mapping[int, int]) -> None:
        self._tokens = tokens
        self._frequencies = {id: count for id, count in frequencies.items() if count}
        self._uses = dict.fromkeys(tokens.ids, 0)
        for parts in tokens.parts.values():
            for part in parts:
                self._uses[part] += 1
        self.left = set(tokens.ids)
        self.removed: list[int] = []

    def frequency(self, id: int) -> int:
        """Return the token occurrences, including those inherited from removed tokens."""
        return self._frequencies.get(id, 0)

    def remove_selected(self, selected: set[int]) -> None:
        """Remove every selected token that is a leaf, or becomes one."""
        waiting = [self._item(id) for id in selected & self.left if self._is_leaf(id)]
        heapq.heapify(waiting)
        while waiting:
            for freed in self._remove(-heapq.heappop(waiting)[1]):
                if freed in selected:
                    heapq.heappush(waiting, self._item(freed))

    def remove_rarest(self, *, size: int | None, min_count: int | None) -> None:
        """Remove the least frequent leaf until no more than `size` tokens are left and no leaf is below `min_count`."""
        waiting = [self._item(id) for id in self.left if self._is_leaf(id)]
        heapq.heapify(waiting)
        while waiting:
            frequency, negative = waiting[0]
            if frequency != self.frequency(-negative):
                heapq.heapreplace(waiting, self._item(-negative))
                continue
            if (size is None or len(self.left) <= size) and (min_count is None or frequency >= min_count):
                break
            heapq.heappop(waiting)
            for freed in self._remove(-negative):
                heapq.heappush(waiting, self._item(freed))

    def _is_leaf(self, id: int) -> bool:
        return not self._uses[id] and id not in self._tokens.kept

    def _item(self, id: int) -> tuple[int, int]:
        return self.frequency(id), -id

    def _remove(self, id: int) -> list[int]:
        """Remove a leaf, and return the tokens that become leaves."""
        self.left.remove(id)
        self.removed.append(id)
        if frequency := self._frequencies.pop(id, 0):
            self._pass_on(id, frequency)
        parts = self._tokens.parts.get(id, ())
        for part in parts:
            self._uses[part] -= 1
        return [part for part in dict.fromkeys(parts) if self._is_leaf(part)]

    def _pass_on(self, id: int, frequency: int) -> None:
        """Add the occurrences of a removed token to the remaining tokens that replace it."""
        for part in self._tokens.parts.get(id) or self._tokens.spelled.get(id, ()):
            if part in self.left:
                self._frequencies[part] = self.frequency(part) + frequency
            else:
                self._pass_on(part, frequency)
