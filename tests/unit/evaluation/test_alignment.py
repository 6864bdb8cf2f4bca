"""The alignment of a text with its decoding."""

from __future__ import annotations

import random

import pytest

from tokbench.evaluation.alignment import WINDOW, Difference, alignment
from tokbench.metrics.robustness import edit_distance


def distance(text: str, other: str) -> int:
    return edit_distance(list(map(ord, text)), list(map(ord, other)))


def differences(text: str, other: str) -> list[Difference]:
    return [part for part in alignment(text, other) if isinstance(part, Difference)]


def num_edits(text: str, other: str) -> int:
    return sum(len(part.edits) for part in differences(text, other))


def damaged(text: str, generator: random.Random, rate: float) -> str:
    return "".join(
        generator.choice(["", "x", one + "y"]) if generator.random() < rate else one for one in text
    )


def test_edits_are_as_few_as_possible() -> None:
    generator = random.Random(7)
    for _ in range(2000):
        text, other = ("".join(generator.choices("ab ", k=generator.randint(0, 12))) for _ in range(2))
        assert num_edits(text, other) == distance(text, other)


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.8])
@pytest.mark.parametrize("length", [WINDOW - 200, 5 * WINDOW])
def test_edits_turn_one_text_into_the_other(rate: float, length: int) -> None:
    """They are the fewest up to the length of a window, and in longer texts at most one in a hundred more."""
    generator = random.Random(length)
    text = "".join(generator.choices("abcdefgh ", k=length))
    other = damaged(text, generator, rate)
    parts = differences(text, other)
    assert all("".join(lost for lost, _ in part.edits) == part.lost for part in parts)
    assert all("".join(found for _, found in part.edits) == part.found for part in parts)
    assert all(lost != found for part in parts for lost, found in part.edits)
    lost, found = (sum(len(part[side]) for part in parts) for side in (0, 1))
    equal = sum(part for part in alignment(text, other) if isinstance(part, int))
    assert len(text) - lost == len(other) - found == equal
    most = distance(text, other) if max(len(text), len(other)) <= WINDOW else 1.01 * distance(text, other)
    assert distance(text, other) <= num_edits(text, other) <= most


@pytest.mark.parametrize("number", [WINDOW - 1, 3 * WINDOW])
def test_one_text_may_be_empty(number: int) -> None:
    assert num_edits("a" * number, "") == num_edits("", "a" * number) == number
    assert num_edits("a" * number, "a") == number - 1


def test_a_long_part_that_only_one_text_has_is_skipped() -> None:
    generator = random.Random(3)
    before, between, after = ("".join(generator.choices("abcdefgh ", k=k)) for k in (500, 1900, 4000))
    assert num_edits(before + between + after, before.upper() + after) <= 500 + 1900
    assert num_edits(before + after, before.upper() + between + after) <= 500 + 1900
