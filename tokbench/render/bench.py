"""Benchmarks: a table with one row per tokenizer and library, and the machine that it ran on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.wording import counted
from tokbench.render.glyphs import visible
from tokbench.render.table import BEST, NONE, Cell, Column, Table, result_forms, text_cell
from tokbench.render.terminal import print_lines, write_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from tokbench.bench.results import Bench, Entry, Figure, Measure
    from tokbench.render.table import Forms

CSV_COLUMNS = (
    *("name", "tokenizer", "peer", "measure", "median", "low", "high", "runs"),
    *("ratio", "ratio_low", "ratio_high"),
)
_PRECISE_BELOW = 10
_ROUND_FROM = 1000


def render_bench(bench: Bench, *, console: Console) -> None:
    """Print the figures of all entrants, the skipped entrants with reasons, and the machine, as wide as the console."""
    if bench.measures:
        write_table(bench_table(bench), console=console)
    print_lines(legend(bench), style="dim", console=console)
    print_lines(problems(bench), style="yellow", console=console)


def bench_forms(bench: Bench) -> Forms:
    """Return the same as JSON, CSV and tables for other programs."""
    return result_forms(
        json=bench.to_json,
        csv=lambda: _csv_rows(bench),
        parts=lambda: (bench_table(bench), *legend(bench), *problems(bench)),
    )


def bench_table(bench: Bench) -> Table:
    """Return a table with a row per tokenizer and library, a column per measure, and the ratio to the baseline."""
    names = (text_cell(entry.name, style="bold" if entry.peer is None else "") for entry in bench.entries)
    columns = [_column(bench, measure) for measure in bench.measures]
    if columns and len(bench.entries) > 1:
        first = bench.measures[0]
        ratios = (Cell(_ratio(entry, first, baseline=bench.baseline)) for entry in bench.entries)
        columns.insert(1, Column(f"× {visible(bench.baseline)}", tuple(ratios)))
    return Table("", (Column("tokenizer", tuple(names), first="ascending", align="left"), *columns))


def _column(bench: Bench, measure: Measure) -> Column:
    leader = bench.leaders.get(measure.name)
    return Column(
        measure.title,
        tuple(_cell(entry, measure, is_best=entry.name == leader) for entry in bench.entries),
        name=measure.name,
        meaning=measure.unit,
        first="descending" if measure.better == "higher" else "ascending",
        has_best=True,
    )


def _cell(entry: Entry, measure: Measure, *, is_best: bool) -> Cell:
    figure = entry.figures.get(measure.name)
    if figure is None:
        return Cell("differs" if entry.difference is not None else NONE, style="dim")
    median = figure.value.median
    return Cell(_number(median), median, best=is_best)


def legend(bench: Bench) -> Iterator[str]:
    """Yield lines that explain the figures and their origin."""
    documents = "one document" if bench.documents == 1 else f"{bench.documents:,} documents"
    threads = "one thread" if bench.threads == 1 else f"{bench.threads} threads"
    shortest, longest = bench.prompt_characters
    length = (
        f"{shortest:,} to {longest:,} characters" if shortest < longest else counted(longest, "character")
    )
    yield (
        f"{BEST} best in every round; medians of at most {counted(bench.runs, 'round')}, in turns; on {documents}, "
        f"{counted(bench.num_bytes, 'byte')}, and {counted(bench.prompts, 'prompt')} of {length}; "
        f"batch on {threads}"
    )
    if len(bench.entries) > 1:
        yield f"× {bench.baseline}: the ratio to it, round by round, with the lowest and the highest"
    machine = bench.machine
    yield (
        f"{machine.cpu}, {counted(machine.processors, 'processor')}, {machine.system}, {machine.python}, "
        f"{machine.date}"
    )
    yield "; ".join(dict.fromkeys(entry.version for entry in bench.entries))


def problems(bench: Bench) -> Iterator[str]:
    """Yield a line for each entrant that was not timed, with the reason."""
    for entry in bench.entries:
        if entry.difference is not None:
            yield f"{entry.name} gives different ids, and was not timed: {entry.difference}"
    whose: dict[tuple[str, str], list[str]] = {}
    for skipped in bench.left_out:
        whose.setdefault((skipped.peer, skipped.reason), []).extend(
            [skipped.tokenizer] if skipped.tokenizer else []
        )
    for (peer, reason), names in whose.items():
        yield f"without {peer}{' for ' if names else ''}{', '.join(names)}: {reason}"


def _ratio(entry: Entry, measure: Measure, *, baseline: str) -> str:
    """Format the ratio to the baseline's figure, with the lowest and the highest ratio of the rounds."""
    figure = entry.figures.get(measure.name)
    if entry.name == baseline or figure is None or figure.ratio is None:
        return NONE
    ratio = figure.ratio
    spread = f" ({_number(ratio.low)}–{_number(ratio.high)})" if ratio.runs > 1 else ""
    return f"{_number(ratio.median)}{spread}"


def _csv_rows(bench: Bench) -> Iterator[Sequence[object]]:
    """Yield the header, then a row per tokenizer and measure."""
    yield CSV_COLUMNS
    for entry in bench.entries:
        for name, figure in entry.figures.items():
            yield (entry.name, entry.tokenizer, entry.peer, name, *_numbers(figure))


def _numbers(figure: Figure) -> list[float | None]:
    value, ratio = figure.value, figure.ratio
    relative = (None, None, None) if ratio is None else (ratio.median, ratio.low, ratio.high)
    return [value.median, value.low, value.high, value.runs, *relative]


def _number(value: float) -> str:
    """Format a number with three significant digits, and thousands in full.

    >>> _number(0.1234), _number(12.345), _number(123.4), _number(1234567.8)
    ('0.123', '12.3', '123', '1,234,568')
    """
    if value >= _ROUND_FROM:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < _PRECISE_BELOW / 100 else f"{value:#.3g}".rstrip(".")
