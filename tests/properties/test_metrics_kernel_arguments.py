"""The measuring kernels refuse inconsistent arguments, and count nothing of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.kernels import KERNEL_NAMES
from support.measuring import (
    add,
    add_tiled,
    everything,
    kernel_of,
    new_measurer,
)

from tokbench.metrics.metric import COUNTS
from tokbench.metrics.text_runs import character_classes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.metrics.kernel import Measurer

NUM_GROUPS = 3


@pytest.mark.parametrize("name", KERNEL_NAMES)
@pytest.mark.parametrize(
    "wrong", [{"texts": ("ab",)}, {"texts": ("ab", "\ud800")}, {"texts": ("ab", b" cd")}], ids=str
)
def test_invalid_texts_are_refused_and_nothing_is_counted(name: str, wrong: dict[str, object]) -> None:
    measurer = new_measurer(name, 2, pieces=PIECES)
    good = {name: value for name, value in TILED.items() if name not in ("text", "text_offsets")} | {
        "texts": ("ab", " cd")
    }
    assert measurer.add_texts(**good).shape == (2, len(COUNTS))
    assert_refused(measurer, measurer.add_texts, good | wrong)


# --- inconsistent arguments -------------------------------------------------------------------


def integers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


GOOD = {
    "text": b"ab cd",
    "text_offsets": integers(0, 2, 5),
    "token_offsets": integers(0, 1, 3),
    "groups": np.array([0, 1], dtype=np.int32),
}
PLACED = GOOD | {
    "starts": integers(0, 0, 1),
    "stops": integers(2, 1, 3),
    "kinds": np.zeros(3, dtype=np.uint8),
}
TILED = GOOD | {
    "ids": np.array([2, 1, 3], dtype=np.uint32),
}
PIECES = [b"a", b" ", b"ab", b"cd", b"", b"a much longer piece", b"xy"]
WRONG_DOCUMENTS = {
    "offsets of the text that decrease": {"text_offsets": integers(0, 6, 5)},
    "offsets of the text below zero": {"text_offsets": integers(0, -1, 5)},
    "offsets of the text that begin late": {"text_offsets": integers(1, 2, 5)},
    "offsets of the text that end early": {"text_offsets": integers(0, 2, 4)},
    "offsets of the text that run out of it": {"text_offsets": integers(0, 2, 6)},
    "offsets of the text that are too few": {"text_offsets": integers(0, 5)},
    "offsets of the text that are none": {"text_offsets": integers()},
    "offsets of tokens that decrease": {"token_offsets": integers(0, 4, 3)},
    "offsets of tokens that begin late": {"token_offsets": integers(1, 1, 3)},
    "offsets of tokens that end early": {"token_offsets": integers(0, 1, 2)},
    "offsets of tokens that run out of them": {"token_offsets": integers(0, 1, 4)},
    "offsets of tokens that run far out of them": {"token_offsets": integers(0, 1, 2**62)},
    "a group too many": {"groups": np.array([0, 2], dtype=np.int32)},
    "a group below zero": {"groups": np.array([-1, 0], dtype=np.int32)},
    "groups that are too few": {"groups": np.array([0], dtype=np.int32)},
    "groups of 64 bits": {"groups": integers(0, 1)},
    "offsets of 32 bits": {"text_offsets": integers(0, 2, 5).astype(np.int32)},
    "offsets in two dimensions": {"token_offsets": integers(0, 1, 3).reshape(1, 3)},
    "a text that is a string": {"text": "ab cd"},
}
WRONG_PLACES = WRONG_DOCUMENTS | {
    "starts that decrease": {"starts": integers(0, 1, 0)},
    "stops that decrease": {"stops": integers(2, 3, 2)},
    "a start below zero": {"starts": integers(-1, 0, 1)},
    "a stop after the document": {"stops": integers(3, 1, 3)},
    "a stop after the text": {"stops": integers(2, 1, 4)},
    "a stop far after the text": {"stops": integers(2, 1, 2**62)},
    "a start after its stop": {"starts": integers(0, 0, 4)},
    "starts that are too few": {"starts": integers(0, 0)},
    "stops that are too many": {"stops": integers(2, 1, 3, 3)},
    "kinds that are too few": {"kinds": np.zeros(2, dtype=np.uint8)},
    "a kind that there is not": {"kinds": np.array([0, 0, 4], dtype=np.uint8)},
    "starts that are floats": {"starts": np.zeros(3)},
}
WRONG_TILES = WRONG_DOCUMENTS | {
    "an id without bytes": {"ids": np.array([2, 1, 7], dtype=np.uint32)},
    "the greatest id": {"ids": np.array([2, 1, 2**32 - 1], dtype=np.uint32)},
    "tokens that are too short": {"ids": np.array([2, 1, 4], dtype=np.uint32)},
    "tokens that are too long": {"ids": np.array([2, 3, 3], dtype=np.uint32)},
    "tokens that are far too long": {"ids": np.array([2, 1, 5], dtype=np.uint32)},
    "tokens of other bytes": {"ids": np.array([2, 1, 6], dtype=np.uint32)},
    "tokens that tile all, but not each": {"ids": np.array([0, 1, 3], dtype=np.uint32)},
    "ids that are too few": {"ids": np.array([1, 0], dtype=np.uint32)},
    "ids of 64 bits": {"ids": integers(1, 0, 1)},
}


def assert_refused(measurer: Measurer, call: Callable[..., object], arguments: dict[str, object]) -> None:
    before = everything(measurer)
    with pytest.raises((TypeError, ValueError)):
        call(**arguments)
    assert everything(measurer) == before


@pytest.mark.parametrize("name", KERNEL_NAMES)
@pytest.mark.parametrize("wrong", WRONG_PLACES.values(), ids=WRONG_PLACES.keys())
def test_invalid_spans_are_refused_and_nothing_is_counted(name: str, wrong: dict[str, object]) -> None:
    measurer = new_measurer(name, 2)
    assert measurer.add(**PLACED).shape == (2, len(COUNTS))
    assert_refused(measurer, measurer.add, PLACED | wrong)


@pytest.mark.parametrize("name", KERNEL_NAMES)
@pytest.mark.parametrize("wrong", WRONG_TILES.values(), ids=WRONG_TILES.keys())
def test_invalid_tiles_are_refused_and_nothing_is_counted(name: str, wrong: dict[str, object]) -> None:
    measurer = new_measurer(name, 2, pieces=PIECES)
    assert measurer.add_tiled(**TILED).shape == (2, len(COUNTS))
    assert_refused(measurer, measurer.add_tiled, TILED | wrong)


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_no_documents_and_no_groups_are_allowed(name: str) -> None:
    measurer = new_measurer(name, 0)
    assert add(measurer, []).shape == add_tiled(measurer, [], []).shape == (0, len(COUNTS))
    assert measurer.totals().shape == (0, len(COUNTS))
    assert measurer.numbers_by_length().shape == (0, 17, 2)
    assert measurer.word_types().shape == (0, 2)


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_invalid_queries_are_refused(name: str) -> None:
    measurer = new_measurer(name, 2)
    for group, n in [(2, 1), (-1, 1), (0, -1)]:
        with pytest.raises(ValueError, match=r"no such group|negative"):
            measurer.worst_words(group, n)
    assert measurer.worst_words(1, 5) == []


WORDS = {
    "data": np.frombuffer(b"abcd", np.uint8),
    "offsets": integers(0, 3, 4),
    "occurrences": integers(5, 1),
    "fewest": np.array([1, 2], np.uint32),
    "most": np.array([2, 2], np.uint32),
}


@pytest.mark.parametrize("name", KERNEL_NAMES)
@pytest.mark.parametrize(
    "wrong",
    [
        {"offsets": integers(0, 4)},
        {"offsets": integers(1, 3, 4)},
        {"offsets": integers(0, 3, 5)},
        {"offsets": integers(0, 4, 4)},
        {"offsets": integers(0, 5, 4)},
        {"occurrences": integers(5, 0)},
        {"occurrences": integers(5)},
        {"fewest": np.array([3, 2], np.uint32)},
        {"fewest": integers(1, 2)},
        {"most": np.array([2], np.uint32)},
        {"data": integers(97, 98, 99, 100)},
    ],
    ids=str,
)
def test_invalid_words_are_refused(name: str, wrong: dict[str, object]) -> None:
    measurer = new_measurer(name, 2)
    for group in (-1, 2):
        with pytest.raises(ValueError, match="no such group"):
            measurer.add_words(group, **WORDS)
        with pytest.raises(ValueError, match="no such group"):
            measurer.words(group)
    with pytest.raises((ValueError, TypeError)):
        measurer.add_words(0, **(WORDS | wrong))
    assert measurer.word_types().tolist() == [[0, 0], [0, 0]]
    measurer.add_words(0, **WORDS)
    assert measurer.worst_words(0, 3) == [(b"abc", 2, 5), (b"d", 2, 1)]


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_invalid_class_table_is_refused(name: str) -> None:
    new_tables = kernel_of(name).new_tables
    classes = character_classes()
    for wrong in [classes[:-1], classes.astype(np.int64), np.full(0x110000, 11, dtype=np.uint8)]:
        with pytest.raises((TypeError, ValueError)):
            new_tables(wrong, b"", integers(0))


@pytest.mark.parametrize("name", KERNEL_NAMES)
@pytest.mark.parametrize("offsets", [(), (1, 2), (0, 1), (0, 3), (0, 2, 1, 2), (0, -1, 2)], ids=str)
def test_invalid_piece_offsets_are_refused(name: str, offsets: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="offset"):
        kernel_of(name).new_tables(character_classes(), b"ab", integers(*offsets))


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_negative_number_of_groups_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="negative"):
        new_measurer(name, -1)


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_joining_itself_or_other_groups_is_refused(name: str) -> None:
    measurer = new_measurer(name, 2)
    for joined in [measurer, new_measurer(name, 1)]:
        with pytest.raises(ValueError, match=r"itself|numbers of groups"):
            measurer.join(joined)
