"""Opening of engines by name, and the engine that runs slices in the calling process."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, get_args

from tokbench.core.wording import meant
from tokbench.distributed.tasks import Engine, Ledger, TaskContext, run_task
from tokbench.errors import BackendUnavailableError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.progress import Progress
    from tokbench.distributed.tasks import Finished, Slice

EngineName = Literal["local", "dask", "ray"]

_EXTRAS = {"dask": ("distributed", "cluster"), "ray": ("ray", "ray")}


def open_engine(name: str = "local", *, workers: int | None = None, scheduler: str | None = None) -> Engine:
    """Open an engine, for use in a `with` statement.

    Args:
        name: "local" for local processes, "dask" or "ray".
        workers: the number of processes to start on this machine, by default one for each processor; None for a
            running cluster, which has its own.
        scheduler: the address of a running cluster, such as "tcp://host:8786"; None starts one on this machine.

    Raises:
        ConfigError: the engine is unknown, or options contradict each other.
        BackendUnavailableError: its library is not installed.
        DistributedError: the cluster cannot be reached.

    >>> open_engine("local", workers=3).workers
    3
    """
    if name not in get_args(EngineName):
        raise ConfigError(f"unknown engine {name!r}", hint=meant(name, get_args(EngineName)))
    if workers is not None and workers < 1:
        raise ConfigError("--workers must be at least 1")
    if scheduler is not None and workers is not None:
        raise ConfigError(
            "--workers are started here, and --scheduler names a cluster that has its own",
            hint="give one of them",
        )
    if name == "local" and scheduler is not None:
        raise ConfigError("--scheduler names a cluster", hint="choose the engine dask or ray")
    processors = usable_processors()
    started = workers or processors
    if name == "local":
        from tokbench.distributed.engines.local import LocalEngine

        return LocalEngine(workers=started, threads=max(1, processors // started))
    _require(name)
    if name == "dask":
        from tokbench.distributed.engines.dask import DaskEngine

        return DaskEngine.at(scheduler) if scheduler is not None else DaskEngine.here(workers=started)
    from tokbench.distributed.engines.ray import RayEngine

    return RayEngine.at(scheduler) if scheduler is not None else RayEngine.here(workers=started)


def _require(name: str) -> None:
    library, extra = _EXTRAS[name]
    if find_spec(library) is None:
        raise BackendUnavailableError(
            f"the engine {name} needs the package {library}", hint=f"pip install 'tokbench[{extra}]'"
        )


def usable_processors() -> int:
    """Return the number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


class InProcessEngine(Engine):
    """Runs tasks in this process; Ctrl-C interrupts the current one."""

    name = "in-process"
    workers = 1
    is_in_process = True

    def __init__(self, *, threads: int) -> None:
        """Set the number of threads that each task may use."""
        self._threads = threads

    def run(
        self, task: str, slices: Sequence[Slice], *, phase: str, progress: Progress
    ) -> Iterator[Finished]:
        """See `Engine.run`."""
        ledger = Ledger(slices, phase=phase, workers=1, progress=progress)
        for number, work_slice in enumerate(slices):

            def tell(done: int, number: int = number) -> None:
                ledger.tell(number, done)

            finished = ledger.settle(
                number, run_task(task, work_slice.arguments, context=TaskContext(self._threads, tell))
            )
            if finished is not None:
                yield finished
        ledger.raise_failures()

    def close(self) -> None:
        """Do nothing, as there are no workers."""
