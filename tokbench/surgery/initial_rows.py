"""From which rows of the old embedding each new one begins: what `init.json` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.surgery.id_map import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.surgery.id_map import IdMap

SCHEMA = "tokbench.init/1"


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
            "schema": SCHEMA,
            "old_size": self.old_size,
            "new_size": len(self.ids),
            "ids": [list(row) for row in self.ids],
            "weights": [list(row) for row in self.weights],
        }
