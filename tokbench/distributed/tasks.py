"""What an engine is, and what it is given: a task, and slices to run it on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from tokbench.core.progress import Progress

MAX_RESULT_BYTES = 1024
"""Of a task's result as JSON: results pass through the scheduler, and what is large belongs in a file."""


@dataclass(frozen=True, slots=True)
class Slice:
    """What one run of a task works on.

    Attributes:
        name: what messages call it, as "part 3 of 8 (data/a.txt)".
        arguments: of the task, as JSON has them.
        size: how much work it is, for progress; in bytes where those are known.
    """

    name: str
    arguments: Mapping[str, Any]
    size: int = 1


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What a task is given besides its arguments; none of it may change its result.

    Attributes:
        threads: how many it may use.
        tell: to be called with how much of the slice's size is done, as often as one likes.
    """

    threads: int = 1
    tell: Callable[[int], None] = lambda _: None


Task = Callable[[dict[str, Any], TaskContext], dict[str, Any]]
"""Its arguments and its result are JSON; what the user must know it raises as a `TokbenchError`."""


class Finished(NamedTuple):
    """A slice that is done: its number among those that were given, and what the task returned."""

    number: int
    result: dict[str, Any]


class Engine(Protocol):
    """Runs a task on slices, somewhere.

    Attributes:
        name: as --engine has it.
        workers: how many slices it runs at a time, as far as it knows.
    """

    name: str

    @property
    def workers(self) -> int: ...  # noqa: D102 - above

    def run(
        self, task: str, slices: Sequence[Slice], *, phase: str, progress: Progress
    ) -> Iterator[Finished]:
        """Run a task on each slice, and give what is finished: in any order, each at least once.

        Args:
            task: "package.module:function" of a `Task` that the workers can import.
            slices: what to run it on.
            phase: what progress calls the work.
            progress: called with how much of the sizes of all slices is done.

        Raises:
            DistributedError: slices failed, which the message names with their errors, after all others are
                finished; or the engine itself was lost.
        """

    def close(self) -> None:
        """Stop what runs and release the workers."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...


def results_in_order(
    engine: Engine, task: str, slices: Sequence[Slice], *, phase: str, progress: Progress
) -> list[dict[str, Any]]:
    """What a task returns for each slice, in the order of the slices. Raises `DistributedError`, as `Engine.run`.

    Usage:

        with open_engine("local", workers=2) as engine:
            counts = results_in_order(engine, "my.module:count", slices, phase="counting", progress=no_progress)
    """
    results: dict[int, dict[str, Any]] = {}
    for number, result in engine.run(task, slices, phase=phase, progress=progress):
        results.setdefault(number, result)
    return [results[number] for number in range(len(slices))]


class ClosedOnExit(ABC):
    """Closes itself at the end of a `with` statement, however that ends."""

    @abstractmethod
    def close(self) -> None:
        """Stop what runs and release the workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
