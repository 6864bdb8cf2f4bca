"""The local engine: whatever happens to its processes, each slice is done once, or named with its error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.distributed_runs import SQUARES, files, run, slices

from tokbench.core.module_process import module_environment
from tokbench.core.progress import no_progress
from tokbench.distributed.engines.open import open_engine
from tokbench.distributed.tasks import Slice
from tokbench.errors import ConfigError, DistributedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.distributed.tasks import Engine

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")

FIRST_WAIT = 60.0


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with open_engine("local", workers=2) as engine:
        yield engine


def wait_until(path: Path) -> None:
    until = time.monotonic() + FIRST_WAIT
    while not path.exists() or not path.read_text():
        assert time.monotonic() < until, f"{path.name} never came"
        time.sleep(0.02)


def test_each_slice_is_done_once(engine: Engine, tmp_path: Path) -> None:
    assert [result["square"] for result in run(engine, "square", tmp_path)] == [0, 1, 4, 9, 16, 25]
    assert files(tmp_path) == SQUARES
    assert sorted((tmp_path / "runs").read_text().split()) == list("012345")


def test_processors_are_divided_among_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokbench.distributed.engines.open import usable_processors

    for set_by_user, workers, threads in ((None, 1, usable_processors()), (None, 1000, 1), ("7", 1000, 1)):
        monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
        if set_by_user is not None:
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", set_by_user)
        with open_engine("local", workers=workers) as engine:
            told = run(engine, "square", tmp_path, count=1)[0]
        assert (told["threads"], told["of_numpy"]) == (threads, set_by_user or str(threads))


def test_no_slices_give_no_results(engine: Engine, tmp_path: Path) -> None:
    assert run(engine, "square", tmp_path, count=0) == []


def test_progress_covers_all_slices(engine: Engine, tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None, str]] = []
    sized = [Slice(part.name, part.arguments, size=10) for part in slices(tmp_path)]
    list(
        engine.run(
            "support.distributed_tasks:square",
            sized,
            phase="counting",
            progress=lambda *report: told.append(report),
        )
    )
    assert told[0] == ("counting on 2 workers", 0, 60, "bytes")
    assert told[-1] == ("counting on 2 workers", 60, 60, "bytes")
    assert [report[1] for report in told] == sorted(report[1] for report in told)


def test_killed_worker_is_replaced(engine: Engine, tmp_path: Path) -> None:
    squares = [result["square"] for result in run(engine, "square_or_die_once", tmp_path)]
    assert squares == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "died").exists()
    assert files(tmp_path) == SQUARES


def test_slice_that_kills_its_workers_is_named(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(DistributedError) as failed:
        run(engine, "die_on_three", tmp_path)
    assert failed.value.message == (
        "1 of 6 parts failed, the others are finished:\n  part 3 of 6: its worker ended by signal 9, 3 times"
    )
    assert failed.value.hint == "did memory run out? run fewer --workers, or smaller parts"
    assert files(tmp_path).keys() == SQUARES.keys() - {"3.txt"}


def test_failed_slices_are_named_after_the_others_have_finished(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(DistributedError) as failed:
        run(engine, "fail_on_odd", tmp_path, count=9)
    assert failed.value.message == (
        "4 of 9 parts failed, the others are finished:\n"
        "  part 1 of 9: 1.txt: not UTF-8\n"
        "  part 3 of 9: 3.txt: not UTF-8\n"
        "  part 5 of 9: 5.txt: not UTF-8\n"
        "  … and 1 more"
    )
    assert failed.value.hint == "write it again"
    assert sorted(files(tmp_path)) == ["0.txt", "2.txt", "4.txt", "6.txt", "8.txt"]


def test_different_hints_are_shown_with_their_slices(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(DistributedError) as failed:
        run(engine, "fail_in_three_ways", tmp_path, count=4)
    assert failed.value.message == (
        "3 of 4 parts failed, the others are finished:\n"
        "  part 1 of 4: 1.txt: not UTF-8\n"
        "    hint: write it again\n"
        "  part 2 of 4: 2.txt: truncated\n"
        "    hint: load it again\n"
        "  part 3 of 4: 3.txt: gone"
    )
    assert failed.value.hint is None


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("raise_error", "part 0 of 1: ZeroDivisionError: a mistake of ours"),
        (
            "return_2012_bytes",
            "part 0 of 1: support.distributed_tasks:return_2012_bytes returned 2012 bytes, and 1024",
        ),
        ("no_such_task", "part 0 of 1: AttributeError: .*no_such_task"),
        ("write_large_file", "part 0 of 1: .*0.txt was not written: File too large; nothing was changed"),
    ],
)
def test_exception_in_a_task_is_reported(engine: Engine, tmp_path: Path, task: str, message: str) -> None:
    with pytest.raises(DistributedError, match=message):
        run(engine, task, tmp_path, count=1)
    assert list(tmp_path.iterdir()) == []


def test_output_printed_by_a_task_is_not_taken_for_results(engine: Engine, tmp_path: Path) -> None:
    assert run(engine, "print_large_output", tmp_path, count=1)[0]["square"] == 0


def test_engine_is_reusable_after_an_abandoned_run(tmp_path: Path) -> None:
    with open_engine("local", workers=1) as engine:
        running = engine.run(
            "support.distributed_tasks:square", slices(tmp_path), phase="x", progress=no_progress
        )
        next(running)
        running.close()
        # The engine still works afterwards.
        assert len(run(engine, "square", tmp_path)) == 6


PROGRAM = """
import sys
from pathlib import Path
from tokbench.core.progress import no_progress
from tokbench.distributed.engines.open import open_engine
from tokbench.distributed.tasks import Slice, results_in_order

