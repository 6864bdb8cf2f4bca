"""The compiled table of edit distances gives the steps of the one in Python, which are the fewest."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import KERNEL_NAMES, chosen

from tokbench.metrics import edit_table, fallback
from tokbench.metrics.edit_table import CHANGED, FOUND, LOST, SAME
from tokbench.metrics.kernel import current_kernel, has_native_kernel
from tokbench.metrics.robustness import edit_distance

LETTERS = "ab \nA日\udfff\U0001f600"
short = st.text(LETTERS, max_size=12)
long = st.builds(
    "".join, st.lists(st.sampled_from(["ab", "b a", "aaaa", "日本", " ", "x" * 60]), max_size=12)
)


def edit_steps(name: str, text: str, other: str, lengths: tuple[int, int] | None = None) -> bytes:
    if name == "native" and os.environ.get("TOKBENCH_KERNEL") != "native" and not has_native_kernel():
        pytest.skip("the compiled kernel is not installed")
    with chosen(name):
        return current_kernel().edit_steps(text, other, lengths)


def num_edits(text: str, other: str, steps: bytes) -> int:
    one, two = iter(text), iter(other)
    pairs = [(next(one) if step != FOUND else "", next(two) if step != LOST else "") for step in steps]
    assert not [*one, *two]
    assert [first == second for first, second in pairs] == [step == SAME for step in steps]
    return len(steps) - steps.count(SAME)


@pytest.mark.parametrize("name", KERNEL_NAMES)
@given(text=short | long, other=short | long)
def test_edits_are_the_fewest(name: str, text: str, other: str) -> None:
    steps = edit_steps(name, text, other)
    assert num_edits(text, other, steps) == edit_distance(list(map(ord, text)), list(map(ord, other)))


@given(
    text=short | long, other=short | long, more=st.tuples(st.integers(0, 9), st.integers(0, 900)) | st.none()
)
def test_kernel_takes_the_steps_of_the_definition(
    text: str, other: str, more: tuple[int, int] | None
) -> None:
    lengths = None if more is None else (len(text) + more[0], len(other) + more[1])
    assert edit_steps("native", text, other, lengths) == edit_table.edit_steps(text, other, lengths)


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_white_space_is_replaced_by_white_space(name: str) -> None:
    assert list(edit_steps(name, "a b", "a\nb")) == [SAME, CHANGED, SAME]
    assert list(edit_steps(name, "ab c", "aXc")) == [SAME, CHANGED, LOST, SAME]
    assert list(edit_steps(name, "aXc", "ab c")) == [SAME, CHANGED, FOUND, SAME]
    assert list(edit_steps(name, "", "ab")) == [FOUND, FOUND]
    assert list(edit_steps(name, "ab", "")) == [LOST, LOST]


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_end_of_a_beginning_is_where_the_fewest_edits_follow(name: str) -> None:
    text, other = "abcdefgh" * 4, "Xabcdefgh" * 4
    steps = edit_steps(name, text, other, (1000, 1100))
    assert len(steps) - list(steps).count(FOUND) in (24, 32)
    ends = [len(edit_steps(name, text, other, (1000, length))) for length in (1000, 1200)]
    assert all(one <= two for one, two in pairwise(ends))


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_arguments_are_checked(name: str) -> None:
    with pytest.raises(ValueError, match="too long"):
        edit_steps(name, "a" * 9000, "b" * 9000)
    for lengths in ((1, 9), (9, 1)):
        with pytest.raises(ValueError, match="longer than the whole"):
            edit_steps(name, "ab", "ab", lengths)


def test_fallback_is_the_definition() -> None:
    assert fallback.edit_steps is edit_table.edit_steps
