"""Outcomes of tasks as data, which workers send and the caller turns into results or errors."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tokbench import __version__
from tokbench.core.wording import counted
from tokbench.distributed.tasks import MAX_RESULT_BYTES, Finished, TaskContext
from tokbench.errors import DistributedError, TokbenchError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.distributed.tasks import Slice, Task

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
        named = [
            f"{self._slices[number].name}: {self._failures[number][0]}" for number in sorted(self._failures)
        ]
        hints = [self._failures[number][1] for number in sorted(self._failures)]
        if len(self._slices) == 1:
            raise DistributedError(named[0], hint=hints[0])
        more = [f"… and {len(named) - _MOST_NAMED} more"] if len(named) > _MOST_NAMED else []
        lines = "\n  ".join([*named[:_MOST_NAMED], *more])
        raise DistributedError(
            f"{len(named)} of {counted(len(self._slices), 'part')} failed, the others are finished:\n  {lines}",
            hint=next((hint for hint in hints if hint), None),
        )

    def _count(self, number: int, done: int) -> None:
        done = min(max(done, 0), self._slices[number].size)
        self._sum += done - self._done.get(number, 0)
        self._done[number] = done
        self._report()

    def _report(self) -> None:
        phase = f"{self._phase} on {counted(self._workers, 'worker')}"
        self._progress(phase, self._sum, self._total, self._unit)
