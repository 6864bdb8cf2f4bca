"""A corpus in parts has the documents and the words of the whole, wherever its files are cut."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokbench.backends.bpe.config import BpeConfig
from tokbench.backends.bpe.counting import PretokenCounting
from tokbench.core.counted_words import WordArrays
from tokbench.core.progress import no_progress
from tokbench.corpus import open_corpus
from tokbench.counting.part_task import _num_continued, make_plan
from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.corpus import Corpus

SPECIAL_TOKENS = ("<e>", "x\ny", "end\n")

# Letters, marks, digits, line ends and white space of several kinds; BOMs, and characters like line ends.
fragments = st.sampled_from(
    [
        "a", "b", "Wort", "日本", "é", "e\u0301", "1", "'s", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "\u2028",
        "\u3000", "\ufeff", "\u0301", "¿", ".", "\n\n\n", "\x1c", *SPECIAL_TOKENS,
    ]
)  # fmt: skip
some_text = st.lists(fragments, max_size=30).map("".join)


def counted(corpus: Corpus, counting: PretokenCounting) -> tuple[Counter[bytes], int, int]:
    """Return the words of a corpus, and the number of its documents and of their bytes."""
    counter = counting.new_counter(threads=1, seed=0)
    try:
        counting.count(counter, corpus, progress=no_progress)
    except CorpusError as error:
        assert "no text" in error.message
        counter.finish()
    words = Counter(dict(WordArrays(*counter.arrays()).items()))
    return words, counter.documents - _num_continued(corpus), counter.num_bytes


def check_parts(
    corpus: Corpus, *, part_bytes: int, pattern: str = "gpt4", special: tuple[str, ...] = ()
) -> int:
    """Compare the parts of a corpus with the whole; return the number of parts."""
    counting = PretokenCounting(BpeConfig(pattern=pattern, special_tokens=special))
    plan = make_plan(
        corpus, backend="bpe", options={}, cuts_at_lines=counting.cuts_at_lines, part_bytes=part_bytes
    )
    words: Counter[bytes] = Counter()
    documents = num_bytes = 0
    for part in range(len(plan.parts)):
        part_counts = counted(plan.corpus(part), counting)
        words += part_counts[0]
        documents += part_counts[1]
        num_bytes += part_counts[2]
    assert (words, documents, num_bytes) == counted(corpus, counting)
    return len(plan.parts)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(some_text, min_size=1, max_size=3),
    unit=st.sampled_from(["file", "lines", "paragraphs"]),
    pattern=st.sampled_from(["gpt2", "gpt4", "gpt4o", "qwen2", "code", "none", r"\w+|\W+"]),
    special=st.sets(st.sampled_from(SPECIAL_TOKENS)).map(sorted).map(tuple),
    part_bytes=st.integers(1, 40),
)
def test_text_in_parts_equals_the_whole(
    tmp_path: Path, *, texts: list[str], unit: Any, pattern: str, special: tuple[str, ...], part_bytes: int
) -> None:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_bytes(text.encode())
    paths = [tmp_path / f"{number}.txt" for number in range(len(texts))]
    check_parts(open_corpus(*paths, documents=unit), part_bytes=part_bytes, pattern=pattern, special=special)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(some_text, max_size=8), part_bytes=st.integers(1, 200))
def test_records_in_parts_equal_the_whole(tmp_path: Path, texts: list[str], part_bytes: int) -> None:
    lines = [json.dumps({"text": text}, ensure_ascii=False) for text in texts]
    (tmp_path / "a.jsonl").write_bytes("\n".join([*lines, ""]).encode())
    check_parts(open_corpus(tmp_path / "a.jsonl"), part_bytes=part_bytes)


def test_row_groups_in_parts_equal_the_whole(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"text": [f"row {number} of some " for number in range(100)]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=9)
    corpus = open_corpus(tmp_path / "a.parquet")
    for part_bytes in (100, 500, 10_000):
        parts = check_parts(corpus, part_bytes=part_bytes)
    assert parts == 1


def test_line_longer_than_the_search_block_is_split(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a " * 1_500_000 + "\n" + "b" * 20 + "\nc\n")
    corpus = open_corpus(tmp_path / "a.txt")
    assert check_parts(corpus, part_bytes=1_000_000) == 4
    (tmp_path / "b.txt").write_text(("a" * ((1 << 20) - 5) + "\nb\n") * 3)
    check_parts(open_corpus(tmp_path / "b.txt", documents="lines"), part_bytes=(1 << 20) - 3)


@pytest.mark.parametrize("pattern", ["qwen2", "gpt4"])
def test_document_spanning_several_parts_is_counted_once(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n" * 99)
    assert check_parts(open_corpus(tmp_path / "a.txt"), part_bytes=80, pattern=pattern) == 10


def test_unsplittable_files_are_one_part(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"one\ntwo\n" * 99))
    (tmp_path / "b.txt").write_bytes(b"one\ntwo\n" * 99)
    assert check_parts(open_corpus(tmp_path / "a.txt.gz"), part_bytes=10) == 1
    assert check_parts(open_corpus(tmp_path / "b.txt"), part_bytes=80, pattern="none") == 1
    assert check_parts(open_corpus(tmp_path / "b.txt"), part_bytes=80, pattern=r"\w+|\W+") == 1
    assert check_parts(open_corpus(tmp_path / "b.txt", errors="skip"), part_bytes=80) == 1
    assert check_parts(open_corpus(tmp_path / "b.txt"), part_bytes=80) == 10
    assert check_parts(open_corpus(tmp_path / "b.txt"), part_bytes=80, special=("e\nt",)) == 1
    assert check_parts(open_corpus(tmp_path / "b.txt"), part_bytes=80, special=("one\n",)) == 10


@given(sizes=st.lists(st.integers(0, 50), min_size=1, max_size=8), part_bytes=st.integers(1, 60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_byte_is_in_one_part_of_bounded_size(tmp_path: Path, sizes: list[int], part_bytes: int) -> None:
    paths = [tmp_path / f"{number}.jsonl" for number in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(b" " * size)
    plan = make_plan(
        open_corpus(*paths), backend="bpe", options={}, cuts_at_lines=True, part_bytes=part_bytes
    )
    places = [span for part in plan.parts for span in part]
    for one, following in pairwise(places):
        assert (following.file, following.start) in ((one.file, one.stop), (one.file + 1, 0))
    assert [place.file for place in places if place.start == 0] == list(range(len(sizes)))
    assert all(
        one.stop == sizes[one.file]
        for one, after in pairwise([*places, None])
        if after is None or after.start == 0
    )  # type: ignore[union-attr]
    assert max(plan.size_of(part) for part in range(len(plan.parts))) <= part_bytes


def test_errors_name_the_offset_in_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good line\n" * 9 + b"bad \xff line\n")
    plan = make_plan(
        open_corpus(tmp_path / "a.txt", documents="lines"),
        backend="bpe",
        options={},
        cuts_at_lines=True,
        part_bytes=50,
    )
    counting = PretokenCounting(BpeConfig())
    with pytest.raises(CorpusError, match=r"a\.txt, bytes 50 to 100.*at byte 94 "):
        counting.count(counting.new_counter(threads=1, seed=0), plan.corpus(1), progress=no_progress)
