"""The interface of engines, what they run, tasks on slices, and the outcomes of tasks as data, which workers send."""

from __future__ import annotations

import json
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from tokbench import __version__
from tokbench.core.wording import counted
from tokbench.errors import DistributedError, TokbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.progress import Progress


MAX_RESULT_BYTES = 1024
"""The most bytes of a task's result as JSON: results pass through the scheduler, and large data belongs in a file."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The input of one run of a task.

    Attributes:
        name: its name in messages, such as "part 3 of 8".
        arguments: the arguments of the task, as JSON.
        size: the amount of work, for progress; in bytes if known.
        contents: what it consists of, in messages, such as "data/a.txt and 2 more".
        files: the names of its files in errors of reading them.
    """

    name: str
    arguments: Mapping[str, Any]
    size: int = 1
    contents: str = ""
    files: Sequence[str] = ()

    def failure(self, message: str) -> str:
        """Return an error of the task with the name of the slice, and its contents unless the error names a file.

        >>> Slice("part 3 of 8", {}, contents="a.txt", files=["a.txt"]).failure("a.txt: not UTF-8")
        'part 3 of 8: a.txt: not UTF-8'
        """
        named = tuple(f"{file}{end}" for file in self.files for end in ":, ")
        contents = f" ({self.contents})" if self.contents and not message.startswith(named) else ""
        return f"{self.name}{contents}: {message}"


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
        is_in_process: whether tasks run in the calling process, and so share its memory.
    """

    name: str
    is_in_process: bool = False

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


_MOST_NAMED = 3
_MOST_CHARACTERS = 600


def run_task(
    task: str, arguments: Mapping[str, Any], *, version: str = __version__, context: TaskContext | None = None
) -> dict[str, Any]:
    """Run a task; exceptions become data, so that no engine has to transfer an exception.

    Args:
        task: "package.module:function".
        arguments: the arguments of the task.
        version: the caller's version of tokbench; another version might write other bytes.
        context: the task's context.

    Returns:
        {"result": …}, or {"error": message, "hint": what to do or None}.
    """
    if version != __version__:
        return _failed(
            f"the worker has tokbench {__version__}, but the command runs {version}",
            "install the same version on both",
        )
    try:
        result = _function(task)(dict(arguments), context or TaskContext())
        size = len(json.dumps(result))
    except TokbenchError as error:
        return _failed(error.message, error.hint)
    except MemoryError:
        return _failed("there was not enough memory", "run fewer --workers, or smaller parts")
    except Exception as error:
        return _failed(f"{type(error).__name__}: {error}", None)
    if size > MAX_RESULT_BYTES:
        return _failed(f"{task} returned {size} bytes, and {MAX_RESULT_BYTES} is the most", None)
    return {"result": result}


def _function(task: str) -> Task:
    module, _, name = task.partition(":")
    function: Task = getattr(import_module(module), name)
    return function


def _failed(message: str, hint: str | None) -> dict[str, Any]:
    return {"error": message[:_MOST_CHARACTERS], "hint": hint}


class Ledger:
    """The finished and failed slices of a run, for any engine."""

    def __init__(self, slices: Sequence[Slice], *, phase: str, workers: int, progress: Progress) -> None:
        """Start the ledger; `workers` is the number that progress reports, see `Engine.run` for the rest."""
        self._slices = slices
        self._progress = progress
        self._phase = phase
        self._workers = workers
        self._total = sum(work_slice.size for work_slice in slices)
        self._unit = "parts" if self._total == len(slices) else "bytes"
        self._done: dict[int, int] = {}
        self._sum = 0
        self._settled: set[int] = set()
        self._failures: dict[int, tuple[str, str | None]] = {}
        self._report()

    def count_workers(self, workers: int) -> None:
        """Update the number of workers."""
        self._workers = workers
        self._report()

    def tell(self, number: int, done: int) -> None:
        """Update the progress of a slice; a slice that runs again, after its worker was lost, starts over."""
        if number not in self._settled:
            self._count(number, done)

    def settle(self, number: int, outcome: Mapping[str, Any]) -> Finished | None:
        """Record the outcome of a slice; return its result, or None if it failed or was settled before."""
        if number in self._settled:
            return None
        self._settled.add(number)
        self._count(number, self._slices[number].size)
        if "error" in outcome:
            self._failures[number] = str(outcome["error"]), outcome["hint"]
            return None
        return Finished(number, outcome["result"])

    def raise_failures(self) -> None:
        """Raise `DistributedError` if slices failed; all others are finished."""
        if not self._failures:
            return
        failures = [
            (self._slices[number].failure(message), hint)
            for number, (message, hint) in sorted(self._failures.items())
        ]
        if len(self._slices) == 1:
            message, hint = failures[0]
            raise DistributedError(message, hint=hint)
        named = failures[:_MOST_NAMED]
        hints = {hint for _, hint in named if hint}
        lines = []
        for message, hint in named:
            lines += [message, f"  hint: {hint}"] if hint and len(hints) > 1 else [message]
        if more := len(failures) - len(named):
            lines.append(f"… and {more} more")
        some = f"{len(failures)} of {counted(len(self._slices), 'part')} failed"
        others = ", the others are finished" if len(failures) < len(self._slices) else ""
        raise DistributedError(
            "\n  ".join([f"{some}{others}:", *lines]),
            hint=hints.pop() if len(hints) == 1 else None,
        )

    def _count(self, number: int, done: int) -> None:
        done = min(max(done, 0), self._slices[number].size)
        self._sum += done - self._done.get(number, 0)
        self._done[number] = done
        self._report()

    def _report(self) -> None:
        phase = f"{self._phase} on {counted(self._workers, 'worker')}"
        self._progress(phase, self._sum, self._total, self._unit)
