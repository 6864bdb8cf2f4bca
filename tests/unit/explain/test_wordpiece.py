"""Longest matches by hand; adding a missing piece changes the split."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tokbench.explain.causes import NoLongerPiece
from tokbench.explain.wordpiece import trace_longest_matches

VOCAB = {"[UNK]": 0, "un": 1, "u": 2, "##a": 3, "##ff": 4, "##f": 5, "##able": 6}


def trace(word, vocab=VOCAB, most=100):
    return trace_longest_matches(word, vocab, prefix="##", unknown="[UNK]", most_characters=most)


def pieces(word, vocab=VOCAB):
    return [symbol.data.decode() for symbol in trace(word, vocab).tokens]


def test_each_match_is_traced() -> None:
    traced = trace("unaffable")
    assert pieces("unaffable") == ["un", "##a", "##ff", "##able"]
    assert [step.rest for step in traced.steps] == ["unaffable", "affable", "ffable", "able"]
    assert [[symbol.data for symbol in step.shorter] for step in traced.steps] == [
        [b"u"],
        [],
        [b"##f"],
        [b"##a"],
    ]
    assert [step.missing for step in traced.steps] == ["una", "##af", "##ffa", None]


def test_word_without_a_match_is_unknown() -> None:
    traced = trace("unx")
    assert [symbol.id for symbol in traced.tokens] == [0]
    assert traced.steps[-1].taken is None
    assert traced.steps[-1].missing == "##x"


def test_too_long_word_is_unknown() -> None:
    assert trace("unaff", most=4).too_long == 4


@given(st.text("unaf", min_size=1, max_size=12))
def test_split_changes_with_the_missing_piece(word: str) -> None:
    traced = trace(word)
    for cause in traced.causes:
        assert isinstance(cause, NoLongerPiece)
        assert pieces(word, VOCAB | {cause.missing: 7}) != pieces(word)
