"""Tests for choosing the Unigram pieces to remove, worked out by hand."""

from __future__ import annotations

import pytest

from tokbench.errors import ConfigError, ConversionError
from tokbench.surgery.id_map import IdMap
from tokbench.surgery.scored_pieces import PieceLosses, ScoredPieces, check_scores, pieces_of_document

VOCAB = [["<unk>", 0.0], ["a", -4.0], ["b", -4.0], ["c", -9.0], ["ab", -4.0], ["abc", -6.0], ["bc", -5.0]]


def pieces(*more: list[object]) -> ScoredPieces:
    return pieces_of_document({"model": {"type": "Unigram", "unk_id": 0, "vocab": [*VOCAB, *more]}})


def test_piece_with_the_least_loss_is_removed_first_and_others_replace_it() -> None:
    """ab (3 times) loses 3 × (8 - 4) = 12, abc (5) 5 × (9 - 6) = 15 by a + bc, bc (2) 2 × (13 - 5) = 16.

    Once ab and abc are gone, bc occurs 2 + 5 times and loses 56; abc becomes a + bc also without ab.
    """
    frequencies = {4: 3, 5: 5, 6: 2}
    assert PieceLosses(pieces(), frequencies).choose(size=6).ids == (4,)
    removal = PieceLosses(pieces(), frequencies).choose(size=5)
    assert removal.ids == (4, 5)
    assert removal.frequencies == {0: 0, 1: 8, 2: 3, 3: 0, 6: 7}


def test_loss_rises_after_the_replacement_is_removed() -> None:
    """abc (4 times) loses 4 × (9 - 6) = 12 by a + bc; without bc (1 × 8) it would lose 4 × (13 - 6) by ab + c.

    ab (6) loses 6 × (8 - 4) = 24, so it goes before abc then.
    """
    assert PieceLosses(pieces(), {4: 6, 5: 4, 6: 1}).choose(size=5).ids == (6, 4)


def test_unused_pieces_are_removed_first_from_the_last() -> None:
    assert PieceLosses(pieces()).choose(size=4).ids == (6, 5, 4)


def test_rare_pieces_are_removed_whatever_their_loss() -> None:
    """abc falls apart into a + bc, so that bc occurs 1 + 1 times and is no longer rare."""
    assert PieceLosses(pieces(), {4: 2, 5: 1, 6: 1}).choose(min_count=2).ids == (5,)


def test_piece_that_no_others_spell_is_kept() -> None:
    removal = PieceLosses(pieces(["xy", -5.0], ["xyc", -6.0])).choose(selected={7, 8, 1, 0})
    assert (removal.ids, removal.needed, removal.fixed) == ((8,), (7,), (0, 1))


def test_required_pieces_are_kept() -> None:
    """The unknown piece, single characters, and the piece with the lowest score stay."""
    assert pieces().kept == {0, 1, 2, 3}
    assert pieces(["cc", -9.5], ["ca", -9.5]).kept == {0, 1, 2, 3, 7}
    with pytest.raises(ConfigError, match="alone are 4 tokens, more than 3"):
        PieceLosses(pieces()).choose(size=3)


def test_bytes_and_added_tokens_are_not_counted_as_text_pieces() -> None:
    vocab = [["<unk>", 0.0], ["a", -1.0], *([f"<0x{byte:02X}>", 0.0] for byte in range(256)), ["</s>", 0.0]]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": True}
    vocabulary = pieces_of_document({"model": model, "added_tokens": [{"id": 258, "content": "</s>"}]})
    assert dict(vocabulary.texts) == {1: "a"}
    assert vocabulary.kept == set(range(259))


def test_changed_scores_are_detected() -> None:
    id_map = IdMap.closing_up([0, 1, 2, 3, 4], size=7)
    left = {"type": "Unigram", "unk_id": 0, "vocab": VOCAB[:5]}
    assert check_scores(pieces(), pieces_of_document({"model": left}), id_map) == 4
    left["vocab"] = [*VOCAB[:4], ["ab", -3.0]]
    with pytest.raises(ConversionError, match="the piece 'ab' would have another score"):
        check_scores(pieces(), pieces_of_document({"model": left}), id_map)
    with pytest.raises(ConversionError, match="unknown characters would get a different score"):
        left["vocab"] = VOCAB[:5]
        check_scores(pieces(["cc", -9.5]), pieces_of_document({"model": left}), id_map)
