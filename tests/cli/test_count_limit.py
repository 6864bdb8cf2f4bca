"""`count --limit`: whether texts are within the limit, by how much, and that no more is read than needed to know."""

from __future__ import annotations

import gzip
import itertools
from typing import TYPE_CHECKING, Any

import pytest

import tokbench
from tokbench.corpus.inputs import TextBlocks
from tokbench.workbench.limit import compare_with_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Done


def test_texts_within_and_beyond_the_limit_are_reported(
    run: Callable[..., Done], trained: Path, tmp_path: Path
) -> None:
    text = "one two three four five\n"
    tokens = len(tokbench.load(trained).encode(text))
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(text.encode()))
    for limit, code in ((tokens - 1, 3), (tokens, 0), (tokens + 5, 0)):
        done = run("count", "-t", trained, "a.txt", "b.txt.gz", "--limit", str(limit), "--json")
        assert done.code == code
        assert done.json["within"] == (code == 0)
        for entry in done.json["texts"]:
            assert (entry["tokens"], entry["exact"], entry["over"]) == (tokens, True, tokens - limit)
    assert "1 over the limit of" in run("count", "-t", trained, "a.txt", "--limit", str(tokens - 1)).stdout
    assert (
        "5 below the limit of"
        in run("count", "-t", trained, "-", "--limit", str(tokens + 5), stdin=text.encode()).stdout
    )
    assert "exactly the limit" in run("count", "-t", trained, "a.txt", "--limit", str(tokens)).stdout
    rows = run("count", "-t", trained, "a.txt", "--limit", str(tokens), "--csv").stdout.splitlines()
    assert rows[1].split(",")[1:5] == ["a.txt", str(tokens), str(tokens), "True"]


def test_records_of_a_file_count_together(run: Callable[..., Done], trained: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "one two"}\n{"text": "three"}\n')
    total = run("count", "-t", trained, "rows.jsonl", "--json").json["total"]["tokens"]
    assert (
        run("count", "-t", trained, "rows.jsonl", "--limit", "99", "--json").json["texts"][0]["tokens"]
        == total
    )


@pytest.mark.parametrize("block", ["some words of a stream ", "x" * 5_000_000, "東"])
def test_reading_stops_once_the_limit_is_exceeded(block: str) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        for _ in itertools.count():
            read += len(block)
            yield block

    tokenizers = [tokbench.load("default"), tokbench.train([], backend="byte")]
    result = compare_with_limit(tokenizers, [TextBlocks("endless", endless(), is_joined=True)], limit=100)
    assert not result.is_within
    assert all(not text.is_exact and text.tokens > 1000 for text in result.texts)
    assert all(text.num_bytes < 300_000 for text in result.texts)
    assert read < max(300_000, 2 * len(block))
    apart = compare_with_limit(tokenizers[:1], [TextBlocks("records", endless(), is_joined=False)], limit=100)
    assert not apart.is_within


def test_encoded_characters_are_linear_in_the_text() -> None:
    tokenizer, encoded = tokbench.train([], backend="byte"), 0
    encode = tokenizer.encode

    def counted(text: str, **options: Any) -> list[int]:
        nonlocal encoded
        encoded += len(text)
        return encode(text, **options)[: len(text) // 100]  # few tokens, so that the limit is far away

    tokenizer.encode = counted
    blocks = ["x" * 1000] * 400
    compare_with_limit([tokenizer], [TextBlocks("long", iter(blocks), is_joined=True)], limit=10_000)
    assert encoded < 4 * 400_000


def test_per_line_with_a_limit_is_refused(run: Callable[..., Done]) -> None:
    run("count", "--limit", "5", "--per-line", "a text").refused(2, "--per-line cannot be used with --limit")
    run("count", "--limit", "-5", "a text").refused(2, "at least 1")
