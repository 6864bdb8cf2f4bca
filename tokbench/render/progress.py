"""Progress of long work: a bar on stderr, JSON lines on stderr, or nothing."""

from __future__ import annotations

import math
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from tokbench.core.progress import no_progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.core.progress import Progress

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
    bar = _BarProgress()
    try:
        yield bar
    finally:
        bar.close()


class _BarProgress:
    """One bar per phase, from the first report on; the rate is that of the phase so far."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._task: Any = None
        self._phase = ""
        self._started = self._reported = time.monotonic()

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        now = time.monotonic()
        is_new = phase != self._phase
        if is_new:
            # What is done already has been done since the phase before was last heard of.
            self._phase, self._started = phase, self._reported if done else now
        self._reported = now
        figures = {
            "completed": _effort(done, unit),
            "total": None if total is None else _effort(total, unit),
            "share": "" if not total else f"{min(_effort(done, unit) / _effort(total, unit), 1):.0%}",
            "shown": _shown(done, total, unit, seconds=max(now - self._started, 1e-3)),
        }
        if is_new:
            self._begin(figures)
        else:
            self._progress.update(self._task, **figures)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _begin(self, figures: dict[str, Any]) -> None:
        if self._progress is None:
            self._progress = _rich_progress()
            self._progress.start()
        if self._task is not None:
            self._progress.update(self._task, visible=False)
        self._task = self._progress.add_task(self._phase, **figures)


def _rich_progress() -> Any:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from tokbench.render.console import make_console

    return Progress(
        TextColumn("{task.description:<9}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[share]:>4}"),
        TextColumn("{task.fields[shown]}"),
        TimeRemainingColumn(compact=True),
        console=make_console(stderr=True),
        transient=True,
        redirect_stdout=False,
    )


def _effort(number: int, unit: str) -> float:
    """How much work a number of units is, as the bar and the time left show it.

    The pairs that are merged first are the most frequent ones: merge n takes about 1/n of the
    time of the first, so that n of them take about log n.

    >>> _effort(1000, "bytes"), round(_effort(1000, "merges") / _effort(100_000, "merges"), 1)
    (1000, 0.6)
    """
    return math.log1p(number) if unit == "merges" else number


def _shown(done: int, total: int | None, unit: str, *, seconds: float) -> str:
    """The figures beside the bar.

    >>> _shown(25_000_000, 50_000_000, "bytes", seconds=0.25)
    '25.0 of 50.0 MB  100 MB/s'
    >>> _shown(300, 7_744, "merges", seconds=15.0)
    'merge 300 of 7,744'
    """
    from tokbench.render.amounts import amount, rate

    if unit in ("bytes", "characters"):
        fast = rate(done, seconds, digits=0)
        return "  ".join(filter(None, (amount(done, of=total or None), fast))) if done else ""
    if unit == "merges" and total:
        return f"merge {done:,} of {total:,}"
    if total:
        return f"{done:,} of {total:,} {unit}"
    return ""
