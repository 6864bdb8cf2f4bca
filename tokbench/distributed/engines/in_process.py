"""The engine in the calling process: runs slices one after another, each on all threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.distributed.outcomes import Ledger, run_task
from tokbench.distributed.tasks import ClosedOnExit, TaskContext

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.progress import Progress
    from tokbench.distributed.tasks import Finished, Slice


class InProcessEngine(ClosedOnExit):
    """Runs tasks in this process; Ctrl-C interrupts the current one."""

    name = "in-process"
    workers = 1

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
