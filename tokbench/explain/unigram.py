"""Unigram's lattice: every piece that occurs in a text, the best segmentations, and the probability of boundaries.

Source: Kudo 2018, "Subword Regularization"; the forward-backward sums are those of a hidden Markov model.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from tokbench.explain.causes import LowerScore
from tokbench.explain.derivation import TRACES_KEPT, Edge, LatticeTrace, Path
from tokbench.formats.sentencepiece.model import SPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tokbench.explain.causes import Cause, Symbol

    TokensOf = Callable[[Sequence[Edge]], tuple[tuple[Symbol, ...], tuple[Cause | int, ...]]]

_NEVER = -math.inf
_LONG_PART = 24
"""Length in characters from which a part ends at any possible cut point, for scripts without spaces."""
NUM_PATHS = 5
"""Number of segmentations that a trace lists."""
_ROUNDING = 2**-23
"""Relative rounding error of a single-precision number."""


class Lattice(NamedTuple):
    """The lattice of the pieces in a text.

    Attributes:
        size: number of characters of the text.
        edges: the pieces, sorted by start; for equal starts, in the order in which the library tries them.
    """

    size: int
    edges: tuple[Edge, ...]

    def by_start(self) -> list[list[Edge]]:
        """Return the edges that begin at each character."""
        found: list[list[Edge]] = [[] for _ in range(self.size + 1)]
        for edge in self.edges:
            found[edge.start].append(edge)
        return found

    def by_stop(self) -> list[list[Edge]]:
        """Return the edges that end before each character."""
        found: list[list[Edge]] = [[] for _ in range(self.size + 1)]
        for edge in self.edges:
            found[edge.stop].append(edge)
        return found


def best_path(lattice: Lattice) -> list[Edge]:
    """Return the edges of the best segmentation of a non-empty text, ties broken by the order of the edges."""
    best = [_NEVER] * (lattice.size + 1)
    best[0] = 0.0
    found: list[Edge | None] = [None] * (lattice.size + 1)
    for edge in lattice.edges:
        score = best[edge.start] + edge.score
        if found[edge.stop] is None or score > best[edge.stop]:
            best[edge.stop], found[edge.stop] = score, edge
    path: list[Edge] = []
    stop = lattice.size
    while stop:
        edge_here = found[stop]
        assert edge_here is not None
        path.append(edge_here)
        stop = edge_here.start
    return path[::-1]


def path_of(lattice: Lattice, pieces: Iterable[str]) -> list[Edge] | None:
    """Return the edges of a library's pieces; None if they are not a path through the lattice.

    Args:
        lattice: a lattice with an edge without an id for each character that is not a piece.
        pieces: the pieces from left to right; unknown characters as any text of the same length, or as bytes such as
            `<0x41>`.
    """
    coming = iter(pieces)
    path = _path_along(lattice, coming)
    return path if next(coming, None) is None else None


def _path_along(lattice: Lattice, pieces: Iterator[str]) -> list[Edge] | None:
    """Take as many pieces as the lattice is long, and return their edges as `path_of` does."""
    edges = {(edge.start, edge.piece.data.decode()): edge for edge in lattice.edges}
    unknown = {edge.start: edge for edge in lattice.edges if edge.piece.id is None}
    path: list[Edge] = []
    place = left = 0  # `left`: remaining bytes of an unknown character
    while place < lattice.size or left:
        if (piece := next(pieces, None)) is None:
            return None
        if left:
            left -= 1
        elif (edge := edges.get((place, piece))) is not None:
            path.append(edge)
            place = edge.stop
        elif place in unknown:
            is_byte = len(piece) == len("<0x41>") and piece.startswith("<0x")
            for _ in range(1 if is_byte else len(piece)):
                if place not in unknown:
                    return None
                path.append(unknown[place])
                place += 1
            left = len(path[-1].piece.data) - 1 if is_byte else 0
        else:
            return None
    return path


def best_paths(lattice: Lattice, n: int) -> list[tuple[tuple[Edge, ...], float]]:
    """Return up to `n` best segmentations with their scores, the best first."""
    reached: list[list[tuple[float, Edge | None, int]]] = [[] for _ in range(lattice.size + 1)]
    reached[0] = [(0.0, None, 0)]
    for stop, edges in enumerate(lattice.by_stop()):
        if not edges:
            continue
        ways = [
            (score + edge.score, edge, number)
            for edge in edges
            for number, (score, _, _) in enumerate(reached[edge.start])
        ]
        ways.sort(key=lambda way: -way[0])
        reached[stop] = ways[:n]  # type: ignore[assignment]
    return [(_path_to(reached, lattice.size, number), way[0]) for number, way in enumerate(reached[-1])]


def _path_to(
    reached: Sequence[Sequence[tuple[float, Edge | None, int]]], stop: int, number: int
) -> tuple[Edge, ...]:
    path: list[Edge] = []
    while stop:
        _, edge, number = reached[stop][number]
        assert edge is not None
        path.append(edge)
        stop = edge.start
    return tuple(path[::-1])


class Sums(NamedTuple):
    """Logarithms of sums of probabilities over segmentations.

    Attributes:
        forward: sums over all paths from the beginning to each position.
        backward: sums over all paths from each position to the end.
    """

    forward: list[float]
    backward: list[float]

    @property
    def total(self) -> float:
        """Logarithm of the sum over all segmentations."""
        return self.forward[-1]


def sums(lattice: Lattice) -> Sums:
    """Compute the forward and backward sums of a lattice.

    >>> from tokbench.explain.causes import Symbol
    >>> a, b, ab = (Symbol(id, text) for id, text in enumerate([b"a", b"b", b"ab"]))
    >>> half = math.log(0.5)
    >>> found = sums(Lattice(2, (Edge(0, 1, a, half), Edge(0, 2, ab, half), Edge(1, 2, b, half))))
    >>> round(math.exp(found.total), 6)
    0.75
    """
    forward = [_NEVER] * (lattice.size + 1)
    backward = [_NEVER] * (lattice.size + 1)
    forward[0] = backward[-1] = 0.0
    for stop, edges in enumerate(lattice.by_stop()):
        if edges:
            forward[stop] = _log_sum([forward[edge.start] + edge.score for edge in edges])
    starts = lattice.by_start()
    for start in range(lattice.size - 1, -1, -1):
        if starts[start]:
            backward[start] = _log_sum([backward[edge.stop] + edge.score for edge in starts[start]])
    return Sums(forward, backward)


def boundary_probabilities(found: Sums) -> tuple[float, ...]:
    """Return the probability of a boundary before each character but the first."""
    return tuple(
        min(1.0, math.exp(found.forward[place] + found.backward[place] - found.total))
        for place in range(1, len(found.forward) - 1)
    )


def without_boundary(lattice: Lattice) -> list[tuple[float, Edge | None]]:
    """Return for each position the best score of a segmentation without a boundary there, and the crossing piece."""
    forward = [_NEVER] * (lattice.size + 1)
    backward = [_NEVER] * (lattice.size + 1)
    forward[0] = backward[-1] = 0.0
    for stop, edges in enumerate(lattice.by_stop()):
        forward[stop] = max([forward[edge.start] + edge.score for edge in edges], default=forward[stop])
    starts = lattice.by_start()
    for start in range(lattice.size - 1, -1, -1):
        backward[start] = max([backward[edge.stop] + edge.score for edge in starts[start]], default=_NEVER)
    best: list[tuple[float, Edge | None]] = [(_NEVER, None)] * (lattice.size + 1)
    for edge in lattice.edges:
        score = forward[edge.start] + edge.score + backward[edge.stop]
        for place in range(edge.start + 1, edge.stop):
            if score > best[place][0]:
                best[place] = score, edge
    return best


def trace_lattice(
    text: str,
    lattice: Lattice,
    *,
    tokens_of: TokensOf,
    pieces: Sequence[str] | None = None,
) -> LatticeTrace:
    """Trace Unigram's choice of a segmentation.

    Args:
        text: the text.
        lattice: its lattice.
        tokens_of: converts edges to their tokens and, for each token but the first, the cause of the boundary before
            it, or the position of that boundary.
        pieces: the library's choice, whose rounding errors decide between equally good segmentations.
    """
    theirs = None if pieces is None else path_of(lattice, pieces)
    return _trace(text, lattice, _Rounding().chosen(best_path(lattice), theirs), tokens_of=tokens_of)


def trace_parts(
    text: str,
    starts: Iterable[int],
    *,
    lattice_of: Callable[[str], Lattice],
    tokens_of: TokensOf,
    pieces: Iterable[str] = (),
) -> Iterator[tuple[int, LatticeTrace]]:
    """Trace Unigram's choice in each part of a text that no piece crosses; yield the start of the part and its trace.

    All segmentations have a boundary between two parts, so the best segmentation of a part and its probability do not
    depend on the others. Nothing is read of the text beyond the part that is traced.

    Args:
        text: the text.
        starts: the positions where parts begin, see `part_starts`.
        lattice_of: returns the lattice of a part.
        tokens_of: see `trace_lattice`.
        pieces: the library's choice for the whole text, likewise.
    """

    @lru_cache(maxsize=TRACES_KEPT)
    def solved(part: str) -> tuple[Lattice, list[Edge]]:
        lattice = lattice_of(part)
        return lattice, best_path(lattice)

    @lru_cache(maxsize=TRACES_KEPT)
    def traced(part: str, path: tuple[Edge, ...]) -> LatticeTrace:
        return _trace(part, solved(part)[0], path, tokens_of=tokens_of)

    rounding, coming = _Rounding(), iter(pieces)
    for start, stop in pairwise(chain(starts, [len(text)])):
        part = text[start:stop]
        lattice, best = solved(part)
        theirs = _path_along(lattice, coming)
        if theirs is None:
            coming = iter(())
        yield start, traced(part, tuple(rounding.chosen(best, theirs)))


def part_starts(
    text: str, *, reach: Callable[[int], int], is_piece: Callable[[str], object]
) -> Iterator[int]:
    """Yield the positions where parts begin: no piece crosses them, and a word begins or the previous part is long.

    No part begins between two characters that are not pieces, since a run of these may become one token.

    Args:
        text: the text.
        reach: returns the end of the longest piece at a position, or of its character.
        is_piece: returns whether a character is a piece.

    >>> stops = {0: 2, 1: 2, 2: 4, 3: 4}  # the pieces "▁a" and "▁b", and all characters
    >>> list(part_starts("▁a▁b", reach=stops.get, is_piece="▁ab".count))
    [0, 2]
    """
    begun = reached = 0
    for place, character in enumerate(text):
        begins_word = character == SPACE and text[place - 1] != SPACE
        if not place or (
            reached <= place
            and (begins_word or place - begun >= _LONG_PART)
            and any(map(is_piece, text[place - 1 : place + 1]))
        ):
            yield place
            begun = place
        reached = max(reached, reach(place))


def _trace(text: str, lattice: Lattice, chosen: Sequence[Edge], *, tokens_of: TokensOf) -> LatticeTrace:
    found = sums(lattice)
    probabilities = boundary_probabilities(found)
    crossing = without_boundary(lattice)
    best = sum(edge.score for edge in chosen)
    tokens, places = tokens_of(chosen)

    def cause(place: Cause | int) -> Cause:
        if not isinstance(place, int):
            return place
        score, edge = crossing[place]
        return LowerScore(
            margin=None if edge is None else max(best - score, 0.0),
            piece=None if edge is None else edge.piece,
            probability=probabilities[place - 1],
        )

    return LatticeTrace(
        text=text,
        edges=lattice.edges,
        paths=_listed_paths(lattice, tuple(chosen), found.total),
        boundaries=probabilities,
        tokens=tokens,
        causes=tuple(map(cause, places)),
    )


class _Rounding:
    """The rounding errors of a library that adds up the scores of a text from its beginning, in single precision."""

    def __init__(self) -> None:
        self._scale = 0.0
        self._scores = 0

    def chosen(self, best: list[Edge], theirs: list[Edge] | None) -> list[Edge]:
        """Return the library's path in the next part if it is as good as the best one up to rounding, else the best."""
        self._scale += sum(abs(edge.score) for edge in best)
        self._scores += max(len(best), len(theirs or ()))
        if theirs is None or theirs == best:
            return best
        lacking = sum(edge.score for edge in best) - sum(edge.score for edge in theirs)
        return theirs if lacking <= _ROUNDING * self._scale * self._scores else best


def _listed_paths(lattice: Lattice, chosen: tuple[Edge, ...], total: float) -> tuple[Path, ...]:
    """Return the best segmentations with the chosen one first, which a tie or rounding may have placed later."""
    listed = best_paths(lattice, NUM_PATHS)
    others = [(edges, score) for edges, score in listed if edges != chosen]
    paths = [(chosen, sum(edge.score for edge in chosen)), *others][:NUM_PATHS]
    return tuple(Path(edges, score, math.exp(score - total)) for edges, score in paths)


def _log_sum(weights: Sequence[float]) -> float:
    largest = max(weights)
    if largest == _NEVER:
        return _NEVER
    return largest + math.log(math.fsum(math.exp(weight - largest) for weight in weights))
