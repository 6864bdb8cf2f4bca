"""The map between the ids of two vocabularies, and the initial rows of a new embedding; both are saved as JSON."""

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
    """The correspondence between the ids of the same tokens in two vocabularies.

    Attributes:
        old_to_new: for each old id, the new id, or -1 if there is none.
        new_to_old: for each new id, the old id, or -1 if there is none.
    """

    old_to_new: tuple[int, ...]
    new_to_old: tuple[int, ...]

    @classmethod
    def closing_up(cls, ids: Collection[int], *, size: int) -> IdMap:
        """Return the map of a vocabulary with tokens removed: the remaining ones keep their order without gaps.

        Args:
            ids: the remaining old ids, including those of special tokens, which are treated like any other.
            size: size of the old vocabulary: the greatest id plus one.

        >>> IdMap.closing_up([0, 1, 4], size=6)
        IdMap(old_to_new=(0, 1, -1, -1, 2, -1), new_to_old=(0, 1, 4))
        """
        return cls.of_pairs(((old, new) for new, old in enumerate(sorted(ids))), sizes=(size, len(ids)))

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[int, int]], *, sizes: tuple[int, int]) -> IdMap:
        """Return the map with the given (old id, new id) pairs between vocabularies of the given sizes.

        >>> IdMap.of_pairs([(0, 1)], sizes=(2, 2))
        IdMap(old_to_new=(1, -1), new_to_old=(-1, 0))
        """
        forward, back = [NONE] * sizes[0], [NONE] * sizes[1]
        for old, new in pairs:
            forward[old], back[new] = new, old
        return cls(tuple(forward), tuple(back))

    @property
    def keeps_all(self) -> bool:
        """Whether each old token has an id in the new vocabulary.

        >>> IdMap((1, 0), (1, 0, -1)).keeps_all, IdMap((0, -1), (0,)).keeps_all
        (True, False)
        """
        return NONE not in self.old_to_new

    def new(self, old: int) -> int | None:
        """Return the new id of an old id; None if there is none."""
        found = self.old_to_new[old] if 0 <= old < len(self.old_to_new) else NONE
        return None if found == NONE else found

    def to_json(self) -> dict[str, Any]:
        """Return the content of `id_map.json`."""
        return {
            "schema": SCHEMA,
            "old_size": len(self.old_to_new),
            "new_size": len(self.new_to_old),
            "old_to_new": list(self.old_to_new),
            "new_to_old": list(self.new_to_old),
        }


@dataclass(frozen=True, slots=True)
class InitialRows:
    """The initial embedding rows of a new vocabulary: weighted sums of old rows.

    Attributes:
        old_size: size of the old vocabulary.
        ids: for each new id, the old ids; empty if unknown.
        weights: for each new id, the weights of these old ids, which add up to 1.
    """

    old_size: int
    ids: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, id_map: IdMap, made_of: Mapping[int, Sequence[int]] | None = None) -> InitialRows:
        """Initialize each row from the same token's old row, otherwise from the mean of the old tokens that spell it.

        Args:
            id_map: the map between the old and the new ids.
            made_of: id of a new token → the old ids that spell its bytes, in order.

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
        """Return the content of `init.json`."""
        return {
            "schema": _INIT_SCHEMA,
            "old_size": self.old_size,
            "new_size": len(self.ids),
            "ids": [list(row) for row in self.ids],
            "weights": [list(row) for row in self.weights],
        }
