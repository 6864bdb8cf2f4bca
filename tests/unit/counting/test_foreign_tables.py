"""Words as Spark, DuckDB and others write them: column types, row groups, files in addition, and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tokbench.errors import ModelFormatError
from tokbench.workbench.count_words import training_words

if TYPE_CHECKING:
    from pathlib import Path

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = [(b" the", 3), (b"cat", 1), (b" the", 4), (b"\xe2\x82\xac\n", 300)]
SUMS = [(b" the", 7), (b"cat", 1), (b"\xe2\x82\xac\n", 300)]
WORDS, COUNTS = [word for word, _ in ROWS], [count for _, count in ROWS]


def read(path: Path) -> list[tuple[bytes, int]]:
    return [item for arrays in training_words(str(path)).arrays() for item in arrays.items()]


def written(folder: Path, words: Any, counts: Any) -> Path:
    table = pyarrow.table({"other": counts, "count": counts, "pretoken": words})
    parquet.write_table(table, folder / "part-0.snappy.parquet", row_group_size=3)
    return folder


@pytest.mark.parametrize("kind", ["int16", "uint32", "int64", "uint64", "float", "double", "decimal"])
def test_count_types_of_other_programs_are_read(tmp_path: Path, kind: str) -> None:
    counted = pyarrow.decimal128(38, 2) if kind == "decimal" else kind
    assert read(written(tmp_path, WORDS, pyarrow.array(COUNTS, "int64").cast(counted))) == SUMS


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary"])
@pytest.mark.parametrize("is_dictionary", [False, True])
def test_word_types_of_other_programs_are_read(tmp_path: Path, kind: str, is_dictionary: bool) -> None:
    words = pyarrow.array([word.decode() for word in WORDS]).cast(kind)
    words = words.dictionary_encode() if is_dictionary else words
    assert read(written(tmp_path, words, COUNTS)) == SUMS


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([3.0, 1.5, 1.0, 1.0], "whole numbers as counts, found"),
        ([3.0, float("nan"), 1.0, 1.0], "whole numbers as counts, found"),
        ([2.0**60, 1.0, 1.0, 1.0], "at most 2.53 as double"),
        (["3", "1", "4", "1"], "whole numbers as counts, found string"),
        ([3, None, 4, 1], "a word and a count in each row, found null"),
        ([3, 0, 4, 1], "word 1 has a count below 1"),
        ([3, -1, 4, 1], "word 1 has a count below 1"),
    ],
)
def test_invalid_counts_are_refused(tmp_path: Path, counts: list[Any], message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        read(written(tmp_path, WORDS, counts))


def test_marker_files_and_partition_folders_are_handled(tmp_path: Path) -> None:
    """A Spark job leaves marker files and checksums, and a folder for each value of a column."""
    (tmp_path / "lang=de").mkdir()
    written(tmp_path / "lang=de", WORDS, COUNTS)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "lang=de" / ".part-0.snappy.parquet.crc").write_bytes(b"crc")
    assert read(tmp_path) == SUMS


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("titles", [b"", b"pretoken\tcount"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_tab_separated_lines_are_read(tmp_path: Path, end: bytes, titles: bytes, mark: bytes) -> None:
    lines = [titles] * bool(titles) + [b"%s\t%d" % row for row in ROWS[:3]]
    (tmp_path / "words.tsv").write_bytes(mark + b"".join(line + end for line in lines))
    assert read(tmp_path / "words.tsv") == SUMS[:2]


@pytest.mark.parametrize("count", [b"0", b"00", b"", b"-1", b"1.5", b"9" * 19, b"9" * 5000, "٣".encode()])
def test_line_with_an_invalid_count_is_refused(tmp_path: Path, count: bytes) -> None:
    (tmp_path / "words.tsv").write_bytes(b"a\t00000000000000000000000012\nb\t" + count + b"\n")
    with pytest.raises(ModelFormatError, match=r"words.tsv, line 2.*a word, a tab and a count"):
        read(tmp_path / "words.tsv")


def test_a_line_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_bytes(b"a\t1\nb\xe9\t2\n")
    with pytest.raises(ModelFormatError, match=r"words.tsv, line 2: expected UTF-8, found 0xE9 at byte 1"):
        read(tmp_path / "words.tsv")
