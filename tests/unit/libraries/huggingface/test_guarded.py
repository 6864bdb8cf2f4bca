"""Control tokens in contents that the library found, compared with those that were found without it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.core.guarded import ControlToken
from tokbench.libraries.huggingface.guarded import _not_overlapping

places = st.tuples(st.integers(0, 20), st.integers(1, 6), st.sampled_from(["<a>", "<b>"])).map(
    lambda place: (place[0], place[0] + place[1], place[2])
)


@given(wrong=st.lists(places), outside=st.lists(places))
def test_tokens_that_overlap_others_are_left_out(
    wrong: list[tuple[int, int, str]], outside: list[tuple[int, int, str]]
) -> None:
    expected = [
        (start, stop, token)
        for start, stop, token in wrong
        if not any(first < stop and start < last for first, last, _ in outside)
    ]
    assert list(_not_overlapping([ControlToken(*place) for place in wrong], outside)) == expected


@pytest.mark.timed
def test_many_tokens_take_linear_time() -> None:
    """A content with 20,000 control tokens took a minute."""
    outside = [(10 * number, 10 * number + 9, "<a>") for number in range(20_000)]
    start = time.process_time()
    assert list(_not_overlapping([ControlToken(*place) for place in outside], outside)) == []
    assert time.process_time() - start < 5
