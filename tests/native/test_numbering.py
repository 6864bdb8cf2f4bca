"""The compiled numbering of words gives what the Python fallback gives, and what the regular expressions say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import kernel_named
from support.texts import bundled_texts, texts

from tokbench.libraries.word_cache import fallback
from tokbench.libraries.word_cache.cut_points import CUTS

# Spaces of both kinds, bytes of theirs in other characters, line ends, punctuation and its neighbours in ASCII.
pieces = st.sampled_from(
    [*" \n\u2581\u2580\u2582\u2181\t\r.!/0:@A[`a{~\x7f\0", "\u00e2", "ab", "  ", "\u2581\u2581", "\U0001f642"]
)
woven = st.lists(pieces | texts, max_size=12).map("".join)


@pytest.fixture(scope="module")
def module() -> Any:
    kernel_named("native")  # skips where it is absent
    from tokbench.native import _word_cache

    return _word_cache


def numbered(numbering: Any, given_texts: list[str]) -> tuple[list[int], list[int], list[str]]:
    numbers, offsets, new = numbering.number(given_texts)
    assert numbers.dtype == offsets.dtype == np.int64
    return numbers.tolist(), offsets.tolist(), new


@pytest.mark.parametrize("cut", CUTS)
@given(batches=st.lists(st.lists(woven, max_size=4), max_size=4), cleared=st.integers(0, 4))
def test_both_number_alike(module: Any, cut: str, batches: list[list[str]], cleared: int) -> None:
    native, python = module.Numbering(cut), fallback.Numbering(cut)
    for number, batch in enumerate(batches):
        if number == cleared:
            native.clear()
            python.clear()
        assert numbered(native, batch) == numbered(python, batch)


@pytest.mark.parametrize("cut", CUTS)
def test_words_are_the_text(module: Any, cut: str) -> None:
    given_texts = list(bundled_texts().values())
    numbers, offsets, new = numbered(module.Numbering(cut), given_texts)
    assert len(new) > 5000
    for text, first, last in zip(given_texts, offsets[:-1], offsets[1:], strict=True):
        assert [new[number] for number in numbers[first:last]] == re.findall(CUTS[cut], text)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("text", ["", " ", "a", " " * 300_000, "a" * 300_000, "a " * 150_000, "." * 300_000])
def test_what_repeats_is_numbered_once(module: Any, cut: str, text: str) -> None:
    native = module.Numbering(cut)
    first = numbered(native, [text, text])
    assert first == numbered(fallback.Numbering(cut), [text, text])
    assert numbered(native, [text]) == (first[0][: first[1][1]], first[1][:2], [])


def test_a_surrogate_changes_nothing(module: Any) -> None:
    native = module.Numbering("words")
    with pytest.raises(ValueError, match="surrogate"):
        native.number(["ab", "cd \ud800"])
    assert numbered(native, ["cd"]) == ([0], [0, 1], ["cd"])


@pytest.mark.parametrize("wrong", [("ab",), [b"ab"], ["ab", None], "ab"])
def test_what_is_no_list_of_strings_is_refused(module: Any, wrong: Any) -> None:
    with pytest.raises(TypeError):
        module.Numbering("words").number(wrong)


def test_there_is_no_other_cut(module: Any) -> None:
    for numbering in (module.Numbering, fallback.Numbering):
        with pytest.raises(ValueError, match="no such cut: anywhere"):
            numbering("anywhere")
