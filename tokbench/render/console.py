"""Consoles that print text literally, JSON on stdout, and progress on stderr."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Literal

from tokbench.core.progress import no_progress
from tokbench.core.result_json import json_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from tokbench.core.progress import Progress

ColorChoice = Literal["auto", "always", "never"]

_WIDTH_OF_FILES = 160
"""Default width if the output is not a terminal and COLUMNS is not set: tables in files should not wrap at 80."""
_MIN_WIDTH = 20
"""Minimum width in columns; some terminals report a width of 0."""

ProgressChoice = Literal["bar", "json", "none"]

_WRITTEN_AT_ONCE = 1 << 16
"""Bytes of JSON that are collected before they are written."""
_SECONDS_BETWEEN_LINES = 0.5
_TELLING_BYTES = 100_000
"""With less text a rate would measure start-up rather than reading."""
_KILO = 1_000
_MEGA = 1_000_000


def make_console(*, color: ColorChoice = "auto", stderr: bool = False) -> Console:
    """Create a console that never interprets markup in its output.

    Args:
        color: "auto" uses colour on a terminal unless NO_COLOR is set.
        stderr: whether to print to stderr.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _WIDTH_OF_FILES
    never = color == "never" or (color == "auto" and bool(os.environ.get("NO_COLOR")))
    console = _plain_console(
        file=stream,
        color_system=None if never else ("truecolor" if color == "always" else "auto"),
        force_terminal=True if color == "always" else None,
        no_color=never,
        width=width,
    )
    console.width = max(console.width, _MIN_WIDTH)
    return console


def as_text(render: Callable[[Console], None], **options: Any) -> str:
    """Return the console output of `render`: plain text, 160 columns wide, unless options of rich's console differ."""
    from io import StringIO

    text = StringIO()
    render(_plain_console(**{"file": text, "width": _WIDTH_OF_FILES, "color_system": None, **options}))
    return text.getvalue()


def _plain_console(**options: Any) -> Console:
    from rich.console import Console
    from rich.text import Text

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:  # rich would exit the process here
            raise BrokenPipeError

        def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
            if soft_wrap or len(objects) != 1 or not isinstance(objects[0], Text):
                super().print(*objects, soft_wrap=soft_wrap, **options)
                return
            for row in objects[0].wrap(self, self.width):
                row.rstrip()  # rich keeps the space at which it wraps
                super().print(row, soft_wrap=True, **options)

    return PlainConsole(highlight=False, markup=False, emoji=False, **options)


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on a line of stdout; iterators in it are written incrementally."""
    waiting = bytearray()
    for part in _json_parts(document):
        waiting += part
        if len(waiting) >= _WRITTEN_AT_ONCE:
            sys.stdout.buffer.write(bytes(waiting))
            waiting.clear()
    sys.stdout.buffer.write(bytes(waiting))
    sys.stdout.buffer.flush()


def _json_parts(document: dict[str, Any]) -> Iterator[bytes]:
    yield b"{"
    for number, (name, part) in enumerate(document.items()):
        yield (b"," if number else b"") + json_bytes(name) + b":"
        if isinstance(part, Iterator):
            yield b"["
            for place, element in enumerate(part):
                yield (b"," if place else b"") + json_bytes(element)
            yield b"]"
        else:
            yield json_bytes(part)
    yield b"}\n"


@contextmanager
def showing_progress(choice: ProgressChoice) -> Iterator[Progress]:
    """Yield the progress callback for the length of a `with` block; a bar is shown only on a terminal."""
    if choice == "json":
        yield _JsonProgress()
    elif choice == "bar" and sys.stderr.isatty():
        with closing(_BarProgress()) as bar:
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


class _BarProgress:
    """A progress bar per phase, which starts with the first report; the rate is that of the current phase."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._task: Any = None
        self._phase = ""
        self._started = self._reported = time.monotonic()

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        now = time.monotonic()
        is_new = phase != self._phase
        if is_new:
            # Work already done at the first report was done since the last report of the previous phase.
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
    """Convert a number of units to an amount of work, for the bar and the remaining time.

    The most frequent pairs are merged first: merge n takes about 1/n of the time of the first one, so n merges take
    about log n.

    >>> _effort(1000, "bytes"), round(_effort(1000, "merges") / _effort(100_000, "merges"), 1)
    (1000, 0.6)
    """
    return math.log1p(number) if unit == "merges" else number


def _shown(done: int, total: int | None, unit: str, *, seconds: float) -> str:
    """Format the figures next to the bar.

    >>> _shown(25_000_000, 50_000_000, "bytes", seconds=0.25)
    '25.0 of 50.0 MB  100 MB/s'
    >>> _shown(300, 7_744, "merges", seconds=15.0)
    'merge 300 of 7,744'
    """
    if unit in ("bytes", "characters"):
        fast = rate(done, seconds, digits=0)
        return "  ".join(filter(None, (amount(done, of=total or None), fast))) if done else ""
    if unit == "merges" and total:
        return f"merge {done:,} of {total:,}"
    if total:
        return f"{done:,} of {total:,} {unit}"
    return ""


def rate(num_bytes: float, seconds: float, *, digits: int = 1) -> str | None:
    """Format the reading rate; None if there is too little text for a measurement.

    >>> rate(5_000_000, 0.4), rate(200_000, 10.0), rate(12, 0.1)
    ('12.5 MB/s', '20.0 kB/s', None)
    """
    if num_bytes < _TELLING_BYTES or seconds <= 0:
        return None
    return f"{_in_units(num_bytes / seconds, digits=digits)}/s"


def amount(num_bytes: float, *, of: float | None = None, digits: int = 1) -> str:
    """Format a number of bytes; with a total, in the unit of the total.

    >>> amount(25e6), amount(0, of=50e6), amount(1_500, of=4_000)
    ('25.0 MB', '0.0 of 50.0 MB', '1.5 of 4.0 kB')
    """
    if of is None:
        return _in_units(num_bytes, digits=digits)
    whole, unit = _in_units(of, digits=digits).split(" ")
    size = {"B": 1, "kB": _KILO, "MB": _MEGA}[unit]
    return f"{num_bytes / size:,.{0 if unit == 'B' else digits}f} of {whole} {unit}"


def _in_units(number: float, *, digits: int) -> str:
    if number < _KILO:
        return f"{number:.0f} B"
    size, unit = (_KILO, "kB") if number < _MEGA / 10 else (_MEGA, "MB")
    return f"{number / size:,.{digits}f} {unit}"
