"""A corpus, and runs over it that were interrupted."""

from __future__ import annotations

import json
import random
import shutil
from typing import TYPE_CHECKING

import pytest
from support.killed_runs import KILLED, run_until_killed, write

import tokbench

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a corpus of several files, a tokenizer, and the shards of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("resume")
    (folder / "corpus").mkdir()
    source = random.Random(5)
    for number in range(4):
        lines = ["wörd " * source.randrange(60) + str(source.random()) for _ in range(25)]
        name = folder / "corpus" / f"{number}{'.jsonl' if number == 2 else '.txt'}"
        if number == 2:
            lines = [json.dumps({"text": line}) for line in lines]
        name.write_text("\n".join([*lines, ""]), encoding="utf-8")
    (folder / "corpus" / "4.txt").write_bytes(b"bad \xe9\n" * 3)
    (folder / "corpus" / "5.txt").write_text("\n\n", encoding="utf-8")
    trained = tokbench.train(["wörd 0.123 " * 20], vocab_size=270, special_tokens=["<|endoftext|>"])
    trained.save(folder / "tokenizer")
    write(folder)
    (folder / "shards").rename(folder / "whole")
    return folder


@pytest.fixture
def folder(place: Path) -> Path:
    """Return the same folder without the shards of an earlier test."""
    shutil.rmtree(place / "shards", ignore_errors=True)
    return place


@pytest.fixture
def interrupted(folder: Path) -> Path:
    assert run_until_killed(folder, 14) == KILLED
    return folder


@pytest.fixture
def halfway(folder: Path) -> Path:
    """Start a run that dies after four shards are complete."""
    assert run_until_killed(folder, 40) == KILLED
    assert (folder / "shards" / "shard-00003.npy").exists()
    return folder
