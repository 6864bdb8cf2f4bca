"""Special tokens: sets that allow only one way to split a text, and the splits."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokbench.backends.bpe import reference
from tokbench.core.special_tokens import SpecialTokenFinder, check_special_tokens, contained_texts
from tokbench.core.tokens import Span, SpecialPolicy
from tokbench.errors import ConfigError, SpecialTokenError

if TYPE_CHECKING:
    from collections.abc import Sequence

tokens = st.lists(st.text("ab<.é🙂", min_size=1, max_size=3), unique=True, max_size=4)
texts = st.text("ab<.é🙂 ", max_size=20)


@pytest.mark.parametrize(
    ("special_tokens", "message"),
    [
        ([""], "a special token is empty"),
        (["<a>", ""], "a special token is empty"),
        (["<a>", "<b>", "<a>"], "the special token '<a>' is given twice"),
        (["<a>", "<a><b>"], "the special token '<a>' is part of the special token '<a><b>'"),
        (["x<a>x", "<a>"], "the special token '<a>' is part of the special token 'x<a>x'"),
        (["a\ud800"], r"the special token 'a\ud800' has no UTF-8 form"),
    ],
)
def test_ambiguous_special_tokens_are_refused(special_tokens: Sequence[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_special_tokens(special_tokens)
    assert caught.value.message == message


@pytest.mark.parametrize(
    "special_tokens",
    [[], ["<a>"], ["<a>", "<b>"], ["ab", "ba"], [" ", "\n"], ["<a>", "<A>"], ["é", "e\u0301"]],
)
def test_unambiguous_special_tokens_are_allowed(special_tokens: Sequence[str]) -> None:
    check_special_tokens(special_tokens)


@given(special_tokens=tokens, text=texts)
def test_splitting_at_special_tokens_equals_the_reference(special_tokens: list[str], text: str) -> None:
    finder = SpecialTokenFinder(special_tokens)
    expected = list(reference.cut_at_special_tokens(text, special_tokens))
    assert [tuple(piece) for piece in finder.cut(text, special=SpecialPolicy.ENCODE)] == expected


@given(special_tokens=tokens, text=texts)
def test_special_tokens_are_ordinary_text_by_default(special_tokens: list[str], text: str) -> None:
    pieces = list(SpecialTokenFinder(special_tokens).cut(text, special=SpecialPolicy.TEXT))
    assert pieces == ([(text, None)] if text else [])


@given(special_tokens=tokens, text=texts)
def test_first_special_token_raises_with_its_byte_offset(special_tokens: list[str], text: str) -> None:
    finder = SpecialTokenFinder(special_tokens)
    pieces = list(reference.cut_at_special_tokens(text, special_tokens))
    first = next((number for number, piece in enumerate(pieces) if piece.is_special), None)
    if first is None:
        assert list(finder.cut(text, special=SpecialPolicy.RAISE)) == pieces
        return
    with pytest.raises(SpecialTokenError) as caught:
        list(finder.cut(text, special=SpecialPolicy.RAISE))
    start = len("".join(piece.text for piece in pieces[:first]).encode())
    assert caught.value.token == pieces[first].text
    assert caught.value.span == Span(start, start + len(pieces[first].text.encode()))


def test_special_tokens_are_no_regular_expressions() -> None:
    cut = SpecialTokenFinder(["<|.*|>"]).cut("<|x|><|.*|>", special=SpecialPolicy.ENCODE)
    assert list(cut) == [("<|x|>", None), ("<|.*|>", "<|.*|>")]


@given(texts=st.lists(st.text("ab🙂", min_size=1, max_size=6), max_size=8))
@example(texts=["abab", "ba", "a"])  # the suffix of a suffix
@example(texts=["aab", "ab", "b", "aab"])  # a text given twice does not contain itself
def test_contained_texts_equal_a_pairwise_search(texts: list[str]) -> None:
    expected = {text for text in texts for other in texts if text != other and text in other}
    assert contained_texts(texts) == expected


def test_many_special_tokens_are_checked_in_seconds() -> None:
    special_tokens = [f"<|reserved_{number}|>" for number in range(65_300)]
    started = process_time()
    assert contained_texts([*special_tokens, "_65299|"]) == {"_65299|"}
    assert process_time() - started < 10  # half a second on an idle machine; all pairs take three minutes
