"""Which id of one vocabulary is which of another: what `id_map.json` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

NONE = -1
SCHEMA = "tokbench.id_map/1"


@dataclass(frozen=True, slots=True)
class IdMap:
    """The ids of two vocabularies that mean the same token.

    Attributes:
        old_to_new: for each old id the new one; -1 where there is none.
        new_to_old: for each new id the old one; -1 where there is none.
    """

    old_to_new: tuple[int, ...]
    new_to_old: tuple[int, ...]

    @classmethod
    def closing_up(cls, ids: Collection[int], *, size: int) -> IdMap:
        """The map of a vocabulary from which tokens went: those that stay keep their order, and leave no gap.

        Args:
            ids: the old ids that stay, special tokens among them: they are not moved in any other way.
            size: how many old ids there are: one more than the greatest.

        >>> IdMap.closing_up([0, 1, 4], size=6)
        IdMap(old_to_new=(0, 1, -1, -1, 2, -1), new_to_old=(0, 1, 4))
        """
        return cls.of_pairs(((old, new) for new, old in enumerate(sorted(ids))), sizes=(size, len(ids)))

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[int, int]], *, sizes: tuple[int, int]) -> IdMap:
        """The map of (old id, new id) that mean the same, between vocabularies of some sizes.

        >>> IdMap.of_pairs([(0, 1)], sizes=(2, 2))
        IdMap(old_to_new=(1, -1), new_to_old=(-1, 0))
        """
        forward, back = [NONE] * sizes[0], [NONE] * sizes[1]
        for old, new in pairs:
            forward[old], back[new] = new, old
        return cls(tuple(forward), tuple(back))

    def new(self, old: int) -> int | None:
        """The new id of an old one; None where there is none."""
        found = self.old_to_new[old] if 0 <= old < len(self.old_to_new) else NONE
        return None if found == NONE else found

    def to_json(self) -> dict[str, Any]:
        """As `id_map.json` has it."""
        return {
            "schema": SCHEMA,
            "old_size": len(self.old_to_new),
            "new_size": len(self.new_to_old),
            "old_to_new": list(self.old_to_new),
            "new_to_old": list(self.new_to_old),
        }
