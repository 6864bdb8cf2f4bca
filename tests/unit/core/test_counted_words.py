"""Words in arrays: the output of a counter of either kernel, and the input of one."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import counted_words, learn, new_counter
from support.texts import texts, words

from tokbench.core.counted_words import PART_SEED, PARTS, WordArrays, WordTotals, part_of
from tokbench.core.word_input import add_words, check_counted, merger_room
from tokbench.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.backends.bpe.kernel import Kernel, PretokenCounter

counted = st.dictionaries(words | texts.filter(bool), st.integers(1, 2**40), max_size=12)

# Fixed values, as words that other versions and machines counted are added up by part.
KNOWN_PARTS = {
    b"a": 39,
    b" the": 50,
    b"internationalization": 29,
    b"\n": 41,
    "日本語".encode(): 19,
    b"x" * 15: 29,
    b"x" * 16: 57,
    b"x" * 17: 17,
}


def counter_of(kernel: Kernel, counts: Mapping[str, int], *, seed: int = PART_SEED) -> PretokenCounter:
    counter = new_counter(kernel, pattern=None, seed=seed)
    for word, count in counts.items():
        counter.add_counted(word, count)
    return counter


def test_known_words_are_in_their_parts() -> None:
    assert {word: part_of(word) for word in KNOWN_PARTS} == KNOWN_PARTS


@given(counts=counted, bounds=st.lists(st.integers(0, PARTS), max_size=3))
def test_arrays_are_sorted_and_split_by_part(
    kernel: Kernel, counts: dict[str, int], bounds: list[int]
) -> None:
    counter = counter_of(kernel, counts)
    edges = sorted({0, *bounds, PARTS})
    words: list[tuple[bytes, int]] = []
    for first, last in pairwise(edges):
        part = WordArrays(*counter.arrays(first, last)).items()
        assert part == sorted(part)
        assert all(first <= part_of(word) < last for word, _ in part)
        words += part
    assert sorted(words) == sorted((word.encode(), count) for word, count in counts.items())


@given(batches=st.lists(counted, max_size=3), first=st.integers(0, PARTS), last=st.integers(0, PARTS))
def test_added_arrays_are_summed_and_other_parts_skipped(
    kernel: Kernel, batches: list[dict[str, int]], first: int, last: int
) -> None:
    first, last = sorted((first, last))
    counter = new_counter(kernel, pattern=None, seed=PART_SEED)
    expected: Counter[bytes] = Counter()
    for counts in batches:
        arrays = WordArrays.of([(word.encode(), count) for word, count in counts.items()])
        counter.add_arrays(*arrays, first=first, last=last)
        expected.update({word: count for word, count in arrays.items() if first <= part_of(word) < last})
    counter.add_totals(documents=3, num_bytes=20, pretokens=7)
    counter.finish()
    assert WordArrays(*counter.arrays()).items() == sorted(expected.items())
    assert (counter.documents, counter.num_bytes, counter.pretokens) == (3, 20, 7)


@given(data=st.data(), threads=st.sampled_from([1, 3]))
def test_counter_can_be_emptied_within_a_source(kernel: Kernel, data: st.DataObject, threads: int) -> None:
    lines = data.draw(st.lists(texts, max_size=6))
    text = "\n".join(lines).encode()
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    whole = new_counter(kernel, pattern="gpt4", threads=threads)
    whole.begin_source("file")
    whole.feed(text)
    whole.end_source()
    whole.finish()

    emptied = new_counter(kernel, pattern="gpt4", threads=threads)
    words: Counter[bytes] = Counter()
    emptied.begin_source("file")
    for start, stop in zip([0, *places], [*places, len(text)], strict=True):
        emptied.feed(text[start:stop])
        emptied.drain()
        words.update(dict(WordArrays(*emptied.arrays()).items()))
        emptied.clear_counts()
        assert WordArrays(*emptied.arrays()).items() == []
    emptied.end_source()
    emptied.finish()
    words.update(dict(WordArrays(*emptied.arrays()).items()))
    assert words == Counter(dict(whole.items()))
    assert (emptied.documents, emptied.num_bytes, emptied.pretokens) == (
        whole.documents, whole.num_bytes, whole.pretokens,
    )  # fmt: skip


def test_long_source_is_emptied_while_it_is_read(kernel: Kernel) -> None:
    text = b"".join(
        b"word%d is a line\n" % number for number in range(60_000 if kernel.name == "native" else 60)
    )
    counter = new_counter(kernel, pattern="gpt4", threads=2)
    words: Counter[bytes] = Counter()
    sizes = []
    counter.begin_source("file")
    for start in range(0, len(text), 1 << 18):
        counter.feed(text[start : start + (1 << 18)])
        counter.drain()
        sizes.append(len(counter.arrays()[2]))
        words.update(dict(WordArrays(*counter.arrays()).items()))
        counter.clear_counts()
    counter.end_source()
    words.update(dict(WordArrays(*counter.arrays()).items()))
    counter.finish()
    assert words[b" line"] == words[b" is"] == text.count(b"\n")
    assert words.total() == counter.pretokens
    if kernel.name == "native":
        assert any(sizes)  # or nothing was tested


def test_words_of_one_part_do_not_collide_in_the_table(kernel: Kernel) -> None:
    """With one seed for parts and tables it took quadratic time, as the hashes of a part begin alike."""
    import time

    number = 400_000 if kernel.name == "native" else 400
    counter = counter_of(kernel, {f"{number:x}": 1 for number in range(number)})
    part = counter.arrays(0, 1)
    started = time.process_time()
    again = new_counter(kernel, pattern=None, seed=PART_SEED)
    for _ in range(8):
        again.add_arrays(*part)
    assert time.process_time() - started < 2
    assert len(again.arrays()[2]) == len(part[2])


@pytest.mark.parametrize(
    ("word", "count", "message"),
    [
        (b"", 1, "word 1 is empty"),
        (b"\xff", 1, "word 1 is not UTF-8"),
        (b"a", 0, "word 1 has a count below 1"),
    ],
)
def test_invalid_words_are_refused(kernel: Kernel, word: bytes, count: int, message: str) -> None:
    counter = new_counter(kernel, pattern=None)
    with pytest.raises(ValueError, match=message):
        counter.add_arrays(*WordArrays.of([(b"good", 1), (word, count)]))


@pytest.mark.parametrize("offsets", [[0, 3, 2], [0, 2, 9], [-1, 2, 3], [0, 3], [0]])
def test_invalid_offsets_are_refused(kernel: Kernel, offsets: list[int]) -> None:
    counter = new_counter(kernel, pattern=None)
    data, counts = np.frombuffer(b"abc", np.uint8), np.array([1, 1])
    with pytest.raises(ValueError, match=r"offset|end"):
        counter.add_arrays(data, np.array(offsets), counts)


@pytest.mark.parametrize("parts", [(3, 2), (0, 65)])
def test_invalid_part_ranges_are_refused(kernel: Kernel, parts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no such parts"):
        new_counter(kernel, pattern=None).arrays(*parts)


def test_rare_words_are_dropped() -> None:
    arrays = WordArrays.of([(b"ab", 1), (b"c", 3), (b"de", 2)])
    assert arrays.at_least(2).items() == [(b"c", 3), (b"de", 2)]
    assert arrays.at_least(1) is arrays
    assert arrays.at_least(9).items() == []


class Given:
    """Words that were counted elsewhere."""

    identify_text = memory = None
    seconds = 0.0

    def __init__(self, words: list[tuple[bytes, int]]) -> None:
        self.record = {"fingerprint": "…"}
        self.totals = WordTotals(None, 10, sum(count for _, count in words))
        self._words = words

    def arrays(self) -> Iterator[WordArrays]:
        yield WordArrays.of(self._words[:2])
        yield WordArrays.of(self._words[2:])


FOUR = [(b"ab", 1), (b"cd", 3), (b"ef", 5), (b"gh", 70)]  # each count has another bit length


def test_too_many_words_are_refused_before_merging(kernel: Kernel) -> None:
    counted = kernel.new_word_list()
    with pytest.raises(TrainingError, match=r"take 1\.3 times") as error:
        add_words(counted, Given(FOUR), progress=lambda *_: None, rooms=[merger_room(3)])
    assert str(error.value.hint).startswith("--min-count 4 ")
    with pytest.raises(TrainingError, match="take") as error:
        add_words(counted, Given(FOUR), progress=lambda *_: None, rooms=[merger_room(99), merger_room(1)])
    assert "above 64" in str(error.value.hint)
    counted = kernel.new_word_list()
    add_words(counted, Given(FOUR), progress=lambda *_: None, rooms=[merger_room(5)])
    assert (counted.items(), counted.pretokens, counted.num_bytes) == (FOUR, 79, 10)


def test_too_many_words_of_a_text_are_refused(kernel: Kernel) -> None:
    counter = counter_of(kernel, {word.decode(): count for word, count in FOUR})
    check_counted(counter, hint="--memory SIZE with ", room=merger_room(5))
    with pytest.raises(TrainingError, match=r"take 1\.3 times") as error:
        check_counted(counter, hint="--memory SIZE with ", room=merger_room(3))
    assert str(error.value.hint).startswith("--memory SIZE with --min-count 4 leaves out")


@given(counts=counted)
def test_word_list_returns_its_words(kernel: Kernel, counts: dict[str, int]) -> None:
    items = [(word.encode(), count) for word, count in counts.items()]
    words = kernel.new_word_list()
    for first in range(0, len(items), 3):
        arrays = WordArrays.of(items[first : first + 3])
        words.add_arrays(arrays.data, arrays.offsets, arrays.counts)
    words.finish()
    assert words.items() == items
    assert words.distinct_pretokens == len(items)
    assert learn(kernel, words, num_merges=20) == learn(kernel, counted_words(kernel, counts), num_merges=20)


@pytest.mark.parametrize(
    ("items", "message"), [([(b"a\xff", 1)], "not UTF-8"), ([(b"", 1)], "empty"), ([(b"a", 0)], "below 1")]
)
def test_word_list_refuses_invalid_words(
    kernel: Kernel, items: list[tuple[bytes, int]], message: str
) -> None:
    arrays = WordArrays.of(items)
    with pytest.raises(ValueError, match=message):
        kernel.new_word_list().add_arrays(arrays.data, arrays.offsets, arrays.counts)
