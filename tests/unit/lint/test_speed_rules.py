"""Tests that quadratic inputs are told from linear ones, with tokenizers of known cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.lint import byte_level, target_of
from support.toys import Toy

from tokbench.lint import speed_rules
from tokbench.lint.speed_rules import growth

if TYPE_CHECKING:
    from pathlib import Path


class Costing(Toy):
    """A tokenizer that advances the test's clock by a power of the text's length."""

    def __init__(self, clock: list[float], power: int) -> None:
        super().__init__("a")
        self._clock, self._power = clock, power

    def encode(self, text: str, **options: object) -> list[int]:
        self._clock[0] += (len(text) / 40_000) ** self._power
        return []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(speed_rules.time, "process_time", lambda: now[0])
    return now


@pytest.mark.parametrize(("power", "ratio"), [(1, 4), (2, 16)])
def test_time_ratio_of_longer_texts_is_measured(clock: list[float], power: int, ratio: int) -> None:
    measured = growth(Costing(clock, power), "a")
    assert measured is not None
    assert measured[1] == pytest.approx(ratio)


def test_too_short_times_are_not_judged(clock: list[float], tmp_path: Path) -> None:
    assert growth(target_of(byte_level(), tmp_path).tokenizer, "a") is None


def test_only_quadratic_time_is_found(clock: list[float], tmp_path: Path) -> None:
    target = target_of(byte_level(), tmp_path)
    for power, number in ((1, 0), (2, 10)):
        slow = Costing(clock, power)
        object.__setattr__(target.opened, "tokenizer", slow)
        assert len(list(speed_rules.RULES[0].check(target))) == number
