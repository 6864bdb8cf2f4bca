"""Tests for finding the parts that BPE pieces over characters are merged from, in models and `tokenizer.json`."""

from __future__ import annotations

import pytest
from support.sentencepiece_models import scored, unknown, written

from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.surgery.character_merges import (
    CharacterMerges,
    check_merges,
    merges_of_document,
    merges_of_model,
)
from tokbench.surgery.id_map import IdMap
from tokbench.surgery.leaves import Leaves

SCORES = {"a": -9.0, "b": -9.0, "c": -9.0, "ab": -1.0, "bc": -2.0, "abc": -3.0, "xa": -4.0}


def merges_of(scores: dict[str, float], *more: ModelPiece) -> CharacterMerges:
    return merges_of_model(
        parse_model(written([unknown(), *scored(scores), *more], trainer={"model_type": 2}))
    )


def test_pieces_are_merged_from_the_parts_with_the_best_scores() -> None:
    """ab merges before bc, so abc is ab + c; no merge makes xa, as x is not a piece, so xa is kept."""
    merges = merges_of(SCORES)
    assert dict(merges.parts.parts) == {4: (1, 2), 5: (2, 3), 6: (4, 3)}
    assert merges.parts.kept == {0, 1, 2, 3, 7}
    assert Leaves(merges.parts).choose(selected={4, 6, 7}).ids == (6, 4)


def test_parts_of_unused_and_user_defined_pieces_are_kept() -> None:
    unused = ModelPiece("abab", -4.0, PieceType.UNUSED)
    merges = merges_of(SCORES, unused, ModelPiece("cc", 0.0, PieceType.USER_DEFINED))
    removal = Leaves(merges.parts).choose(selected={4, 8, 9})
    assert (removal.ids, removal.needed, removal.fixed) == ((), (4,), (8, 9))


def test_documents_have_listed_merges() -> None:
    vocab = {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "<0x0A>": 4, "aba": 5, "bb": 6}
    model = {"vocab": vocab, "merges": ["a b", "ab a"], "unk_token": "<unk>"}
    merges = merges_of_document({"model": model}, path="tokenizer.json")
    assert dict(merges.parts.parts) == {3: (1, 2), 5: (3, 1)}
    assert merges.parts.kept == {0, 1, 2}
    with_bytes = merges_of_document({"model": {**model, "byte_fallback": True}}, path="tokenizer.json")
    assert with_bytes.parts.kept == {0, 1, 2, 4}
    with pytest.raises(ConversionError, match="end_of_word_suffix"):
        merges_of_document({"model": {**model, "end_of_word_suffix": "</w>"}}, path="tokenizer.json")


def test_changed_merges_are_detected() -> None:
    id_map = IdMap.closing_up([0, 1, 2, 3, 4, 5, 6], size=8)
    left = {text: score for text, score in SCORES.items() if text != "xa"}
    assert check_merges(merges_of(SCORES), merges_of(left), id_map) == 3
    with pytest.raises(ConversionError, match="the piece 'abc' would be merged from other parts than before"):
        check_merges(merges_of(SCORES), merges_of({**left, "bc": -0.5}), id_map)
