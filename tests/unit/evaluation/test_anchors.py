"""The places between which long texts are aligned."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.evaluation import anchors
from tokbench.evaluation.anchors import _rising, parts_between_anchors
from tokbench.evaluation.lost_characters import losses_of


def prose(seed: int, num_words: int) -> str:
    generator = random.Random(seed)
    return " ".join(
        "".join(generator.choices("abcdefghij", k=generator.randint(1, 9))) for _ in range(num_words)
    )


@given(
    seed=st.integers(0, 99), gaps=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 900)), max_size=4)
)
def test_parts_make_up_both_texts(seed: int, gaps: list[tuple[int, int]]) -> None:
    text = prose(seed, 1000)
    other = text
    for start, length in gaps:
        other = other[:start] + "?" + other[start + length :]
    parts = list(parts_between_anchors(text, other, size=500))
    assert "".join(one for one, _ in parts) == text
    assert "".join(two for _, two in parts) == other
    assert all(len(one) >= 500 for one, _ in parts[:-1])
    assert all(one[:24] == two[:24] for one, two in parts[1:])


@pytest.mark.parametrize("length", [0, 23, 24, 127, 128, 129, 700])
def test_no_anchor_is_overlooked_between_blocks(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(anchors, "_BLOCK", 128)
    other = prose(1, 200)[:length] + "\udfff"
    text = "日" + other + other
    starts = {other[place : place + 24] for place in range(0, len(other) - 23, 64)}
    expected = {place for place in range(len(text)) if text[place : place + 24] in starts}
    assert expected <= set(anchors._candidates(text, other))
    assert bool(expected) == (length >= 23)


@given(st.lists(st.integers(0, 99), unique=True, max_size=9))
def test_as_many_numbers_rise_as_possible(numbers: list[int]) -> None:
    pairs = list(enumerate(numbers))
    rising = _rising(pairs)
    assert [pair for pair in pairs if pair in rising] == rising
    seconds = [second for _, second in rising]
    assert seconds == sorted(seconds)
    assert len(rising) == max(
        size
        for size in range(len(pairs) + 1)
        for some in combinations(numbers, size)
        if list(some) == sorted(some)
    )


def test_repeated_characters_are_no_anchor() -> None:
    text = prose(0, 100) * 9
    assert list(parts_between_anchors(text, text, size=100)) == [(text, text)]
    assert list(parts_between_anchors("", "", size=100)) == [("", "")]


def test_one_token_for_much_of_a_long_text_loses_only_that() -> None:
    before, after = prose(1, 12_000), prose(2, 12_000)
    lost = "".join(map(chr, range(0x4E00, 0x9000)))
    losses = losses_of(f"{before} {lost} {after}", f"{before} <unk> {after}")
    assert losses.total - len(lost) in (0, 1)
    assert losses.by_cause[3] == losses.total
