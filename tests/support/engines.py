"""An engine for tests that treats tasks as badly as the contract allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.distributed.tasks import Engine, Ledger, run_task
from tokbench.files.storage.open import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.progress import Progress
    from tokbench.distributed.tasks import Finished, Slice


class HereEngine(Engine):
    """Run tasks in this process, in reverse order, and each of them twice; the first `breaking` slices fail."""

    name = "here"
    workers = 1
    is_in_process = True

    def __init__(self, *, breaking: int = 0) -> None:
        self._breaking = breaking

    def run(
        self, task: str, slices: Sequence[Slice], *, phase: str, progress: Progress
    ) -> Iterator[Finished]:
        ledger = Ledger(slices, phase=phase, workers=1, progress=progress)
        for number in reversed(range(len(slices))):
            outcome: dict[str, Any] = {"error": "the worker was lost", "hint": None}
            if self._breaking:
                self._breaking -= 1
            else:
                outcome = run_task(task, slices[number].arguments)
                assert run_task(task, slices[number].arguments) == outcome
            if (finished := ledger.settle(number, outcome)) is not None:
                yield finished
        ledger.raise_failures()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class ElsewhereEngine(HereEngine):
    """An engine of other processes, which never gets a task."""

    is_in_process = False

    def run(self, *arguments: Any, **named: Any) -> Iterator[Finished]:
        """Fail: the work should have been refused."""
        raise AssertionError("a task was started")


def in_memory(folder: str) -> str:
    """Write a corpus of one file to the memory of this process, and return its URL."""
    place = place_of(f"memory://{folder}/corpus")
    (place / "a.txt").write(b"some words\n")
    return str(place)
