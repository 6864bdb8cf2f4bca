"""The interface of engines, and what they run: tasks on slices."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.progress import Progress

MAX_RESULT_BYTES = 1024
"""The most bytes of a task's result as JSON: results pass through the scheduler, and large data belongs in a file."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The input of one run of a task.

    Attributes:
        name: its name in messages, such as "part 3 of 8 (data/a.txt)".
        arguments: the arguments of the task, as JSON.
        size: the amount of work, for progress; in bytes if known.
    """

    name: str
    arguments: Mapping[str, Any]
    size: int = 1


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The environment of a task; it must not influence the result.

    Attributes:
        threads: the number of threads that the task may use.
        tell: reports how much of the slice's size is done; may be called at any rate.
    """

    threads: int = 1
    tell: Callable[[int], None] = lambda _: None


Task = Callable[[dict[str, Any], TaskContext], dict[str, Any]]
"""Arguments and result are JSON; errors that the user must see are raised as `TokbenchError`."""


class Finished(NamedTuple):
    """A finished slice: its index among the given ones, and the task's result."""

    number: int
    result: dict[str, Any]


class Engine(Protocol):
    """Runs a task on slices; at the end of a `with` block, also after an exception, it is closed.

    Attributes:
        name: its name in --engine.
        workers: the number of slices that run at the same time, as far as it is known.
    """

    name: str

    @property
    def workers(self) -> int: ...  # noqa: D102 - above

    @abstractmethod
    def run(
        self, task: str, slices: Sequence[Slice], *, phase: str, progress: Progress
    ) -> Iterator[Finished]:
        """Run a task on each slice, and yield finished slices in any order, each at least once.

        Args:
            task: "package.module:function" of a `Task` that the workers can import.
            slices: the slices to run it on.
            phase: the name of the phase in progress reports.
            progress: called with how much of the total size of the slices is done.

        Raises:
            DistributedError: slices failed (the message names them with their errors, after all others have finished),
                or the engine was lost.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop running tasks and release the workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def at_intervals(seconds: float, report: Callable[[int], None]) -> Callable[[int], None]:
    """Return a function that reports progress as often as once in `seconds`, and otherwise does nothing."""
    reported_at = time.monotonic()

    def tell(done: int) -> None:
        nonlocal reported_at
        if time.monotonic() - reported_at >= seconds:
            reported_at = time.monotonic()
            report(done)

    return tell


def results_in_order(
    engine: Engine, task: str, slices: Sequence[Slice], *, phase: str, progress: Progress
) -> list[dict[str, Any]]:
    """Return a task's results for all slices, in their order. Raises `DistributedError`, as `Engine.run`.

    Usage:

        with open_engine("local", workers=2) as engine:
            counts = results_in_order(engine, "my.module:count", slices, phase="counting", progress=no_progress)
    """
    results: dict[int, dict[str, Any]] = {}
    for number, result in engine.run(task, slices, phase=phase, progress=progress):
        results.setdefault(number, result)
    return [results[number] for number in range(len(slices))]
