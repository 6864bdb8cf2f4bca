"""Fixtures: a small corpus and a function that writes its shards."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from support.sharded import TEXTS, tokenizer

import tokbench

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokbench.shards.reading import Shards


@pytest.fixture
def corpus(tmp_path: Path) -> tokbench.Corpus:
    """A corpus of the texts in files of three kinds."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text("\n".join(TEXTS[:3]) + "\n", encoding="utf-8")
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS[3:6])
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "c.txt").write_text("\n\n\r\n" + "\r\n".join(TEXTS[6:]), encoding="utf-8")
    return tokbench.open_corpus(folder, documents="lines")


@pytest.fixture
def write(corpus: tokbench.Corpus, tmp_path: Path) -> Callable[..., Shards]:
    def write(**options: Any) -> Shards:
        return tokbench.write_shards(tokenizer(), corpus, tmp_path / "shards", **options)

    return write
