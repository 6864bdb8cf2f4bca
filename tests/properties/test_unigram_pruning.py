"""Pruning of a Unigram: it removes the same pieces as the textbook, and texts without them keep their pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokbench.libraries.sentencepiece.unigram_fallback import ScoredPieces as Scored
from tokbench.libraries.sentencepiece.unigram_fallback import best_cuts
from tokbench.surgery import reference
from tokbench.surgery.scored_pieces import PieceLosses, ScoredPieces, best_spelling

if TYPE_CHECKING:
    from collections.abc import Sequence

Pieces = list[tuple[str, float]]

LETTERS = "abc"
SCORES = st.integers(-24, -1).map(lambda quarters: quarters / 4)
"""Scores whose sums are exact and often equal."""


@st.composite
def vocabularies(draw: st.DrawFn) -> Pieces:
    """Draw pieces with scores, usually including all letters."""
    texts = draw(st.lists(st.text(LETTERS, min_size=2, max_size=5), max_size=9, unique=True))
    letters = draw(st.sampled_from([LETTERS, LETTERS, "ab"]))
    pieces = draw(st.permutations([*letters, *texts]))
    return [(piece, draw(SCORES)) for piece in pieces]


def scored(pieces: Pieces, *, kept: set[int]) -> ScoredPieces:
    texts = {id: text for id, (text, _) in enumerate(pieces)}
    return ScoredPieces(
        frozenset(texts), texts, {id: score for id, (_, score) in enumerate(pieces)}, frozenset(kept)
    )


@given(vocabularies(), st.data())
def test_removed_pieces_equal_the_reference(pieces: Pieces, data: st.DataObject) -> None:
    ids = st.sets(st.sampled_from(range(len(pieces))))
    frequencies = {id: data.draw(st.integers(0, 5)) for id in range(len(pieces))}
    kept = data.draw(ids) | {id for id, (text, _) in enumerate(pieces) if len(text) == 1}
    selected = data.draw(ids)
    size = data.draw(st.none() | st.integers(len(kept), len(pieces)))
    min_count = data.draw(st.none() | st.integers(0, 9))
    expected = reference.prune_pieces(
        pieces, frequencies, kept=kept, selected=selected, most=size, min_count=min_count
    )
    removal = PieceLosses(scored(pieces, kept=kept), frequencies).choose(
        selected=selected, size=size, min_count=min_count
    )
    assert list(removal.ids) == expected.removed
    assert removal.frequencies == expected.frequencies
    assert {*removal.needed, *removal.fixed} == selected - {*expected.removed}


@given(vocabularies(), st.text(LETTERS, min_size=1, max_size=6))
def test_best_spelling_equals_the_reference(pieces: Pieces, text: str) -> None:
    others = [piece for piece in pieces if piece[0] != text]
    expected = reference.spelling(text, dict(enumerate(others)))
    spelling = best_spelling(text, dict(pieces), longest=5)
    assert (spelling is None) == (expected is None)
    if spelling is not None and expected is not None:
        assert spelling == (expected[0], tuple(others[id][0] for id in expected[1]))


@given(vocabularies(), st.lists(st.text(LETTERS + "x", max_size=16), max_size=8), st.data())
def test_text_of_kept_pieces_is_segmented_alike(
    pieces: Pieces, texts: Sequence[str], data: st.DataObject
) -> None:
    kept = {id for id, (text, _) in enumerate(pieces) if len(text) == 1}
    frequencies = {id: data.draw(st.integers(0, 5)) for id in range(len(pieces))}
    size = data.draw(st.integers(len(kept), len(pieces)))
    gone = set(PieceLosses(scored(pieces, kept=kept), frequencies).choose(size=size).ids)
    every = {text.encode(): (id, np.float32(score)) for id, (text, score) in enumerate(pieces)}
    left = {text: each for text, each in every.items() if each[0] not in gone}
    for text in texts:
        before = best_cuts(text.encode(), Scored(every, len(pieces), np.float32(-16)))
        after = best_cuts(text.encode(), Scored(left, len(pieces), np.float32(-16)))
        if gone.isdisjoint(cut.id for cut in before):
            assert after == before
        spelled = [cut.start for cut in before if cut.id == len(pieces)]
        assert [cut.start for cut in after if cut.id == len(pieces)] == spelled
