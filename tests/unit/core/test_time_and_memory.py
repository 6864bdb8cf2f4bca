"""Timing: figures computed by hand, and rounds on a clock that is moved by hand."""

from __future__ import annotations

import gc

import pytest
from support.toys import Toy

from tokbench.core.time_and_memory import (
    Spread,
    in_turns,
    microseconds_of_each,
    percentile,
    ratios,
    seconds_of,
    throughput_of,
)


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


# --- figures ----------------------------------------------------------------------------------


def test_spread_is_median_and_range():
    assert Spread.of([5.0, 1.0, 3.0, 9.0]) == Spread(median=4.0, low=1.0, high=9.0, runs=4)


def test_ratios_are_computed_by_round():
    # Everything is ten times as fast in the second round, and the ratio stays.
    assert ratios([20.0, 2.0, 30.0], [10.0, 1.0, 10.0]) == Spread(median=2.0, low=2.0, high=3.0, runs=3)


def test_ratios_ignore_unpaired_rounds():
    assert ratios([4.0], [2.0, 1.0]).runs == 1


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 50), (0.9, 90), (0.99, 99), (1.0, 100)])
def test_percentiles_of_a_hundred_values(share, value):
    assert percentile([float(number) for number in range(100, 0, -1)], share) == value


# --- rounds -----------------------------------------------------------------------------------


def test_functions_are_timed_in_turns():
    order = []
    times = in_turns(
        {name: lambda name=name: order.append(name) or len(order) for name in "abc"}, runs=2, seconds=9
    )
    assert order == list("abcabc")
    assert times == {"a": [1, 4], "b": [2, 5], "c": [3, 6]}


def test_function_beyond_its_seconds_is_skipped():
    clock = HandClock()

    def takes(seconds):
        def work():
            clock.now += seconds
            return seconds

        return work

    times = in_turns({"slow": takes(7), "quick": takes(2)}, runs=5, seconds=5, clock=clock)
    assert times == {"slow": [7], "quick": [2, 2, 2]}


def test_garbage_collector_is_disabled_while_timing():
    seen = []
    seconds_of(lambda: seen.append(gc.isenabled()))
    microseconds_of_each(lambda text: seen.append(gc.isenabled()), ["a", "b"])
    assert seen == [False] * 3
    assert gc.isenabled()


def test_only_the_call_is_timed():
    clock = HandClock()

    def work(_=None):
        clock.now += 3

    assert seconds_of(work, clock=clock) == 3
    assert microseconds_of_each(work, ["a", "b"], clock=clock) == [0.003, 0.003]


# --- throughput -------------------------------------------------------------------------------


def test_throughput_is_measured_in_bytes():
    throughput = throughput_of(Toy("a", "é"), ["a" * 1000, "é" * 500])
    assert (throughput.num_bytes, throughput.runs) == (2000, 3)
    assert 0 < throughput.low <= throughput.median <= throughput.high
    assert throughput.all_threads > 0
    assert throughput_of(Toy("a"), ["", ""]) is None
