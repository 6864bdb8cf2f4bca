"""Counting in parts despite killed processes, a lost scheduler or a full disk: no word is lost or counted twice."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.dask_clusters import PATIENCE, scheduler, wait_until
from support.folders import files_of

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from cli.conftest import Done

    Start = Callable[..., subprocess.Popen[bytes]]

pytest.importorskip("pyarrow")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes in /proc"),
]

PARTS = 40
# Python would write incomplete bytecode of its modules, without an error.
LIMITED = 'export PYTHONDONTWRITEBYTECODE=1; ulimit -f 40; exec "$@"'
WORKERS = ("--engine", "local", "--workers", "2")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 8 MB with a million words, most of which occur once or twice."""
    draw = random.Random(1)
    path = tmp_path_factory.mktemp("corpus") / "a.txt"
    letters = str.maketrans("0123456789", "ghijklmnop")
    words = (f"{draw.randrange(1 << 28):x}".translate(letters) for _ in range(1_000_000))
    path.write_text("".join(f"{word}{' ' if number % 9 else chr(10)}" for number, word in enumerate(words)))
    return path


@pytest.fixture
def command(text: Path) -> list[str]:
    """Return the arguments that count the words in parts; each test adds the output folder."""
    size = text.stat().st_size // PARTS + 1
    return ["count-words", str(text), "--documents", "lines", "--part-bytes", str(size), "--progress", "none"]


@pytest.fixture
def expected(run: Callable[..., Done], text: Path) -> dict[str, bytes]:
    """Return the files of a count by one process, which is made when the first test asks for it."""
    whole = text.parent / "whole"
    if not whole.exists():
        run("count-words", text, "--documents", "lines", "--out", whole).good()
    return files_of(whole)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for_parts(folder: Path, count: int) -> None:
    wait_until(lambda: len(list(folder.glob("parts/part-*"))) >= count)


def ended(running: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Wait for a process to end; return its exit code and its messages."""
    _, told = running.communicate(timeout=PATIENCE)
    assert b"Traceback" not in told
    return running.returncode, told.decode()


def test_killed_workers_lose_nothing(
    start: Start, command: list[str], expected: dict[str, bytes], tmp_path: Path
) -> None:
    with start(*command, "--out", "words", *WORKERS, folder=tmp_path) as running:
        for parts in (1, 6, 12):
            wait_for_parts(tmp_path / "words", parts)
            os.kill(children_of(running.pid)[0], signal.SIGKILL)  # the worker that started first
        code, told = ended(running)
    assert code == 0, told
    assert files_of(tmp_path / "words") == expected


def test_killed_run_is_resumed(
    start: Start, run: Callable[..., Done], command: list[str], expected: dict[str, bytes], tmp_path: Path
) -> None:
    with start(*command, "--out", "words", *WORKERS, folder=tmp_path) as running:
        wait_for_parts(tmp_path / "words", 5)
        workers = children_of(running.pid)
        running.kill()
        ended(running)
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
    run("train", "--counts", "words").refused(1, "an unfinished count of words", "--resume")
    run(*command, "--out", "words").refused(1, "the counts of an earlier run", "--resume continues it")
    run(*command, "--out", "words", "--resume").good()
    assert files_of(tmp_path / "words") == expected


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_ended_run_leaves_no_temporary_files(
    start: Start, command: list[str], tmp_path: Path, how: signal.Signals
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with start(
        *command, "--out", "words", *WORKERS, folder=tmp_path, env={"TMPDIR": str(temporary)}
    ) as running:
        wait_for_parts(tmp_path / "words", 3)
        assert list(temporary.iterdir())
        workers = children_of(running.pid)
        running.send_signal(how)
        code, told = ended(running)
    assert code == -how
    if how == signal.SIGTERM:
        assert told == "error: terminated\nhint:  the finished parts are kept: --resume continues with them\n"
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
    assert list(temporary.iterdir()) == []


def test_lost_scheduler_is_reported_and_the_run_resumed(
    start: Start, run: Callable[..., Done], command: list[str], expected: dict[str, bytes], tmp_path: Path
) -> None:
    with scheduler(tmp_path) as (address, process):
        at = ("--engine", "dask", "--scheduler", address)
        with start(*command, "--out", "words", *at, folder=tmp_path) as running:
            wait_for_parts(tmp_path / "words", 3)
            process.kill()
            code, told = ended(running)
    assert code == 1
    assert f"error: the scheduler at {address} was lost" in told
    assert "--resume" in told
    run(*command, "--out", "words", "--resume").good()
    assert files_of(tmp_path / "words") == expected


def test_full_disk_is_reported_and_the_run_resumed(
    process: Callable[..., Done],
    run: Callable[..., Done],
    command: list[str],
    expected: dict[str, bytes],
    tmp_path: Path,
) -> None:
    full = process(*command, "--out", "words", *WORKERS, through=LIMITED)
    full.refused(1, f"{PARTS} of {PARTS} parts failed", "counted words were not written", "TMPDIR")
    assert list(files_of(tmp_path / "words")) == ["plan.json"]
    run(*command, "--out", "words", "--resume").good()
    assert files_of(tmp_path / "words") == expected


def test_concurrent_run_into_the_same_folder_is_refused(
    start: Start, run: Callable[..., Done], command: list[str], expected: dict[str, bytes], tmp_path: Path
) -> None:
    with start(*command, "--out", "words", *WORKERS, folder=tmp_path) as running:
        wait_for_parts(tmp_path / "words", 1)
        for more in ([], ["--resume"], ["--force"]):
            run(*command, "--out", "words", *more).refused(1, "another run")
        assert ended(running)[0] == 0
    assert files_of(tmp_path / "words") == expected


def test_text_that_changes_meanwhile_is_refused(
    start: Start, text: Path, command: list[str], tmp_path: Path
) -> None:
    own = tmp_path / "a.txt"
    own.write_bytes(text.read_bytes())
    command[1] = str(own)
    with start(*command, "--out", "words", *WORKERS, folder=tmp_path) as running:
        wait_for_parts(tmp_path / "words", 2)
        with own.open("a") as file:
            file.write("more\n")
        code, told = ended(running)
    assert code == 1
    assert "has changed since" in told
    assert not (tmp_path / "words" / "words.json").exists()
