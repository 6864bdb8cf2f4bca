"""Pruning of BPE over characters: it removes the same pieces as the textbook; texts without them keep their pieces."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from support.sentencepiece_models import scored, unknown, written

from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece.bpe_fallback import merged
from tokbench.surgery import reference
from tokbench.surgery.character_merges import merges_of_model
from tokbench.surgery.leaves import Leaves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.formats.sentencepiece.model import SentencePieceFile

LETTERS = "abc"


@st.composite
def models(draw: st.DrawFn) -> SentencePieceFile:
    """Draw a model of letters and longer pieces, some of which no merge makes; scores are few and often equal."""
    texts = draw(st.lists(st.text(LETTERS, min_size=2, max_size=5), max_size=10, unique=True))
    scores = {text: float(draw(st.integers(-6, -1))) for text in [*LETTERS, *texts]}
    symbol = ModelPiece("<sep>", 0.0, PieceType.USER_DEFINED)
    return parse_model(written([unknown(), symbol, *scored(scores)], trainer={"model_type": 2}))


@given(models(), st.data())
def test_removed_leaves_equal_the_reference(model: SentencePieceFile, data: st.DataObject) -> None:
    """The textbook only knows merges, so pieces that no merge makes are passed as kept."""
    found = merges_of_model(model).parts
    unmade = found.ids - found.parts.keys()
    frequencies = {id: data.draw(st.integers(0, 5)) for id in sorted(found.ids)}
    selected = data.draw(st.sets(st.sampled_from(range(len(model.pieces)))))
    min_count = data.draw(st.none() | st.integers(0, 9))
    expected = reference.prune(
        [(*parts, id) for id, parts in found.parts.items()],
        frequencies,
        selected=selected,
        min_count=min_count or 0,
    )
    kept = replace(found, kept=found.kept | unmade)
    removal = Leaves(kept, frequencies).choose(selected=selected, min_count=min_count)
    assert list(removal.ids) == expected.removed
    assert removal.frequencies == expected.frequencies


@given(models(), st.lists(st.text(LETTERS, max_size=16), max_size=8), st.data())
def test_text_of_kept_pieces_is_encoded_alike(
    model: SentencePieceFile, texts: Sequence[str], data: st.DataObject
) -> None:
    found = merges_of_model(model)
    frequencies = {id: data.draw(st.integers(0, 5)) for id in found.parts.ids}
    size = data.draw(st.integers(len(found.parts.kept), len(model.pieces)))
    gone = {found.texts[id].encode() for id in Leaves(found.parts, frequencies).choose(size=size).ids}
    every = {text.encode(): model.pieces[id].score for id, text in found.texts.items()}
    left = {text: score for text, score in every.items() if text not in gone}
    for text in texts:
        symbols = [letter.encode() for letter in text]
        before = merged(symbols, every)
        if gone.isdisjoint(before):
            assert merged(symbols, left) == before


@given(models())
def test_user_defined_symbols_are_kept(model: SentencePieceFile) -> None:
    found = merges_of_model(model)
    assert {0, 1, 2, 3, 4} <= found.parts.kept
    assert 1 not in found.texts
