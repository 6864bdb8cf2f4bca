"""How far long work is: a bar on stderr, JSON lines on stderr, or nothing."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from tokbench.interfaces import no_progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.interfaces import Progress

ProgressChoice = Literal["bar", "json", "none"]

_SECONDS_BETWEEN_LINES = 0.5


@contextmanager
def showing_progress(choice: ProgressChoice) -> Iterator[Progress]:
    """What long work reports to, for the length of a `with` block; a bar is shown on a terminal only."""
    if choice == "json":
        yield _JsonProgress()
    elif choice == "bar" and sys.stderr.isatty():
        with _bar() as bar:
            yield bar
    else:
        yield no_progress


class _JsonProgress:
    def __init__(self) -> None:
        self._phase = ""
        self._last = 0.0

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        import orjson

        now = time.monotonic()
        if phase == self._phase and now - self._last < _SECONDS_BETWEEN_LINES and done != total:
            return
        self._phase, self._last = phase, now
        record = {"schema": "tokbench.progress/1", "phase": phase, "done": done, "total": total, "unit": unit}
        print(orjson.dumps(record).decode(), file=sys.stderr, flush=True)


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from tokbench.render.console import make_console

    columns = (
        TextColumn("{task.description:<9}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[shown]}"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=make_console(stderr=True), transient=True) as rich_progress:
        yield _BarProgress(rich_progress)


class _BarProgress:
    """One bar a phase; the rate is that of the phase so far."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task: Any = None
        self._phase = ""
        self._started = 0.0

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        if phase != self._phase:
            if self._task is not None:
                self._progress.update(self._task, visible=False)
            self._phase, self._started = phase, time.monotonic()
            self._task = self._progress.add_task(phase, total=total, shown="")
        rate = done / max(time.monotonic() - self._started, 1e-3)
        self._progress.update(self._task, completed=done, total=total, shown=_shown(done, total, unit, rate))


def _shown(done: int, total: int | None, unit: str, rate: float) -> str:
    if unit in ("bytes", "characters"):
        of = f" of {total / 1e6:,.1f}" if total else ""
        return f"{done / 1e6:,.1f}{of} MB  {rate / 1e6:,.0f} MB/s"
    if total:
        return f"{done:,} of {total:,} {unit}"
    return ""
