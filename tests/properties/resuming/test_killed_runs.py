"""A killed run continues to exactly the bytes of an uninterrupted one, wherever it was killed."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from bisect import bisect_left
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.folders import files_of
from support.killed_runs import KILLED, corpus_of, environment, run_until_killed, tokenizer_of, write

import tokbench
from tokbench.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path


def test_corpus_fills_several_shards(place: Path) -> None:
    index = tokbench.open_shards(place / "whole").index
    assert len(index.shards) > 6
    assert [file.replaced_bytes for file in index.files] == [0, 0, 0, 0, 3, 0]


@pytest.mark.slow
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moments=st.lists(st.integers(1, 60), min_size=1, max_size=3), how=st.sampled_from(["before", "after"]))
def test_run_killed_at_any_step_resumes_to_the_same_bytes(folder: Path, moments: list[int], how: str) -> None:
    shutil.rmtree(folder / "shards", ignore_errors=True)
    for moment in moments:
        run_until_killed(folder, moment, how)
    write(folder, resume=True)
    assert files_of(folder / "shards") == files_of(folder / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("moment", [1, 2, 4, 7, 9])
def test_run_killed_in_the_second_shard_resumes_to_the_same_bytes(folder: Path, moment: int) -> None:
    assert run_until_killed(folder, 4 + moment) == KILLED
    with pytest.raises(StoreError, match="no finished shards"):
        tokbench.open_shards(folder / "shards")
    with pytest.raises(StoreError, match="interrupted"):
        write(folder)
    write(folder, resume=True)
    assert files_of(folder / "shards") == files_of(folder / "whole")
    assert tokbench.verify_shards(
        folder / "shards", tokenizer=tokenizer_of(folder), corpus=corpus_of(folder)
    ).passed


@pytest.mark.slow
def test_command_killed_at_random_resumes_to_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    """Kills a real command by a signal, again and again until it completes."""
    source = random.Random(11)
    (tmp_path / "corpus").mkdir()
    for number in range(6):
        lines = [str(source.random()) * source.randrange(1, 9) for _ in range(40_000)]
        (tmp_path / "corpus" / f"{number}.txt").write_text("\n".join(lines), encoding="utf-8")
    arguments = ["shards", "write", "corpus", "-t", str(folder / "tokenizer"), "--documents", "lines"]
    options = ["--append-eos", "--shard-tokens", "400000"]

    def run(out: str, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tokbench", *arguments, *options, "--out", out, *more]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=tmp_path, env=environment(), **pipes)  # type: ignore[call-overload,no-any-return]

    started = time.monotonic()
    with run("whole") as running:
        assert running.wait() == 0
    seconds = time.monotonic() - started
    for attempt in range(40):
        with run("shards", "--resume") as running:
            patience = None if attempt == 39 else source.uniform(0.3, 1.1) * seconds
            try:
                _, told = running.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                running.kill()
                continue
        assert running.returncode == 0, told.decode()
        break
    assert files_of(tmp_path / "shards") == files_of(tmp_path / "whole")


@pytest.mark.slow
def test_run_killed_while_writing_the_index_resumes_to_the_same_bytes(folder: Path) -> None:
    last = bisect_left(range(99), 1, key=lambda moment: restart_until_killed(folder, moment) != KILLED) - 1
    assert any(is_killed_while_writing_index(folder, moment) for moment in range(last, last - 9, -1))
    write(folder, resume=True)
    assert files_of(folder / "shards") == files_of(folder / "whole")


def restart_until_killed(folder: Path, moment: int) -> int:
    shutil.rmtree(folder / "shards", ignore_errors=True)
    return run_until_killed(folder, moment, "before")


def is_killed_while_writing_index(folder: Path, moment: int) -> bool:
    assert restart_until_killed(folder, moment) == KILLED
    return bool(list((folder / "shards").glob(".index.json.tmp-*")))
