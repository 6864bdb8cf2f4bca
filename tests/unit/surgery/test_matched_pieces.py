"""Tests for choosing the WordPiece pieces to remove, worked out by hand."""

from __future__ import annotations

import pytest

from tokbench.errors import ConfigError, ConversionError
from tokbench.surgery.id_map import IdMap
from tokbench.surgery.matched_pieces import (
    MatchedPieces,
    MatchLosses,
    characters_without_piece,
    check_pieces,
    pieces_of_document,
)

LETTERS = ["[UNK]", "a", "b", "##a", "##b", "##c"]


def pieces(*more: str) -> MatchedPieces:
    vocab = {piece: id for id, piece in enumerate([*LETTERS, *more])}
    return pieces_of_document({"model": {"unk_token": "[UNK]", "vocab": vocab}})


def test_piece_with_the_least_loss_is_removed_first_and_words_are_rematched() -> None:
    """abc (3 words) becomes ab ##c: 3 more tokens; ab (2) becomes a ##b: 2 more, and goes first; abc is then a ##bc."""
    words = {"abc": 3, "ab": 2, "bbc": 4}
    assert MatchLosses(pieces("ab", "abc", "##bc"), words).choose(size=8).ids == (6,)
    removal = MatchLosses(pieces("ab", "abc", "##bc"), words).choose(size=7)
    assert removal.ids == (6, 7)
    assert removal.frequencies == {0: 0, 1: 5, 2: 4, 3: 0, 4: 2, 5: 0, 8: 7}


def test_loss_rises_after_the_replacement_is_removed() -> None:
    """Without ab, which does not occur, abc (3 words) becomes a ##b ##c: 6 more tokens, so bb (4 more) goes first."""
    assert MatchLosses(pieces("ab", "abc", "bb"), {"abc": 3, "bb": 4}).choose(size=7).ids == (6, 8)


def test_piece_with_a_negative_loss_is_removed_first() -> None:
    """abcb is ab ##c ##b, and a ##bcb without ab: one token fewer."""
    removal = MatchLosses(pieces("ab", "##bcb", "bb"), {"abcb": 1, "bb": 1}).choose(size=8)
    assert removal.ids == (6,)


def test_rare_pieces_are_removed_whatever_their_loss() -> None:
    assert MatchLosses(pieces("ab", "abb", "##bb"), {"abb": 1, "ab": 2}).choose(min_count=2).ids == (8, 7)


def test_word_that_becomes_known_is_counted() -> None:
    """abd is unknown, as no piece continues ab with d; without ab it is a ##bd."""
    removal = MatchLosses(pieces("ab", "##bd"), {"abd": 3}).choose(min_count=1)
    assert removal.ids == (6,)
    assert (removal.frequencies[1], removal.frequencies[7]) == (3, 3)


def test_pieces_with_a_character_without_a_piece_are_kept() -> None:
    vocabulary = pieces("ax", "ca", "ab")
    removal = MatchLosses(vocabulary).choose(selected={6, 7, 8, 1, 0})
    assert (removal.ids, removal.needed, removal.fixed) == ((8,), (6, 7), (0, 1))
    assert dict(characters_without_piece(vocabulary)) == {"##x": 1, "c": 1}


def test_piece_needed_to_keep_a_word_known_is_kept() -> None:
    """Without ab, abx is a ##bx, so ab goes; but abcy would become a ##bc and then unknown at y, so there ab stays."""
    vocabulary = pieces("ab", "##x", "##bxy", "##bx")
    assert MatchLosses(vocabulary, {"abx": 1}).choose(selected={6}).ids == (6,)
    vocabulary = pieces("ab", "##cy", "##bc")
    removal = MatchLosses(vocabulary, {"abcy": 1}).choose(selected={6})
    assert (removal.ids, removal.needed) == ((), (6,))


def test_size_below_the_single_characters_is_refused() -> None:
    with pytest.raises(ConfigError, match="alone are 6 tokens, more than 5"):
        MatchLosses(pieces()).choose(size=5)


def test_words_are_joined_from_their_pieces() -> None:
    vocabulary = pieces("ab", "##bc")
    assert list(vocabulary.words([6, 7, 0, 1, 2, 4])) == ["abbc", "a", "bb"]


def test_changed_pieces_are_detected() -> None:
    id_map = IdMap.closing_up([0, 1, 2, 3, 4, 5, 7], size=8)
    assert check_pieces(pieces("ab", "bc"), pieces("bc"), id_map) == 6
    with pytest.raises(ConversionError, match="the piece 'ab' would have the id of another"):
        check_pieces(pieces("ab", "bc"), pieces("ab"), id_map)
