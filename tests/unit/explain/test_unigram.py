"""A lattice small enough to add up by hand, and one that is compared with trying every segmentation."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokbench.explain.causes import LowerScore, Symbol
from tokbench.explain.derivation import Edge
from tokbench.explain.unigram import (
    Lattice,
    best_paths,
    boundary_probabilities,
    part_starts,
    path_of,
    sums,
    trace_lattice,
    trace_parts,
)

PIECES = {"a": 0.4, "b": 0.3, "ab": 0.2, "c": 0.1, "bc": 0.05}
"""The segmentations of "abc": a b c 0.012, ab c 0.02, a bc 0.02; in total 0.052."""


def lattice_of(text, pieces):
    names = list(pieces)
    edges = [
        Edge(start, stop, Symbol(names.index(text[start:stop]), text[start:stop].encode()), math.log(score))
        for start in range(len(text))
        for stop in range(start + 1, len(text) + 1)
        if (score := pieces.get(text[start:stop]))
    ]
    return Lattice(len(text), tuple(edges))


def plain(edges):
    return tuple(edge.piece for edge in edges), tuple(edge.start for edge in edges[1:])


def test_sums_of_an_example_worked_by_hand() -> None:
    path_sums = sums(lattice_of("abc", PIECES))
    assert math.exp(path_sums.total) == pytest.approx(0.052)
    assert boundary_probabilities(path_sums) == pytest.approx([0.032 / 0.052, 0.032 / 0.052])


def test_trace_of_an_example_worked_by_hand() -> None:
    trace = trace_lattice("abc", lattice_of("abc", PIECES | {"bc": 0.04}), tokens_of=plain)
    assert [[edge.piece.data for edge in path.edges] for path in trace.paths] == [
        [b"ab", b"c"],
        [b"a", b"bc"],
        [b"a", b"b", b"c"],
    ]
    [cause] = trace.causes
    assert isinstance(cause, LowerScore)
    assert cause.piece == Symbol(4, b"bc")
    assert cause.margin == pytest.approx(math.log(0.02 / 0.016))
    assert trace.margin == pytest.approx(math.log(0.02 / 0.016))
    assert sum(path.probability for path in trace.paths) == pytest.approx(1)


def test_path_follows_the_pieces_of_a_library() -> None:
    edges = (Edge(0, 1, Symbol(0, b"a"), -1.0), Edge(1, 2, Symbol(None, "é".encode()), -9.0))
    lattice = Lattice(2, edges)
    assert path_of(lattice, ["a", "<0xC3>", "<0xA9>"]) == list(edges)
    assert path_of(lattice, ["a", "é"]) == list(edges)
    assert path_of(lattice, ["aé"]) is None


lattices = st.builds(
    lambda text, pieces: lattice_of(text, {"a": 0.1, "b": 0.2, **pieces}),
    st.text("ab", min_size=1, max_size=7),
    st.dictionaries(st.text("ab", min_size=2, max_size=3), st.floats(0.01, 0.9), max_size=6),
)


def every_path(lattice):
    by_place = {(edge.start, edge.stop): edge for edge in lattice.edges}
    for cuts in product([False, True], repeat=lattice.size - 1):
        places = [0, *(place for place, cut in enumerate(cuts, 1) if cut), lattice.size]
        edges = [by_place.get(pair) for pair in pairwise(places)]
        if None not in edges:
            yield places, sum(edge.score for edge in edges)


@given(lattices)
def test_sums_and_best_paths_equal_those_of_all_segmentations(lattice) -> None:
    paths = list(every_path(lattice))
    total = math.fsum(math.exp(score) for _, score in paths)
    path_sums = sums(lattice)
    assert math.exp(path_sums.total) == pytest.approx(total)
    for place, probability in enumerate(boundary_probabilities(path_sums), 1):
        share = math.fsum(math.exp(score) for places, score in paths if place in places) / total
        assert probability == pytest.approx(share)
    scores = sorted((score for _, score in paths), reverse=True)
    assert [score for _, score in best_paths(lattice, 4)] == pytest.approx(scores[:4])


@given(lattices)
def test_better_piece_removes_the_boundary_it_crosses(lattice) -> None:
    trace = trace_lattice("a" * lattice.size, lattice, tokens_of=plain)
    starts = [edge.start for edge in trace.paths[0].edges[1:]]
    for place, cause in zip(starts, trace.causes, strict=True):
        if cause.piece is None:
            continue
        better = Lattice(
            lattice.size,
            tuple(
                edge._replace(score=edge.score + cause.margin + 1e-6)
                if edge.piece == cause.piece and edge.start < place < edge.stop
                else edge
                for edge in lattice.edges
            ),
        )
        [(edges, _)] = best_paths(better, 1)
        assert [edge.start for edge in edges] != [0, *starts] or place not in [edge.start for edge in edges]


WORDS = {"▁": 0.1, "a": 0.2, "b": 0.15, "▁a": 0.1, "ab": 0.05, "▁ab": 0.02, "a▁": 0.01}


@given(text=st.text("▁ab", min_size=1, max_size=14), reaches_across=st.booleans())
def test_traces_of_parts_join_to_the_whole(text: str, *, reaches_across: bool) -> None:
    pieces = WORDS if reaches_across else {piece: WORDS[piece] for piece in WORDS if piece != "a▁"}
    lattice = lattice_of(text, pieces)
    whole = trace_lattice(text, lattice, tokens_of=plain)
    starts = part_starts(
        text,
        reach=lambda place: max(edge.stop for edge in lattice.edges if edge.start == place),
        is_piece=pieces.__contains__,
    )
    lattice_of_part = partial(lattice_of, pieces=pieces)
    parts = list(trace_parts(text, starts, lattice_of=lattice_of_part, tokens_of=plain))
    assert "".join(part.text for _, part in parts) == text
    assert [start for start, _ in parts] == [0, *(start + len(part.text) for start, part in parts[:-1])]
    assert tuple(token for _, part in parts for token in part.tokens) == whole.tokens
    assert sum(part.paths[0].score for _, part in parts) == pytest.approx(whole.paths[0].score)
    boundaries: list[float] = []
    for start, part in parts:
        boundaries += [1.0] * bool(start)
        boundaries += part.boundaries
    assert boundaries == pytest.approx(whole.boundaries)
    if not reaches_across:
        assert all("▁" not in part.text.lstrip("▁") for _, part in parts)


def test_nothing_is_solved_beyond_the_part_that_is_read() -> None:
    solved: list[str] = []

    def noted(part: str) -> Lattice:
        solved.append(part)
        return lattice_of(part, WORDS)

    parts = trace_parts("▁a▁b▁a▁ab", iter([0, 2, 4, 6]), lattice_of=noted, tokens_of=plain)
    assert [next(parts)[0] for _ in range(3)] == [0, 2, 4]
    assert solved == ["▁a", "▁b"], "an equal part is solved once"


def test_tie_in_a_part_is_decided_by_the_pieces_of_the_library() -> None:
    tied = {"▁": 0.25, "ab": 0.25, "▁a": 0.5, "b": 0.125}
    pieces = ["▁", "ab", "▁a", "b", "▁", "ab"]

    def chosen(pieces: list[str], scores: dict[str, float]) -> list[list[bytes]]:
        parts = trace_parts(
            "▁ab" * 3,
            [0, 3, 6],
            lattice_of=partial(lattice_of, pieces=scores),
            tokens_of=plain,
            pieces=pieces,
        )
        return [[token.data for token in part.tokens] for _, part in parts]

    first, second = ["▁".encode(), b"ab"], ["▁a".encode(), b"b"]
    assert chosen(pieces, tied) == [first, second, first]
    assert chosen(pieces, tied | {"▁a": 0.51}) == [second] * 3, "a worse choice is not followed"
    assert chosen(["other", *pieces], tied) == chosen([], tied), "nor are pieces after an unknown one"


def test_rounding_errors_grow_with_the_scores_before_a_part() -> None:
    """The library adds up scores from the beginning, so a slightly worse choice may follow a rare piece."""
    almost_tied = {"▁c": 1e-300, "▁": 0.25, "ab": 0.25, "▁a": 0.25, "b": 0.25005}

    def chosen(text: str, pieces: list[str]) -> list[bytes]:
        starts = [place for place, character in enumerate(text) if character == "▁"]
        lattice_of_part = partial(lattice_of, pieces=almost_tied)
        *_, (_, last) = trace_parts(text, starts, lattice_of=lattice_of_part, tokens_of=plain, pieces=pieces)
        return [token.data for token in last.tokens]

    assert chosen("▁ab", ["▁", "ab"]) == ["▁a".encode(), b"b"]
    assert chosen("▁c▁ab", ["▁c", "▁", "ab"]) == ["▁".encode(), b"ab"]


@given(text=st.text("▁abé", max_size=80), is_of_words=st.booleans())
@example(text="é" * 50 + "a" * 50, is_of_words=True)
def test_parts_begin_where_no_piece_crosses(text: str, *, is_of_words: bool) -> None:
    pieces = ["▁", "a", "b", "▁a", "bab"] if is_of_words else ["▁", "a", "b", "a▁", "bab"]
    stops = [
        max([start + 1, *(start + len(piece) for piece in pieces if text.startswith(piece, start))])
        for start in range(len(text))
    ]
    expected = [0] if text else []
    for place in range(1, len(text)):
        crossed = any(stop > place for stop in stops[:place])
        begins_word = text[place] == "▁" != text[place - 1]
        if (
            not crossed
            and text[place - 1 : place + 1] != "éé"
            and (begins_word or place - expected[-1] >= 24)
        ):
            expected.append(place)
    assert list(part_starts(text, reach=stops.__getitem__, is_piece=pieces.__contains__)) == expected
