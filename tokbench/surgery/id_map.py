"""Which id of one vocabulary is which of another, and from which old rows new ones begin: what two JSON files say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

NONE = -1
SCHEMA = "tokbench.id_map/1"

_INIT_SCHEMA = "tokbench.init/1"


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


@dataclass(frozen=True, slots=True)
class InitialRows:
    """For each new id the old ids that its row begins from.

    Attributes:
        old_size: how many old ids there are.
        ids: for each new id the old ones; none where nothing is known.
        weights: for each of them its weight; those of a row add up to 1.
    """

    old_size: int
    ids: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, id_map: IdMap, made_of: Mapping[int, Sequence[int]] | None = None) -> InitialRows:
        """The old id of the same token where there is one, else the mean of those that spell it.

        Args:
            id_map: which ids mean the same.
            made_of: new id → the old ids of its bytes in their order, of tokens that are new.

        >>> from tokbench.surgery.id_map import IdMap
        >>> rows = InitialRows.of(IdMap.of_pairs([(5, 0)], sizes=(6, 3)), {1: [2, 3]})
        >>> rows.ids, rows.weights
        (((5,), (2, 3), ()), ((1.0,), (0.5, 0.5), ()))
        """
        spelled = made_of or {}
        ids = tuple(
            tuple(spelled.get(new, ())) if old == NONE else (old,)
            for new, old in enumerate(id_map.new_to_old)
        )
        weights = tuple((1 / len(row),) * len(row) if row else () for row in ids)
        return cls(len(id_map.old_to_new), ids, weights)

    def to_json(self) -> dict[str, Any]:
        """As `init.json` has it."""
        return {
            "schema": _INIT_SCHEMA,
            "old_size": self.old_size,
            "new_size": len(self.ids),
            "ids": [list(row) for row in self.ids],
            "weights": [list(row) for row in self.weights],
        }
