"""The compiled measuring kernel agrees with the reference on any text and any tokens."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import KERNEL_NAMES
from support.measuring import (
    WORD_TOKENS,
    Document,
    add,
    add_texts,
    add_tiled,
    everything,
    is_utf8,
    kernel_of,
    new_measurer,
    pieces_of,
    placed_documents,
    spaced_documents,
    tiled_documents,
    tokens_of,
    worded_documents,
)

from tokbench.metrics.metric import COUNTS, OPERATORS

NUM_GROUPS = 3
WORD_ARRAYS = ("data", "offsets", "occurrences", "fewest", "most")
SECONDS = 5
LONG = 300_000
any_documents = st.lists(
    placed_documents(NUM_GROUPS) | spaced_documents(NUM_GROUPS) | tiled_documents(NUM_GROUPS), max_size=4
)
any_tiled_documents = st.lists(tiled_documents(NUM_GROUPS) | worded_documents(NUM_GROUPS), max_size=4)


# --- agreement with the reference -------------------------------------------------------------


@given(documents=any_documents)
def test_compiled_kernel_counts_as_the_reference(documents: list[Document]) -> None:
    native, python = new_measurer("native", NUM_GROUPS), new_measurer("python", NUM_GROUPS)
    assert add(native, documents).tolist() == add(python, documents).tolist()
    assert everything(native) == everything(python)


@given(documents=any_tiled_documents)
def test_tiled_tokens_count_as_placed_tokens(
    documents: list[Document],
) -> None:
    placed = new_measurer("python", NUM_GROUPS)
    rows = add(placed, documents).tolist()
    pieces = pieces_of(documents)
    for name in KERNEL_NAMES:
        tiled = new_measurer(name, NUM_GROUPS, pieces=pieces)
        assert add_tiled(tiled, documents, pieces).tolist() == rows
        assert everything(tiled) == everything(placed)


@pytest.mark.parametrize("name", KERNEL_NAMES)
@given(documents=any_tiled_documents)
def test_texts_count_as_their_utf8(name: str, documents: list[Document]) -> None:
    documents = [document for document in documents if is_utf8(document.text)]
    pieces = pieces_of(documents)
    tiled, texts = (new_measurer(name, NUM_GROUPS, pieces=pieces) for _ in range(2))
    assert add_texts(texts, documents, pieces).tolist() == add_tiled(tiled, documents, pieces).tolist()
    assert everything(texts) == everything(tiled)


@pytest.mark.parametrize(
    "after",
    [
        *(b"", b"\x99s"),
        *(
            pytest.param(data, marks=pytest.mark.slow)
            for data in (b"s", b" ", b"=", b"\xa9", b"\xcc\x81", b"5")
        ),
    ],
    ids=repr,
)
def test_every_two_tokens_count_as_their_text(after: bytes) -> None:
    documents = [tokens_of(token, other, after) for token in WORD_TOKENS for other in WORD_TOKENS]
    documents += [tokens_of(token, b"", other, after) for token in WORD_TOKENS for other in WORD_TOKENS]
    pieces = pieces_of(documents)
    tiled = new_measurer("native", pieces=pieces)
    rows = add_tiled(tiled, documents, pieces).tolist()
    placed = new_measurer("python")
    assert rows == add(placed, documents).tolist()
    assert everything(tiled) == everything(placed)


def test_compiled_kernel_has_the_same_counts_and_operators() -> None:
    new_measurer("native")
    from tokbench.native import _metrics

    assert _metrics.COUNTS == COUNTS
    assert _metrics.OPERATORS == OPERATORS


@pytest.mark.parametrize("step", [1, 7])
def test_every_character_has_the_same_class_in_both(step: int) -> None:
    """Each character stands between letters and between digits, and token boundaries cut through it."""
    native, python = new_measurer("native"), new_measurer("python")
    characters = [chr(point) for point in range(step, 0x30000, 41) if not 0xD800 <= point < 0xE000]
    text = "".join(f"a{character}b 1{character}2\n" for character in characters).encode()
    spans = tuple(pairwise([*range(0, len(text), step), len(text)]))
    document = Document(text, spans, (0,) * len(spans))
    assert add(native, [document]).tolist() == add(python, [document]).tolist()
    assert everything(native) == everything(python)


# --- invariants of each kernel ----------------------------------------------------------------


@pytest.mark.parametrize("name", KERNEL_NAMES)
@pytest.mark.parametrize("covered", [(0, 2), (3, 5)], ids=["first", "last"])
def test_word_that_was_once_uncovered_is_not_always_whole(name: str, covered: tuple[int, int]) -> None:
    measurer = new_measurer(name)
    add(measurer, [Document(b"ab ab", (covered,), (0,))])
    assert measurer.word_types().tolist() == [[1, 0]]
    add(measurer, [Document(b"cd cd", ((0, 2), (3, 5)), (0, 0))])
    assert measurer.word_types().tolist() == [[2, 1]]


@pytest.mark.parametrize("name", KERNEL_NAMES)
@given(documents=any_documents, seed=st.integers(0, 99), size=st.integers(1, 3))
def test_order_and_batches_do_not_change_the_counts(
    name: str, documents: list[Document], seed: int, size: int
) -> None:
    together, apart = new_measurer(name, NUM_GROUPS), new_measurer(name, NUM_GROUPS)
    rows = add(together, documents).tolist()
    order = random.Random(seed).sample(range(len(documents)), len(documents))
    for first in range(0, len(order), size):
        numbers = order[first : first + size]
        assert add(apart, [documents[number] for number in numbers]).tolist() == [
            rows[number] for number in numbers
        ]
    assert everything(apart) == everything(together)


@pytest.mark.parametrize("name", KERNEL_NAMES)
@given(documents=any_tiled_documents, data=st.data())
def test_joined_measurers_equal_one(name: str, documents: list[Document], data: st.DataObject) -> None:
    pieces = pieces_of(documents)
    together = new_measurer(name, NUM_GROUPS, pieces=pieces)
    add_tiled(together, documents, pieces)
    cut = data.draw(st.integers(0, len(documents)))
    one, other = (new_measurer(name, NUM_GROUPS, pieces=pieces) for _ in range(2))
    add_tiled(one, documents[:cut], pieces)
    add(other, documents[cut:])
    before = everything(other)
    one.join(other)
    assert everything(one) == everything(together)
    assert everything(other) == before


@pytest.mark.parametrize("name", KERNEL_NAMES)
@given(documents=any_documents, data=st.data())
def test_words_of_another_measurer_can_be_added(
    name: str, documents: list[Document], data: st.DataObject
) -> None:
    together = new_measurer(name, NUM_GROUPS)
    add(together, documents)
    cut = data.draw(st.integers(0, len(documents)))
    one, other = (new_measurer(name, NUM_GROUPS) for _ in range(2))
    add(one, documents[:cut])
    add(other, documents[cut:])
    before = one.totals().tolist()
    for group in range(NUM_GROUPS):
        words = dict(zip(WORD_ARRAYS, other.words(group), strict=True))
        text, offsets = words["data"].tobytes(), words["offsets"].tolist()
        spelled = [text[start:stop] for start, stop in pairwise(offsets)]
        assert spelled == sorted({word for word, _, _ in other.worst_words(group, 10_000)})
        one.add_words(group, **words)
    assert one.totals().tolist() == before
    assert one.word_types().tolist() == together.word_types().tolist()
    for group in range(NUM_GROUPS):
        assert one.worst_words(group, 10_000) == together.worst_words(group, 10_000)
        for found, expected in zip(one.words(group), together.words(group), strict=True):
            assert found.dtype == expected.dtype
            assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", KERNEL_NAMES)
@given(documents=any_documents)
def test_totals_of_a_group_are_the_sums_of_its_documents(name: str, documents: list[Document]) -> None:
    measurer = new_measurer(name, NUM_GROUPS)
    rows = add(measurer, documents)
    assert rows.shape == (len(documents), len(COUNTS))
    for group, total in enumerate(measurer.totals().tolist()):
        of_group = [row for row, each in zip(rows.tolist(), documents, strict=True) if each.group == group]
        assert total == [sum(column) for column in zip(*of_group, strict=True)] or not of_group
        alone = new_measurer(name)
        add(alone, [replace(document, group=0) for document in documents if document.group == group])
        assert measurer.totals()[group].tolist() == alone.totals()[0].tolist()
        assert measurer.worst_words(group, 9) == alone.worst_words(0, 9)


@pytest.mark.parametrize("name", KERNEL_NAMES)
@given(document=placed_documents() | spaced_documents())
def test_part_counts_do_not_exceed_the_whole(name: str, document: Document) -> None:
    measurer = new_measurer(name)
    add(measurer, [document])
    found = dict(zip(COUNTS, measurer.totals()[0].tolist(), strict=True))
    for part, whole in [
        ("covered_chars", "language_chars"), ("language_chars", "chars"),
        ("split_words", "words"), ("unspaced_words", "words"), ("identifiers", "words"), ("words", "chars"),
        ("cut_chars", "multibyte_chars"), ("multibyte_chars", "chars"), ("chars", "bytes"), ("lines", "bytes"),
        ("uncovered_bytes", "bytes"), ("unknown_tokens", "tokens"), ("fallback_tokens", "tokens"),
        ("whole_short_numbers", "short_numbers"), ("short_numbers", "numbers"), ("numbers", "chars"),
        ("digit_hits", "digit_boundaries"), ("digit_hits", "digit_cuts"),
        ("identifier_hits", "identifier_boundaries"), ("identifier_hits", "identifier_cuts"),
        ("isolated_operators", "operators"), ("indented_lines", "indentation_chars"), ("indented_lines", "lines"),
    ]:  # fmt: skip
        assert found[part] <= found[whole], (part, whole)
    of_length = measurer.numbers_by_length()[0]
    assert of_length.sum(axis=0).tolist() == [found["numbers"], found["number_tokens"]]
    assert of_length[1:4, 0].sum() == found["short_numbers"]
    words = measurer.worst_words(0, 10_000)
    assert sum(occurrences for _, _, occurrences in words) == found["words"]
    assert len(words) == measurer.word_types()[0, 0]


@pytest.mark.parametrize("name", KERNEL_NAMES)
@given(ids=st.lists(st.integers(0, 9)))
def test_id_counts_are_added(name: str, ids: list[int]) -> None:
    counts = np.arange(10)
    kernel_of(name).count_ids(np.array(ids, dtype=np.uint32), counts)
    assert counts.tolist() == [id + ids.count(id) for id in range(10)]


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_id_without_a_count_is_refused(name: str) -> None:
    counts = np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match="no count"):
        kernel_of(name).count_ids(np.array([0, 2], dtype=np.uint32), counts)
    assert counts.tolist() == [0, 0]


# --- linear time ------------------------------------------------------------------------------


UNITS = {
    "one letter": "a",
    "digits": "7",
    "operators": "<=",
    "dots": ".",
    "underscores": "_",
    "case": "aB",
    "spaces": " ",
    "operators in spaces": "==  ",
    "line ends": "\n",
    "indentations": "\n  x",
    "apostrophes": "a'",
    "marks": "\u0301",
    "a Thai letter": "ก",
    "stray bytes": "\udcff",
}


@pytest.mark.timed
@pytest.mark.parametrize(
    "size",
    [*(pytest.param(size, marks=pytest.mark.slow) for size in (1, LONG)), 3],
    ids="tokens of {} bytes".format,
)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_long_repetitive_text_is_measured_in_bounded_time(unit: str, size: int) -> None:
    text = (unit.encode(errors="surrogateescape") * LONG)[:LONG]
    spans = tuple(pairwise([*range(0, len(text), size), len(text)]))
    document = Document(text, spans, (0,) * len(spans))
    pieces = pieces_of([document])
    measurer = new_measurer("native", pieces=pieces)
    started = perf_counter()
    add_tiled(measurer, [document], pieces)
    add(measurer, [document])
    assert perf_counter() - started < SECONDS


@pytest.mark.timed
def test_overlapping_tokens_are_measured_in_bounded_time() -> None:
    text = b"a 1 == " * 150_000
    document = Document(text, ((0, len(text)),) * len(text), (1,) * len(text))
    measurer = new_measurer("native")
    started = perf_counter()
    add(measurer, [document])
    assert perf_counter() - started < SECONDS