with open_engine("local", workers=1) as engine:
    slices = [Slice("one", {"folder": sys.argv[1]})]
    results_in_order(engine, "support.distributed_tasks:sleep", slices, phase="x", progress=no_progress)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent_process(
    tmp_path: Path, ctrl_c_works: None, how: signal.Signals
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", PROGRAM, str(tmp_path)],
        env=module_environment() | {"TMPDIR": str(temporary)},
        stderr=subprocess.DEVNULL,
    )
    wait_until(tmp_path / "pid")
    worker = int((tmp_path / "pid").read_text())
    process.send_signal(how)
    process.wait(FIRST_WAIT)
    until = time.monotonic() + FIRST_WAIT
    while _runs(worker):
        assert time.monotonic() < until, "the worker still runs"
        time.sleep(0.05)
    assert not (tmp_path / "half").exists()
    assert list(temporary.iterdir()) == []


def test_temporary_files_of_a_killed_worker_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with open_engine("local", workers=1) as engine:
        assert len(run(engine, "die_once_with_temporary_files", tmp_path)) == 6
        assert (tmp_path / "died").read_text().startswith(str(temporary))
        assert len(list(temporary.rglob("*.part"))) == 1
    assert list(temporary.iterdir()) == []


def test_worker_that_is_terminated_twice_cleans_up(tmp_path: Path) -> None:
    """As by a cluster, which ends all processes of a job, and by the command, which then ends its workers."""
    with (
        open_engine("local", workers=1) as engine,
        pytest.raises(DistributedError, match="its worker ended with exit code 1, 3 times"),
    ):
        run(engine, "end_while_it_ends", tmp_path, count=1)
    assert list(tmp_path.iterdir()) == []


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{process}/stat") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "dusk"}, "unknown engine 'dusk'"),
        ({"workers": 0}, "--workers must be at least 1"),
        ({"scheduler": "tcp://here:1"}, "--scheduler names a cluster"),
        ({"name": "dask", "workers": 1, "scheduler": "tcp://here:1"}, "--workers are started here"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_engine(**options)
