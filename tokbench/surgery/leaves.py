"""Choose the tokens to remove from a BPE, leaf by leaf: `reference.prune` in one pass.

A token becomes a leaf when the last merge that takes it has gone, and waits in a heap from then on. Its frequency can
only rise there, where a whole pre-token falls apart into it, so that one whose frequency has risen is put back.
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
        ids: in the order in which they go.
        frequencies: id → token occurrences of each that stays, with those of what falls apart into it.
        needed: ids that were selected and stay, as a surviving merge takes them.
        fixed: ids that were selected and stay, as bytes and added tokens always do.
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
    """The tokens to remove: those selected, then the least frequent until both limits hold.

    Args:
        tokens: what there is.
        frequencies: id → token occurrences; one that is missing has none.
        selected: ids to remove wherever no surviving merge needs them.
        size: how many tokens stay, special tokens included; None for no limit.
        min_count: leaves with fewer occurrences go; None for no limit.

    Raises:
        ConfigError: the tokens that always stay are more than `size`.

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
    """Raise `ConfigError` where the tokens that always stay are more than are to stay."""
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
    """What went and what is left, with those that were selected and stay."""
    still = sorted(set(selected) & set(left))
    return Removal(
        ids=tuple(removed),
        frequencies={id: frequency(id) for id in sorted(left)},
        needed=tuple(id for id in still if id not in kept),
        fixed=tuple(id for id in still if id in kept),
    )


class _Leaves:
    """What is left of a vocabulary while its leaves go."""

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
        """Token occurrences, with those of removed tokens that fell apart into it."""
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
        """Remove a leaf; the tokens that are leaves thereby."""
        self.left.remove(id)
        self.removed.append(id)
        if frequency := self._frequencies.pop(id, 0):
            self._fall_apart(id, frequency)
        parts = self._tokens.parts.get(id, ())
        for part in parts:
            self._uses[part] -= 1
        return [part for part in dict.fromkeys(parts) if self._is_leaf(part)]

    def _fall_apart(self, id: int, frequency: int) -> None:
        """Add the occurrences of a removed token to what takes its place."""
        for part in self._tokens.parts.get(id) or self._tokens.spelled.get(id, ()):
            if part in self.left:
                self._frequencies[part] = self.frequency(part) + frequency
            else:
                self._fall_apart(part, frequency)
