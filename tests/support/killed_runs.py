"""Runs that write shards and are killed midway."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tokbench

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer

KILLED = 137
DIES = """if True:
    # Write shards, and die when the disk has been asked for something for the n-th time.
    import os, sys
    import tokbench
    from tokbench.shards import run

    folder, moment, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    run._BATCH_CHARACTERS = 500
    calls = 0

    def counted(function):
        def call(*arguments, **options):
            global calls
            calls += 1
            if calls == moment and how == "before":
                os._exit(137)
            result = function(*arguments, **options)
            if calls == moment:
                os._exit(137)
            return result
        return call

    from pathlib import Path
    os.fsync = counted(os.fsync)
    for name in ("replace", "unlink", "mkdir"):
        setattr(Path, name, counted(getattr(Path, name)))
    run.ShardFile.add = counted(run.ShardFile.add)
    tokenizer = tokbench.load(f"{folder}/tokenizer")
    corpus = tokbench.open_corpus(f"{folder}/corpus", documents="lines", errors="replace")
    resume = os.path.exists(f"{folder}/shards")
    tokbench.write_shards(
        tokenizer, corpus, f"{folder}/shards", eos=True, shard_tokens=700, resume=resume, threads=1
    )
"""


def corpus_of(folder: Path, **options: Any) -> tokbench.Corpus:
    settings: dict[str, Any] = {"documents": "lines", "errors": "replace", **options}
    return tokbench.open_corpus(folder / "corpus", **settings)


def tokenizer_of(folder: Path) -> Tokenizer:
    return tokbench.load(folder / "tokenizer")


def write(folder: Path, **options: Any) -> Any:
    settings = {"eos": True, "shard_tokens": 700, **options}
    return tokbench.write_shards(tokenizer_of(folder), corpus_of(folder), folder / "shards", **settings)


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(tokbench.__file__).parents[1])}


def run_until_killed(folder: Path, moment: int, how: str = "after") -> int:
    command = [sys.executable, "-W", "error", "-c", DIES, str(folder), str(moment), how]
    done = subprocess.run(command, env=environment(), capture_output=True, check=False, timeout=120)
    assert done.returncode in (0, KILLED), done.stderr.decode()
    return done.returncode
