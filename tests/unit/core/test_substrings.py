"""Texts within other texts of a set: the automaton against a search for each in each."""

from __future__ import annotations

from time import process_time

from hypothesis import example, given
from hypothesis import strategies as st

from tokbench.core.special_tokens import contained_texts


@given(texts=st.lists(st.text("ab🙂", min_size=1, max_size=6), max_size=8))
@example(texts=["abab", "ba", "a"])  # the suffix of a suffix
@example(texts=["aab", "ab", "b", "aab"])  # one that is given twice is not within itself
def test_texts_are_found_in_others_as_by_looking_for_each_in_each(texts: list[str]) -> None:
    expected = {text for text in texts for other in texts if text != other and text in other}
    assert contained_texts(texts) == expected


def test_sixty_five_thousand_texts_take_a_second_and_not_minutes() -> None:
    texts = [f"<|reserved_{number}|>" for number in range(65_300)]
    started = process_time()
    assert contained_texts([*texts, "_65299|"]) == {"_65299|"}
    assert process_time() - started < 10  # half a second on an idle machine; each in each takes three minutes
