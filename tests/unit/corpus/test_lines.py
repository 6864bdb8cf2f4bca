"""The identity of a text's lines: the same whatever documents they are in."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from support.toys import documents_of

from tokbench.corpus import open_corpus
from tokbench.corpus.fingerprint import Lines, Smallest, line_overlap, share_of
from tokbench.evaluation.corpus_scan import CorpusScan
from tokbench.evaluation.holdout import Documents

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tokbench.core.documents import LineIdentity

HARD = "one\r\n\n  two words é\t\n\u3000\n\u00a0 \n\x1c\nthree\u00a0\n\n\nfour 漢字\n \nthe end, without a line end"


def identity(*texts: str) -> LineIdentity:
    counting = Lines()
    for text in texts:
        counting.update(text)
    return counting.identity()


def numbered(numbers: Iterable[int]) -> str:
    return "".join(f"the line of number {number:06}\n" for number in numbers)


@pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
@pytest.mark.parametrize("errors", ["strict", "replace", "skip"])
def test_identity_of_lines_does_not_depend_on_the_documents(tmp_path: Path, unit: str, errors: str) -> None:
    (tmp_path / "a.txt").write_bytes(HARD.encode())
    (tmp_path / "b.txt").write_bytes(numbered(range(50)).encode())
    corpus = open_corpus(tmp_path, documents=unit, errors=errors)  # type: ignore[arg-type]
    expected = identity(numbered(reversed(range(50))), HARD)
    assert corpus.identity().lines == expected
    assert CorpusScan(Documents(corpus)).lines_read == expected


@pytest.mark.parametrize("first", ["lines", "notes", "notes, then lines"])
def test_lines_are_noted_in_the_same_reading_or_a_second_one(first: str) -> None:
    documents = documents_of(HARD, numbered(range(9)))
    reading = CorpusScan(documents if first != "lines" else iter(documents))
    if "notes" in first:
        _ = reading.identity
    if "lines" in first:
        reading.note_lines()
    list(reading)
    assert reading.lines_read == reading.lines_read == identity(HARD, numbered(range(9)))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_identity_of_lines_does_not_depend_on_block_boundaries(size: int) -> None:
    data = HARD.encode()
    counting = Lines()
    blocks = [data[start : start + size] for start in range(0, len(data), size)]
    assert b"".join(counting.watch_blocks(blocks)) == data
    assert counting.identity() == identity(HARD)


@pytest.mark.parametrize("other", ["one\ntwo\n", "one\ntow\nsix", "one\ntwo\nsix\nsix", "one two\nsix", ""])
def test_different_lines_have_another_identity(other: str) -> None:
    assert identity(other) != identity("one\ntwo\nsix")


def test_line_overlap_of_small_texts_is_exact() -> None:
    trained = identity(numbered(range(1000)))
    assert line_overlap(trained, identity(numbered(range(900, 1100)))) == 0.5
    assert line_overlap(trained, identity(numbered(range(5)))) == 1
    assert line_overlap(trained, identity(numbered(range(2000, 2100)))) == 0
    assert line_overlap(trained, identity("}\n" * 9)) is None


def test_line_overlap_of_large_texts_is_an_estimate() -> None:
    trained = identity(numbered(range(40_000)))
    assert len(trained.sample) == 4096
    assert line_overlap(trained, identity(numbered(range(30_000, 50_000)))) == pytest.approx(0.5, abs=0.05)
    assert line_overlap(trained, identity(numbered(range(50_000, 50_020)))) is None  # about two hashes


def test_smallest_values_are_kept() -> None:
    draw = Random(0)
    values = [draw.randrange(1000) for _ in range(3000)]
    for most in (1, 10, 999, 5000):
        kept = Smallest(most)
        for value in values:
            kept.add(value)
        assert kept.values() == sorted({*values})[:most]


def test_share_of_samples_is_computed() -> None:
    assert share_of(["1", "2", "9"], ["2", "3"], most=2) == 0.5  # nothing is known of 9
    assert share_of(["1", "2", "9"], ["2", "3"], most=3) == 1 / 3
    assert share_of(["1", "2", "9"], ["2", "3"], most=2, fewest=3) is None
    assert share_of([], ["2", "3"], most=2) is None
