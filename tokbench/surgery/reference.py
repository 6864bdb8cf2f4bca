"""The reference implementation of pruning: slow and simple, the definition of the result of the faster ones.

A *leaf* of a BPE is a token that a merge produces and no remaining merge uses. Leaves are removed one at a time, the
least frequent first, ties broken by the greatest id; the frequency of a removed leaf is added to its two parts, which
may become leaves.

The *loss* of a piece of a Unigram is its frequency times the difference between its score and that of the best other
segmentation of its text. Pieces are removed one at a time, the least loss first, ties broken by the greatest id; the
frequency of a removed piece is added to the pieces of that segmentation.

The loss of a piece of a WordPiece is the number of tokens that a text gains when words are matched without it.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

Merge = tuple[int, int, int]


class Pruned(NamedTuple):
    """The remaining merges in rank order, the remaining frequencies, and the removed ids in order of removal."""

    merges: list[Merge]
    frequencies: dict[int, int]
    removed: list[int]


def prune(
    merges: Sequence[Merge],
    frequencies: Mapping[int, int],
    *,
    kept: Collection[int] = (),
    selected: Collection[int] = (),
    most: int | None = None,
    min_count: int | None = None,
) -> Pruned:
    """Remove leaves: the selected ones, then the least frequent until both limits hold.

    Args:
        merges: (left id, right id, merged id) in rank order; each token is the result of one merge.
        frequencies: id → token occurrences.
        kept: ids that are never removed, such as special tokens.
        selected: ids to remove as soon as they are leaves, regardless of their frequency.
        most: maximum number of remaining merges; None for no limit.
        min_count: leaves with fewer occurrences are removed; None for no limit.

    "ab" (id 3) is needed by "abc" (id 4). The rarest leaf is "abc", whose 3 occurrences are then added to "ab" and "c".

    >>> done = prune([(0, 1, 3), (3, 2, 4), (1, 2, 5)], {2: 1, 3: 2, 4: 3, 5: 4}, most=1)
    >>> done.removed, done.merges, done.frequencies
    ([4, 5], [(0, 1, 3)], {2: 8, 3: 5, 1: 4})
    """
    left, counts, removed = list(merges), dict(frequencies), []

    def leaves() -> Iterator[tuple[int, int, Merge]]:
        taken = {part for left_part, other, _ in left for part in (left_part, other)}
        for merge in left:
            if merge[2] not in taken and merge[2] not in kept:
                yield counts.get(merge[2], 0), -merge[2], merge

    def remove(merge: Merge) -> None:
        left.remove(merge)
        removed.append(merge[2])
        frequency = counts.pop(merge[2], 0)
        for part in merge[:2]:
            counts[part] = counts.get(part, 0) + frequency

    while chosen := [leaf for leaf in leaves() if leaf[2][2] in selected]:
        remove(min(chosen)[2])
    while found := list(leaves()):
        frequency, _, merge = min(found)
        if (most is None or len(left) <= most) and (min_count is None or frequency >= min_count):
            break
        remove(merge)
    return Pruned(left, counts, removed)


def segment(symbols: Sequence[int], merges: Sequence[Merge]) -> list[int]:
    """Merge the symbols of a pre-token: the merge of the lowest rank first, ties broken from the left.

    >>> segment([0, 1, 2], [(0, 1, 3), (3, 2, 4), (1, 2, 5)]), segment([0, 1, 2], [(1, 2, 5)])
    ([4], [0, 5])
    """
    ranks = {(left, right): (rank, made) for rank, (left, right, made) in enumerate(merges)}
    parts = list(symbols)
    while found := [
        (*ranks[pair], place)
        for place in range(len(parts) - 1)
        if (pair := (parts[place], parts[place + 1])) in ranks
    ]:
        _, made, place = min(found, key=lambda entry: (entry[0], entry[2]))
        parts[place : place + 2] = [made]
    return parts


class PrunedPieces(NamedTuple):
    """The remaining ids with their frequencies, and the removed ids in order of removal."""

    frequencies: dict[int, int]
    removed: list[int]


def prune_pieces(
    pieces: Sequence[tuple[str, float]],
    frequencies: Mapping[int, int],
    *,
    kept: Collection[int] = (),
    selected: Collection[int] = (),
    most: int | None = None,
    min_count: int | None = None,
) -> PrunedPieces:
    """Remove pieces: the selected ones, then those rarer than `min_count`, then any until no more than `most` remain.

    A piece that no other pieces spell is not removed.

    Args:
        pieces: (text, score) of each id.
        frequencies: id → token occurrences.
        kept: ids that are never removed.
        selected: ids to remove, regardless of their frequency.
        most: maximum number of remaining pieces; None for no limit.
        min_count: pieces with fewer occurrences are removed; None for no limit.

    "abc" (3 times) scores 2 more than "ab" + "c"; "ab" (2 times) scores 4 more than "a" + "b", and is removed second.

    >>> scored = [("a", -4.0), ("b", -4.0), ("c", -4.0), ("ab", -4.0), ("abc", -6.0)]
    >>> prune_pieces(scored, {3: 2, 4: 3}, kept=[0, 1, 2], most=3)
    PrunedPieces(frequencies={0: 5, 1: 5, 2: 3}, removed=[4, 3])
    """
    left = dict(enumerate(pieces))
    counts, removed = {id: frequencies.get(id, 0) for id in left}, []

    def remove(chosen: Collection[int]) -> bool:
        """Remove the piece of least loss, and return whether there was one."""
        found = []
        for id in chosen:
            best = spelling(left[id][0], {other: left[other] for other in left if other != id})
            if best is not None:
                found.append((counts[id] * max(0.0, left[id][1] - best[0]), -id, best[1]))
        if not found:
            return False
        _, negative, parts = min(found)
        del left[-negative]
        removed.append(-negative)
        frequency = counts.pop(-negative)
        for part in parts:
            counts[part] += frequency
        return True

    def may_go() -> list[int]:
        return [id for id in left if id not in kept]

    while remove([id for id in may_go() if id in selected]):
        pass
    while min_count is not None and remove([id for id in may_go() if counts[id] < min_count]):
        pass
    while most is not None and len(left) > most and remove(may_go()):
        pass
    return PrunedPieces(counts, removed)


def spelling(text: str, pieces: Mapping[int, tuple[str, float]]) -> tuple[float, list[int]] | None:
    """Return the segmentation with the greatest sum of scores, ties broken by longer last pieces; None for none.

    >>> spelling("abc", {0: ("a", -1.0), 1: ("bc", -3.0), 2: ("ab", -3.0), 3: ("c", -1.0)})
    (-4.0, [0, 1])
    """

    def every(rest: str) -> Iterator[list[int]]:
        if not rest:
            yield []
        for id, (piece, _) in pieces.items():
            if rest.endswith(piece):
                yield from ([*front, id] for front in every(rest.removesuffix(piece)))

    def rank(ids: list[int]) -> tuple[float, list[int]]:
        return sum(pieces[id][1] for id in ids), [len(pieces[id][0]) for id in reversed(ids)]

    found = max(every(text), key=rank, default=None)
    return None if found is None else (rank(found)[0], found)


def prune_matches(
    pieces: Mapping[int, str],
    words: Mapping[str, int],
    *,
    kept: Collection[int] = (),
    selected: Collection[int] = (),
    most: int | None = None,
    min_count: int | None = None,
) -> PrunedPieces:
    """Remove pieces of a WordPiece: selected ones, then rare ones, then any; the one that adds the fewest tokens first.

    A piece without which a word would become unknown is not removed.

    Args:
        pieces: id → piece; "##" marks pieces inside words.
        words: word → count.
        kept: ids that are never removed.
        selected: ids to remove, regardless of their loss.
        most: maximum number of remaining pieces; None for no limit.
        min_count: pieces with fewer occurrences are removed; None for no limit.

    "abc" (3 times) becomes "ab", "##c" and gains one token each time; "ab" (4 times, 7 by then) becomes "a", "##b".

    >>> vocabulary = dict(enumerate(["a", "##b", "##c", "ab", "abc"]))
    >>> prune_matches(vocabulary, {"ab": 4, "abc": 3}, kept=[0, 1, 2], most=3)
    PrunedPieces(frequencies={0: 7, 1: 7, 2: 3}, removed=[4, 3])
    """
    left, removed = dict(pieces), []

    def uses(id: int) -> int:
        return sum(count * (longest_matches(word, left) or []).count(id) for word, count in words.items())

    def loss(id: int) -> float:
        without = {other: piece for other, piece in left.items() if other != id}
        total = 0.0
        for word, count in words.items():
            before, after = longest_matches(word, left), longest_matches(word, without)
            if before is not None:
                total += inf if after is None else count * (len(after) - len(before))
        return total

    def remove(chosen: Collection[int]) -> bool:
        """Remove the piece of least loss, and return whether there was one."""
        losses = {id: loss(id) for id in chosen if id not in kept}
        found = min(losses.items(), key=lambda item: (item[1], -item[0]), default=(0, inf))
        if found[1] == inf:
            return False
        removed.append(found[0])
        del left[found[0]]
        return True

    while remove([id for id in left if id in selected]):
        pass
    while min_count is not None and remove([id for id in left if uses(id) < min_count]):
        pass
    while most is not None and len(left) > most and remove(list(left)):
        pass
    return PrunedPieces({id: uses(id) for id in left}, removed)


def longest_matches(word: str, pieces: Mapping[int, str]) -> list[int] | None:
    """Return the longest matches in a word from left to right; None for an unknown word.

    >>> longest_matches("abc", {0: "a", 1: "ab", 2: "##c"}), longest_matches("abd", {0: "a", 1: "ab", 2: "##c"})
    ([1, 2], None)
    """
    ids = {piece: id for id, piece in pieces.items()}
    found: list[int] = []
    rest, mark = word, ""
    while rest:
        fitting = [rest[:stop] for stop in range(len(rest), 0, -1) if mark + rest[:stop] in ids]
        if not fitting:
            return None
        found.append(ids[mark + fitting[0]])
        rest, mark = rest.removeprefix(fitting[0]), "##"
    return found
