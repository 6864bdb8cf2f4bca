"""The engine on Dask, on this machine or on a cluster."""

from __future__ import annotations

import logging
import secrets
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from tokbench import __version__
from tokbench.distributed.tasks import Engine, Ledger, TaskContext, at_intervals, run_task
from tokbench.errors import DistributedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import distributed

    from tokbench.core.progress import Progress
    from tokbench.distributed.tasks import Finished, Slice

_SECONDS_TO_CONNECT = 15
_POLL_SECONDS = 0.1
_BETWEEN_REPORTS = 1.0
_BETWEEN_COUNTS = 5.0


class DaskEngine(Engine):
    """Runs tasks on the workers of a Dask scheduler, with one thread each.

    Dask retries a task whose worker was lost, up to three times (`distributed.scheduler.allowed-failures`).
    """

    name = "dask"

    def __init__(self, client: distributed.Client, cluster: distributed.LocalCluster | None) -> None:
        """Wrap a client, and a local cluster that is closed with this engine, if there is one."""
        self._client = client
        self._cluster = cluster
        self._address = client.scheduler.address
        for name in ("batched", "client"):  # this engine reports what they would log
            logging.getLogger(f"distributed.{name}").setLevel(logging.CRITICAL)

    @classmethod
    def at(cls, scheduler: str) -> Self:
        """Connect to a scheduler by its address, such as tcp://host:8786. Raises `DistributedError`."""
        from distributed import Client

        try:
            client = Client(scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise DistributedError(
                f"no Dask scheduler answers at {scheduler} ({error})",
                hint="`dask scheduler` starts one and prints its address",
            ) from None
        return cls(client, None)

    @classmethod
    def here(cls, *, workers: int) -> Self:
        """Start a cluster of processes on this machine."""
        from distributed import Client, LocalCluster

        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            # The scheduler serves HTTP even without a dashboard: with a fixed port, a second cluster would warn.
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,
        )
        return cls(Client(cluster, set_as_default=False), cluster)

    @property
    def workers(self) -> int:
        """The number of tasks that can run at the same time now."""
        return sum(self._client.nthreads().values())

    def run(
        self, task: str, slices: Sequence[Slice], *, phase: str, progress: Progress
    ) -> Iterator[Finished]:
        """See `Engine.run`."""
        from distributed import as_completed

        ledger = Ledger(slices, phase=phase, workers=self.workers, progress=progress)
        run = f"tokbench-{secrets.token_hex(6)}"
        messages: SimpleQueue[tuple[Any, Mapping[str, int]]] = SimpleQueue()
        self._client.subscribe_topic(run, messages.put)
        futures = {
            f"{run}-{number}": self._client.submit(
                run_slice,
                task,
                dict(work_slice.arguments),
                run,
                number,
                __version__,
                key=f"{run}-{number}",
                pure=False,
            )
            for number, work_slice in enumerate(slices)
        }
        numbers = {key: number for number, key in enumerate(futures)}
        counted = time.monotonic()
        try:
            completed = as_completed(list(futures.values()), loop=self._client.loop)
            while futures:
                for future in completed.next_batch(block=False):
                    if (
                        future.status == "lost"
                    ):  # together with the worker that held it; Dask computes it again
                        completed.add(future)
                        continue
                    finished = ledger.settle(numbers[future.key], self._outcome(future))
                    del futures[future.key]
                    if finished is not None:
                        yield finished
                while (event := _next_event(messages)) is not None:
                    ledger.tell(event["number"], event["done"])
                if time.monotonic() - counted > _BETWEEN_COUNTS:
                    counted = time.monotonic()
                    ledger.count_workers(self.workers)
                if futures:
                    time.sleep(_POLL_SECONDS)
        except BaseException:
            if self._client.status == "running":
                self._client.cancel(list(futures.values()), force=True)
            raise
        finally:
            if self._client.status == "running":
                self._client.unsubscribe_topic(run)
        ledger.raise_failures()

    def close(self) -> None:
        """Release the workers; a local cluster is stopped."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _outcome(self, future: distributed.Future) -> dict[str, Any]:
        """Return the outcome of a slice. Raises `DistributedError` if the scheduler was lost with all running work."""
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError

        try:
            error = future.exception()
            if error is None:
                outcome: dict[str, Any] = future.result()
                return outcome
        except (FutureCancelledError, CommClosedError, TimeoutError):
            raise DistributedError(
                f"the scheduler at {self._address} was lost",
                hint="start it again, then repeat the command; with --resume, finished parts are kept",
            ) from None
        if type(error).__name__ == "KilledWorker":
            return {
                "error": f"its workers were lost, {error.allowed_failures + 1} times",
                "hint": "did memory run out? give workers more, or make parts smaller",
            }
        return {
            "error": f"a worker could not run it ({type(error).__name__}: {error})",
            "hint": "is tokbench installed on the workers? pip install 'tokbench[cluster]'",
        }


def run_slice(task: str, arguments: dict[str, Any], run: str, number: int, version: str) -> dict[str, Any]:
    """Run a slice on a worker, reporting progress on a topic of the scheduler."""
    from distributed import get_worker

    def report(done: int) -> None:
        get_worker().log_event(run, {"number": number, "done": done})

    context = TaskContext(tell=at_intervals(_BETWEEN_REPORTS, report))
    return run_task(task, arguments, version=version, context=context)


def _next_event(messages: SimpleQueue[tuple[Any, Mapping[str, int]]]) -> Mapping[str, int] | None:
    try:
        return messages.get_nowait()[1]
    except Empty:
        return None
