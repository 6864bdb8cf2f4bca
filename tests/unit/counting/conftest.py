"""Fixtures of the tests of counting: texts with words to count."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tokbench.files.bundled import corpora_directory

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    """Write two files of 300 kB in total, one of text and one of records."""
    folder = corpora_directory() / "parallel"
    lines = [line for path in sorted(folder.rglob("*.txt"))[:12] for line in path.read_text().splitlines()]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    return [tmp_path / "a.txt", tmp_path / "b.jsonl"]
