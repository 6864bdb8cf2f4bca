"""Shared parts of the speed scripts: texts cut into documents, timing as in `tokbench bench`, Markdown tables."""

from __future__ import annotations

import statistics
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, TypeVar

from tokbench.bench.results import this_machine
from tokbench.core.time_and_memory import seconds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

DOCUMENT_CHARACTERS = 20_000

_T = TypeVar("_T")


def documents_of(path: Path, *, megabytes: float = 0) -> list[str]:
    """Cut a text, or its first megabytes, into documents of about 20 KB."""
    with path.open("rb") as file:
        data = file.read(int(megabytes * 1e6)) if megabytes else file.read()
    text = data.decode(errors="ignore")
    return [text[start : start + DOCUMENT_CHARACTERS] for start in range(0, len(text), DOCUMENT_CHARACTERS)]


def timed(work: Callable[[], _T]) -> tuple[float, _T]:
    """Return the wall seconds of one call without the garbage collector, and its result."""
    results: list[_T] = []
    seconds = seconds_of(lambda: results.append(work()))
    return seconds, results[0]


def heading(*packages: str) -> str:
    """Return a line with the machine, the date, and the versions of tokbench and of other packages."""
    machine = this_machine()
    versions = ", ".join([f"tokbench {machine.tokbench}", *map(_version_of, packages)])
    return f"{machine.date}, {machine.cpu}, {machine.processors} processors, {machine.python}; {versions}"


def speed_table(
    title: str,
    columns: Sequence[str],
    rows: Mapping[str, Sequence[Mapping[str, float]]],
    *,
    megabytes: float,
    digits: int = 0,
) -> str:
    """Return a Markdown table of medians in MB/s.

    Args:
        title: the line above the table.
        columns: what was timed; a row without a column has a dash there.
        rows: name → seconds by column, for each round.
        megabytes: the size of the text.
        digits: the number of digits after the decimal point.
    """
    lines = [title, "", f"| | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for name, rounds in rows.items():
        cells = [
            f"{megabytes / statistics.median(seconds[column] for seconds in rounds):.{digits}f}"
            if column in rounds[0]
            else "–"
            for column in columns
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _version_of(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} (absent)"
