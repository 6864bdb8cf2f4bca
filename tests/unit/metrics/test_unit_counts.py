"""Tests for counts by unit: sums do not depend on the order, and too many units are grouped into buckets."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.units import units_of

from tokbench.metrics import unit_counts
from tokbench.metrics.unit_counts import MOST_UNITS, UnitSums, joined

if TYPE_CHECKING:
    import pytest

    from tokbench.metrics.unit_counts import UnitCounts

few_keys = st.integers(0, 12).map(lambda key: key * 4099)
"""Keys so few that they repeat, and so far apart that their buckets are in another order."""
some = st.lists(st.tuples(few_keys, st.integers(0, 9)), max_size=12)


def summed(pairs: list[tuple[int, int]], *, most: int) -> UnitCounts:
    sums = UnitSums(1, most_units=most)
    for key, count in pairs:
        sums.add(np.array([key], np.uint64), np.array([[count]]))
    return sums.counts()


def content(units: UnitCounts) -> tuple[list[int], list[list[int]], bool]:
    return units.keys.tolist(), units.counts.tolist(), units.are_buckets


@given(one=some, other=some, third=some)
def test_sums_do_not_depend_on_the_order_of_addition(
    one: list[tuple[int, int]], other: list[tuple[int, int]], third: list[tuple[int, int]]
) -> None:
    whole = summed([*one, *other, *third], most=5)
    a, b, c = (summed(pairs, most=5) for pairs in (one, other, third))
    together = [
        joined([a, b, c], most_units=5),
        joined([c, a, b], most_units=5),
        joined([joined([a, b], most_units=5), c], most_units=5),
        joined([a, joined([b, c], most_units=5)], most_units=5),
    ]
    assert [content(units) for units in together] == [content(whole)] * 4


@given(pairs=some)
def test_sums_equal_those_of_a_dictionary(pairs: list[tuple[int, int]]) -> None:
    expected: Counter[int] = Counter()
    for key, count in pairs:
        expected[key] += count
    are_buckets = len({key for key, _ in pairs}) > 5
    if are_buckets:
        buckets: Counter[int] = Counter()
        for key, count in expected.items():
            buckets[key % MOST_UNITS] += count
        expected = buckets
    units = summed(pairs, most=5)
    assert units.keys.tolist() == sorted({key % MOST_UNITS if are_buckets else key for key, _ in pairs})
    assert {
        key: count for key, [count] in zip(units.keys.tolist(), units.counts.tolist(), strict=True) if count
    } == {key: count for key, count in expected.items() if count}
    assert units.are_buckets == are_buckets


def test_waiting_rows_are_summed_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_counts, "_WAITING_ROWS", 3)
    sums = UnitSums(1)
    for key in [5, 1, 5, 9, 5, 1, 1]:
        sums.add(np.array([key], np.uint64), np.array([[1]]))
    assert content(sums.counts()) == ([1, 5, 9], [[3], [3], [1]], False)
    assert content(sums.counts()) == ([1, 5, 9], [[3], [3], [1]], False)


def test_units_are_separate_up_to_a_limit() -> None:
    keys = np.arange(1, MOST_UNITS + 2)
    assert not joined([units_of(keys[:-1], keys[:-1])]).are_buckets
    whole = joined([units_of(keys, keys)])
    assert whole.are_buckets
    assert whole.keys.tolist() == list(range(MOST_UNITS))
    assert whole.counts[1].tolist() == [1 + MOST_UNITS + 1]
    kept = UnitSums(1, most_units=None)
    kept.add(keys.astype(np.uint64), keys[:, np.newaxis])
    assert content(kept.counts()) == (keys.tolist(), keys[:, np.newaxis].tolist(), False)
    assert content(kept.counts().in_buckets()) == content(whole)


def test_units_can_be_selected_by_key() -> None:
    units = units_of([3, 9, 20], [1, 2, 3])
    assert content(units.only(np.array([20, 3, 4], np.uint64))) == ([3, 20], [[1], [3]], False)


def test_waiting_rows_do_not_keep_their_arrays_in_memory() -> None:
    sums, keys, rows = UnitSums(1), np.arange(9, dtype=np.uint64), np.ones((9, 1), np.int64)
    arrays = [weakref.ref(keys), weakref.ref(rows)]
    sums.add(keys[2:4], rows[2:4])
    del keys, rows
    assert [array() for array in arrays] == [None, None]
    assert content(sums.counts()) == ([2, 3], [[1], [1]], False)
