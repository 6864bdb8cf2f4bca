"""A benchmark for the terminal: one line a tokenizer in a library, and where it was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.render.glyphs import visible
from tokbench.render.layout import Column, print_panes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from tokbench.bench.results import Bench, Entry, Figure, Measure

BEST = "*"
NONE = "–"
_PRECISE_BELOW = 10
_ROUND_FROM = 1000


def render_bench(bench: Bench, *, console: Console) -> None:
    """The figures of everyone, what was left out and why, and the machine; as wide as the terminal."""
    names = [Text(visible(entry.name), style="bold" if entry.peer is None else "") for entry in bench.entries]
    columns = list(_columns(bench))
    if columns:
        print_panes("", names, columns, console=console)
    for line in legend(bench):
        console.print(Text(visible(line), style="dim"))
    for line in problems(bench):
        console.print(Text(visible(line), style="yellow"))


def legend(bench: Bench) -> Iterator[str]:
    """What the figures are, and where they come from."""
    documents = "one document" if bench.documents == 1 else f"{bench.documents:,} documents"
    threads = "one thread" if bench.threads == 1 else f"{bench.threads} threads"
    yield (
        f"{BEST} best; medians of at most {bench.runs} rounds, in turns; on {documents}, {bench.num_bytes:,} bytes, "
        f"and {bench.prompts:,} prompts of 20 to 200 characters; batch on {threads}"
    )
    if len(bench.entries) > 1:
        yield f"× {bench.baseline}: as many times its figure, round by round, with the lowest and the highest"
    machine = bench.machine
    yield (
        f"{machine.cpu}, {counted(machine.processors, 'processor')}, {machine.system}, {machine.python}, "
        f"{machine.date}"
    )
    yield "; ".join(dict.fromkeys(entry.version for entry in bench.entries))


def problems(bench: Bench) -> Iterator[str]:
    """Who was not timed, and why."""
    for entry in bench.entries:
        if entry.difference is not None:
            yield f"{entry.name} gives other ids, and was not timed: {entry.difference}"
    whose: dict[tuple[str, str], list[str]] = {}
    for one in bench.left_out:
        whose.setdefault((one.peer, one.reason), []).extend([one.tokenizer] if one.tokenizer else [])
    for (peer, reason), names in whose.items():
        yield f"without {peer}{' for ' if names else ''}{', '.join(names)}: {reason}"


def _columns(bench: Bench) -> Iterator[Column]:
    for number, measure in enumerate(bench.measures):
        best = bench.best(measure)
        yield Column(measure.title, tuple(_cell(entry, measure, best) for entry in bench.entries))
        if number == 0 and len(bench.entries) > 1:
            yield Column(
                f"× {visible(bench.baseline)}",
                tuple(Text(shown_ratio(entry, measure, baseline=bench.baseline)) for entry in bench.entries),
            )


def _cell(entry: Entry, measure: Measure, best: float | None) -> Text:
    figure = entry.figures.get(measure.name)
    if figure is None:
        return Text("differs " if entry.difference is not None else f"{NONE} ", style="dim")
    is_best = figure.value.median == best
    return Text(shown(figure) + (BEST if is_best else " "), style="bold green" if is_best else "")


def shown(figure: Figure) -> str:
    """The median of a figure with the digits that mean something."""
    return _number(figure.value.median)


def shown_ratio(entry: Entry, measure: Measure, *, baseline: str) -> str:
    """How many times the baseline's figure it is, with the lowest and the highest of the rounds."""
    figure = entry.figures.get(measure.name)
    if entry.name == baseline or figure is None or figure.ratio is None:
        return NONE
    ratio = figure.ratio
    spread = f" ({_number(ratio.low)}–{_number(ratio.high)})" if ratio.runs > 1 else ""
    return f"{_number(ratio.median)}{spread}"


def rows(bench: Bench) -> Iterator[tuple[str, Sequence[tuple[str, bool]]]]:
    """The name of each, then its cells with whether it is the best of its column: for tables elsewhere."""
    for entry in bench.entries:
        cells = []
        for number, measure in enumerate(bench.measures):
            figure = entry.figures.get(measure.name)
            text = ("differs" if entry.difference is not None else NONE) if figure is None else shown(figure)
            is_best = figure is not None and figure.value.median == bench.best(measure)
            cells.append((text, is_best))
            if number == 0:
                cells.append((shown_ratio(entry, measure, baseline=bench.baseline), False))
        yield entry.name, cells


def titles(bench: Bench) -> list[str]:
    """Above those cells."""
    measures = [measure.title for measure in bench.measures]
    return [*measures[:1], f"× {bench.baseline}", *measures[1:]] if measures else []


def _number(value: float) -> str:
    """Three digits, thousands in full.

    >>> _number(0.1234), _number(12.345), _number(123.4), _number(1234567.8)
    ('0.123', '12.3', '123', '1,234,568')
    """
    if value >= _ROUND_FROM:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < _PRECISE_BELOW / 100 else f"{value:#.3g}".rstrip(".")
