"""Merging by ranks: long pieces are merged by a heap, with the result of the plain loop."""

from __future__ import annotations

import time
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.formats import merges
from tokbench.formats.merges import last_pair, merged_parts

RANKS = st.dictionaries(st.text("abc", min_size=2, max_size=6), st.integers(0, 9), max_size=30)


def plain(parts: list[str], ranks: dict[str, int], *, fewest: int) -> list[str]:
    """Merge one pair after the other, by the definition."""
    parts = list(parts)
    while len(parts) > fewest:
        found = [ranks.get(left + right, inf) for left, right in pairwise(parts)]
        best = min(found)
        if best == inf:
            break
        place = found.index(best)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts


@given(st.text("abc", min_size=1, max_size=60), RANKS, st.integers(1, 3))
@pytest.mark.parametrize("most", [1 << 30, 0], ids=["few", "many"])
def test_merging_follows_the_plain_loop(most: int, text: str, ranks: dict[str, int], fewest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merges, "_MANY_PARTS", most)
        found = merged_parts(list(text), lambda left, right: ranks.get(left + right, inf), fewest=fewest)
    assert found == plain(list(text), ranks, fewest=fewest)


@pytest.mark.timed
def test_a_token_of_many_bytes_is_merged_in_near_linear_time() -> None:
    """A text of a single letter has tokens of 2^n bytes."""
    ranks = {b"a" * (1 << power): power for power in range(18)}
    started = time.perf_counter()
    assert last_pair(b"a" * (1 << 17), ranks) == (b"a" * (1 << 16), b"a" * (1 << 16))
    assert time.perf_counter() - started < 5
