"""The engine on Ray, on this machine or on a cluster."""

from __future__ import annotations

import os
import socket
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from tokbench import __version__
from tokbench.core.module_process import module_environment
from tokbench.distributed.tasks import Engine, Ledger, TaskContext, at_intervals, run_task
from tokbench.errors import DistributedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.progress import Progress
    from tokbench.distributed.tasks import Finished, Slice

_SECONDS_TO_WAIT = 1.0
_BETWEEN_REPORTS = 1.0
_SECONDS_TO_ANSWER = 2.0
_SECONDS_TO_RETURN = 15.0
"""How long the head may be unreachable. Ray itself ends this process silently after 60 seconds."""

_MORE_ATTEMPTS = 2


class RayEngine(Engine):
    """Runs tasks on the workers of a Ray cluster, with one processor each.

    Ray retries a task whose worker was lost, up to three times. A process has one connection to Ray, so only one such
    engine can be open.
    """

    name = "ray"

    def __init__(self) -> None:
        """Use the existing connection."""
        import ray

        self._head = ray.get_runtime_context().gcs_address
        self._is_watched = _answers(self._head)

    @classmethod
    def at(cls, scheduler: str) -> Self:
        """Connect to a cluster by its address, such as host:6379, or "auto". Raises `DistributedError`."""
        try:
            _connect(address=scheduler)
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = str(error).partition("\n")[0]
            raise DistributedError(
                f"no Ray cluster answers at {scheduler} ({reason})",
                hint="`ray start --head` starts one and prints its address",
            ) from None
        return cls()

    @classmethod
    def here(cls, *, workers: int) -> Self:
        """Start processes on this machine."""
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = module_environment()["PYTHONPATH"]  # workers inherit it
        try:
            _connect(address="local", num_cpus=workers, include_dashboard=False)
        finally:
            if before is None:
                del os.environ["PYTHONPATH"]
            else:
                os.environ["PYTHONPATH"] = before
        return cls()

    @property
    def workers(self) -> int:
        """The number of tasks that can run at the same time now."""
        import ray

        return int(ray.cluster_resources().get("CPU", 0))

    def run(
        self, task: str, slices: Sequence[Slice], *, phase: str, progress: Progress
    ) -> Iterator[Finished]:
        """See `Engine.run`."""
        import ray

        ledger = Ledger(slices, phase=phase, workers=self.workers, progress=progress)
        board = ray.remote(num_cpus=0, max_restarts=-1)(Board).remote()
        remote = ray.remote(num_cpus=1, max_retries=_MORE_ATTEMPTS)(run_slice)
        running = {
            remote.remote(task, dict(work_slice.arguments), board, number, __version__): number
            for number, work_slice in enumerate(slices)
        }
        reply = board.take.remote()
        try:
            while running:
                ready, _ = ray.wait(list(running), timeout=_SECONDS_TO_WAIT)
                for reference in ready:
                    finished = ledger.settle(running.pop(reference), _outcome(reference))
                    if finished is not None:
                        yield finished
                if not ready:
                    self._check_head()
                    ledger.count_workers(self.workers)
                if ray.wait([reply], timeout=0)[0]:
                    for number, done in _board_reply(reply).items():
                        ledger.tell(number, done)
                    reply = board.take.remote()
        except DistributedError:  # the head is lost, and all running work with it
            raise
        except BaseException:
            for reference in running:
                ray.cancel(reference, force=True)
            raise
        ledger.raise_failures()

    def close(self) -> None:
        """Release the workers; local ones are stopped."""
        import ray

        ray.shutdown()

    def _check_head(self) -> None:
        """Raise `DistributedError` if the head does not answer for some time, as all running work is lost with it."""
        until = time.monotonic() + _SECONDS_TO_RETURN
        while self._is_watched and not _answers(self._head):
            if time.monotonic() > until:
                raise DistributedError(
                    f"the head of the Ray cluster at {self._head} was lost",
                    hint="start it again, then repeat the command; with --resume, finished parts are kept",
                )
            time.sleep(_SECONDS_TO_WAIT)


class Board:
    """The progress of slices as reported by their workers; an actor of the cluster."""

    def __init__(self) -> None:
        """Start without reports."""
        self._done: dict[int, int] = {}

    def tell(self, number: int, done: int) -> None:
        """Record the progress of a slice."""
        self._done[number] = done

    def take(self) -> dict[int, int]:
        """Return the progress reported since the last call."""
        done, self._done = self._done, {}
        return done


def run_slice(task: str, arguments: dict[str, Any], board: Any, number: int, version: str) -> dict[str, Any]:
    """Run a slice on a worker, reporting progress to the board."""
    context = TaskContext(tell=at_intervals(_BETWEEN_REPORTS, partial(board.tell.remote, number)))
    return run_task(task, arguments, version=version, context=context)


def _board_reply(reply: Any) -> dict[int, int]:
    """Return the board's reply; empty if the board was lost."""
    import ray

    try:
        done: dict[int, int] = ray.get(reply)
    except ray.exceptions.RayError:
        return {}
    return done


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_ANSWER).close()
    except (OSError, ValueError):
        return False
    return True


def _connect(**options: Any) -> None:
    """Connect to Ray, with usage reports to its makers disabled by default."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault(
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"
    )  # the default of later versions; silences a warning
    import ray

    ray.init(log_to_driver=False, logging_level="CRITICAL", **options)


def _outcome(reference: Any) -> dict[str, Any]:
    import ray

    try:
        outcome: dict[str, Any] = ray.get(reference)
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
        return {
            "error": f"its workers were lost, {_MORE_ATTEMPTS + 1} times",
            "hint": "did memory run out? give workers more, or make parts smaller",
        }
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[-1]
        return {
            "error": f"a worker could not run it ({reason})",
            "hint": "is tokbench installed on the workers? pip install 'tokbench[ray]'",
        }
    return outcome
