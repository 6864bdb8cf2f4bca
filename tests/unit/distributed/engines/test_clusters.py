"""Dask and Ray: their results equal the local engine's to the byte, whatever happens to their workers.

What runs on a cluster is tested here, and not with the commands, as a cluster takes long to start.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from support import evaluation_parts, shard_parts, sharded
from support.dask_clusters import PATIENCE, scheduler, wait_until
from support.distributed_runs import SQUARES, files, run, slices

from tokbench.core.progress import no_progress
from tokbench.distributed.engines.open import open_engine
from tokbench.distributed.tasks import Slice
from tokbench.errors import BackendUnavailableError, DistributedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.distributed.tasks import Engine

_LIBRARIES = {"dask": "distributed", "ray": "ray"}


@pytest.fixture(scope="module", params=["dask", "ray"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    library = _LIBRARIES[request.param]
    pytest.importorskip(library, reason=f"the package {library} is not installed")
    with open_engine(request.param, workers=2) as engine:
        yield engine


@pytest.mark.slow
@pytest.mark.parametrize("task", ["square", "square_or_die_once"])
def test_each_slice_is_done_despite_killed_workers(engine: Engine, tmp_path: Path, task: str) -> None:
    assert [result["square"] for result in run(engine, task, tmp_path)] == [0, 1, 4, 9, 16, 25]
    assert files(tmp_path) == SQUARES
    assert (tmp_path / "died").exists() == (task == "square_or_die_once")


@pytest.mark.slow
def test_corpus_is_evaluated_with_the_same_figures(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    case = evaluation_parts.case_in(tmp_path, evaluation_parts.saved_in(tmp_path / "saved"))
    assert case.figures(case.work(engine=engine, part_bytes=1_000)) == case.figures()


@pytest.mark.slow
def test_shards_are_written_with_the_same_bytes(engine: Engine, tmp_path: Path) -> None:
    sharded.tokenizer().save(tmp_path / "saved")
    case = shard_parts.case_in(tmp_path, str(tmp_path / "saved"))
    case.write("wanted")
    case.write(engine=engine)
    assert case.bytes_of("out") == case.bytes_of("wanted")


@pytest.mark.slow
def test_progress_covers_all_slices(engine: Engine, tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None, str]] = []
    sized = [Slice(part.name, part.arguments, size=10) for part in slices(tmp_path)]
    task = "support.distributed_tasks:square"
    list(engine.run(task, sized, phase="counting", progress=lambda *report: told.append(report)))
    assert told[0][1:] == (0, 60, "bytes")
    assert told[-1][1:] == (60, 60, "bytes")
    assert re.fullmatch(r"counting on \d workers?", told[0][0])  # one may just be restarting


@pytest.mark.slow
def test_progress_is_reported_during_a_slice(engine: Engine, tmp_path: Path) -> None:
    told: list[int] = []

    def progress(phase: str, done: int, total: int | None, unit: str) -> None:
        told.append(done)
        if done == 5:
            (tmp_path / "heard").touch()

    task = "support.distributed_tasks:report_and_wait"
    one = Slice("part 1 of 1", slices(tmp_path)[0].arguments, size=10)
    list(engine.run(task, [one], phase="counting", progress=progress))
    assert sorted({*told}) == [0, 5, 10]


@pytest.mark.slow
def test_failed_slices_are_named_after_the_others_have_finished(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(DistributedError) as failed:
        run(engine, "fail_on_odd", tmp_path)
    assert failed.value.message == (
        "3 of 6 parts failed, the others are finished:\n"
        "  part 1 of 6: 1.txt: not UTF-8\n"
        "  part 3 of 6: 3.txt: not UTF-8\n"
        "  part 5 of 6: 5.txt: not UTF-8"
    )
    assert failed.value.hint == "write it again"
    assert sorted(files(tmp_path)) == ["0.txt", "2.txt", "4.txt"]


@pytest.mark.slow
def test_slice_that_kills_its_workers_is_named(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(DistributedError, match=r"part 3 of 6: its workers were lost, \d times"):
        run(engine, "die_on_three", tmp_path)
    assert "3.txt" not in files(tmp_path)


@pytest.mark.slow
def test_engine_is_reusable_after_an_abandoned_run(engine: Engine, tmp_path: Path) -> None:
    running = engine.run(
        "support.distributed_tasks:square", slices(tmp_path), phase="x", progress=no_progress
    )
    next(running)
    running.close()
    assert len(run(engine, "square", tmp_path)) == 6


class Beside(Thread):
    """A run on another thread, so that the test can do something to its workers meanwhile."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        super().__init__(daemon=True)
        self._arguments = engine, "wait_for", folder
        self._pid = folder / "pid-0"
        self._pid.unlink(missing_ok=True)
        self.results: list[dict[str, Any]] | None = None
        self.error: DistributedError | None = None
        self.start()

    def run(self) -> None:
        try:
            self.results = run(*self._arguments)
        except DistributedError as error:
            self.error = error

    def process(self) -> int:
        """Return the id of the process that works on slice 0, once it runs."""
        wait_until(lambda: self._pid.exists() and self._pid.read_text())
        return int(self._pid.read_text())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_lost_worker_is_survived_and_lost_scheduler_reported(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with scheduler(tmp_path) as (address, process), open_engine("dask", scheduler=address) as engine:
        wait_until(lambda: engine.workers == 2)
        beside = Beside(engine, folder)
        os.kill(beside.process(), signal.SIGKILL)
        (folder / "go").touch()
        beside.join(PATIENCE)
        assert beside.results is not None
        assert files(folder) == SQUARES

        (folder / "go").unlink()
        beside = Beside(engine, folder)
        beside.process()
        process.kill()
        beside.join(PATIENCE)
        assert beside.error is not None
        assert beside.error.message == f"the scheduler at {address} was lost"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "address"), [("dask", "tcp://127.0.0.1:9"), ("dask", "nonsense://x"), ("ray", "127.0.0.1:9")]
)
def test_unreachable_cluster_is_reported(name: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(_LIBRARIES[name])
    monkeypatch.setattr("tokbench.distributed.engines.dask._SECONDS_TO_CONNECT", 1)
    with pytest.raises(DistributedError, match=f"no (Dask scheduler|Ray cluster) answers at {address}"):
        open_engine(name, scheduler=address)


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_missing_package_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokbench.distributed.engines.open.find_spec", lambda library: None)
    with pytest.raises(BackendUnavailableError, match=f"the engine {name} needs the package") as missing:
        open_engine(name)
    assert missing.value.hint in ("pip install 'tokbench[cluster]'", "pip install 'tokbench[ray]'")
