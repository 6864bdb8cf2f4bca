"""Ray's workers, on this machine or on a cluster."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from tokbench import __version__
from tokbench.core.python_processes import module_environment
from tokbench.distributed.engines.closed_on_exit import ClosedOnExit
from tokbench.distributed.outcomes import Ledger, run_task
from tokbench.errors import DistributedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.progress import Progress
    from tokbench.distributed.tasks import Finished, Slice

_SECONDS_TO_WAIT = 1.0
_MORE_ATTEMPTS = 2


class RayEngine(ClosedOnExit):
    """Runs tasks on the workers of a Ray cluster, one processor each.

    Ray runs a task again where its worker was lost, up to three times. A process has one connection to Ray, so only
    one such engine can be open.
    """

    name = "ray"

    @classmethod
    def at(cls, scheduler: str) -> Self:
        """The engine of a cluster by its address, as host:6379, or "auto". Raises `DistributedError`."""
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
        """The engine of processes that it starts on this machine."""
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
        """How many tasks run at a time, now."""
        import ray

        return int(ray.cluster_resources().get("CPU", 0))

    def run(
        self, task: str, slices: Sequence[Slice], *, phase: str, progress: Progress
    ) -> Iterator[Finished]:
        """See `Engine.run`."""
        import ray

        ledger = Ledger(slices, phase=phase, workers=self.workers, progress=progress)
        remote = ray.remote(num_cpus=1, max_retries=_MORE_ATTEMPTS)(run_task)
        running = {
            remote.remote(task, dict(one.arguments), version=__version__): number
            for number, one in enumerate(slices)
        }
        try:
            while running:
                ready, _ = ray.wait(list(running), timeout=_SECONDS_TO_WAIT)
                for reference in ready:
                    finished = ledger.settle(running.pop(reference), _outcome(reference))
                    if finished is not None:
                        yield finished
                if not ready:
                    ledger.count_workers(self.workers)
        except BaseException:
            for reference in running:
                ray.cancel(reference, force=True)
            raise
        ledger.raise_failures()

    def close(self) -> None:
        """Let the workers go; those that were started here end."""
        import ray

        ray.shutdown()


def _connect(**options: Any) -> None:
    """Ray sends figures of its use to its makers unless it is told not to."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault(
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"
    )  # what later versions do; silences a warning
    import ray

    ray.init(log_to_driver=False, logging_level="CRITICAL", **options)


def _outcome(reference: Any) -> dict[str, Any]:
    import ray

    try:
        outcome: dict[str, Any] = ray.get(reference)
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
        return {
            "error": f"its workers were lost, {_MORE_ATTEMPTS + 1} times",
            "hint": "was there memory enough? give workers more, or make parts smaller",
        }
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[-1]
        return {
            "error": f"a worker could not run it ({reason})",
            "hint": "is tokbench installed where the workers are? pip install 'tokbench[ray]'",
        }
    return outcome
