"""Tests for computing the spans of a character BPE from its ids; test_character_document.py compares the library's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.tokens import Encoded
from tokbench.opening.character_places import CharacterPlaces

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK, HI, THE, C3, A9 = range(5)
PLACES = CharacterPlaces(
    sizes=np.array([1, 3, 4, 1, 1]),  # "▁", "▁Hi", "▁the", the bytes C3 and A9
    are_bytes=np.array([False, False, False, True, True]),
    in_front="parts without",
    known=None,
    apart=("▁",),
)


def encoded(*ids: list[int]) -> Encoded:
    return Encoded(np.array([id for each in ids for id in each], np.uint32), np.cumsum([0, *map(len, ids)]))


def places(texts: Sequence[str], *ids: list[int]) -> list[tuple[int, int]] | None:
    ends = PLACES.of(texts, encoded(*ids))
    return None if ends is None else list(zip(ends[0].tolist(), ends[1].tolist(), strict=True))


def test_spans_of_examples_worked_by_hand() -> None:
    assert places(["Hi the"], [HI, THE]) == [(0, 2), (2, 6)]
    assert places([" the"], [THE]) == [(0, 4)]  # begins with a space: no prefix space is added
    # A separate prefix ▁ gets the span of the first character, and so does each byte of that character.
    assert places(["é the"], [MARK, C3, A9, THE]) == [(0, 2), (0, 2), (0, 2), (2, 6)]
    assert places(["Hi", "", "é"], [HI], [], [MARK, C3, A9]) == [(0, 2), (0, 2), (0, 2), (0, 2)]


def test_ids_that_do_not_cover_the_text_have_no_spans() -> None:
    assert places(["Hi there"], [HI, THE]) is None
    assert places(["Hi", "Hi the"], [HI], [HI]) is None


def test_covered_texts_are_recognized() -> None:
    assert PLACES.cover("Hi é\x01")
    assert not PLACES.cover("a ▁")
    few = CharacterPlaces(
        sizes=PLACES.sizes,
        are_bytes=PLACES.are_bytes,
        in_front="nothing",
        known=frozenset("ab "),
        apart=("aa",),
    )
    assert few.cover("ab a")
    assert not few.cover("abc")
    assert not few.cover("baab")
