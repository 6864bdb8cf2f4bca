"""Listings: groups of a corpus, tokenizers, backends and presets, and the checks of `doctor`."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.explanations import BESIDE, EXPLAINED
from tokbench.render.console import amount
from tokbench.render.glyphs import visible
from tokbench.render.table import (
    Cell,
    Column,
    Table,
    count_cell,
    result_forms,
    table_of_rows,
    text_cell,
    text_column,
    value_column,
)
from tokbench.render.terminal import print_grid, write_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tokbench.metrics.explanations import Explained
    from tokbench.metrics.metric import Metric
    from tokbench.render.table import Forms
    from tokbench.workbench.backends import BackendsResult
    from tokbench.workbench.corpus import CorpusResult
    from tokbench.workbench.doctor import DoctorResult
    from tokbench.workbench.list import ListResult

_HEADS = ("name", "head", "unit", "better", "meaning")
_WIDE = 120
"""Minimum terminal width in columns for showing a metric on one line."""
_CHOSEN = "--metrics takes these, `all` for all of them"
_BESIDE = "shown beside them where they apply"


def render_corpus(result: CorpusResult, *, console: Console) -> None:
    """Print a line per group, and the total."""
    write_table(corpus_table(result), console=console)


def corpus_table(result: CorpusResult) -> Table:
    """Return a table with a row per group, grouped by kind, and the total."""
    heads = [text_column(title, is_long=True) for title in ("group", "", "licence")]
    heads[2:2] = [Column(title) for title in ("documents", "bytes", "characters", "lines")]
    rows: list[tuple[Cell, ...]] = []
    sections = []
    for kind, groups in groupby(result.groups, key=lambda group: group.kind):
        if kind is not None:
            sections.append(len(rows))
            rows.append((text_cell(kind, style="dim"), *[Cell("")] * 6))
        for group in groups:
            numbers = (group.documents, group.num_bytes, group.characters, group.lines)
            names = (text_cell(group.group), Cell(group.title or ""))
            rows.append((*names, *map(count_cell, numbers), Cell(group.licence or "")))
    sections.append(len(rows))
    total = result.to_json()["total"]
    sums = (count_cell(total[name]) for name in ("documents", "bytes", "characters", "lines"))
    rows.append((text_cell("total", style="bold"), text_cell(result.place), *sums, Cell("")))
    if not any(group.licence for group in result.groups):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    table = table_of_rows("", heads, rows, corner="group")
    return replace(table, sections=frozenset(sections))


def render_list(result: ListResult, *, console: Console) -> None:
    """Print a line per tokenizer."""
    write_table(list_table(result), console=console)
    console.print(Text('to show tokens: tokbench viz -t NAME "your text"', style="dim"))


def list_table(result: ListResult) -> Table:
    """Return a table with a row per tokenizer."""
    entries = result.tokenizers
    notes = (
        text_cell(f"damaged: {entry.error}", style="red") if entry.error else text_cell(entry.note)
        for entry in entries
    )
    return Table(
        "",
        (
            text_column("name", (entry.name for entry in entries), style="bold", is_long=True),
            text_column("backend", (entry.backend or "?" for entry in entries), is_long=True),
            value_column("vocabulary", (entry.vocab_size for entry in entries), "{:,}".format),
            value_column("size", (entry.num_bytes for entry in entries), amount),
            Column("", tuple(notes), align="left", is_long=True),
        ),
        corner="name",
    )


def render_backends(result: BackendsResult, *, console: Console) -> None:
    """Print each backend with its options, then the presets and the sets of special tokens."""
    for backend in result.backends:
        head = (backend.name, "bold"), f"  {backend.summary}  ", (f"[{backend.kernel}]", "dim")
        console.print(Text.assemble(*head))
        options = []
        for option in backend.options:
            default = "" if option.default in (None, [], "") else f"(default {option.default})"
            options.append((Text(f"  {option.name}"), Text(f"{option.help} {default}".strip())))
        print_grid(options, console=console)
        console.print()
    console.print(Text("presets (--preset NAME)", style="bold"))
    presets = (
        (Text(f"  {preset.name}"), Text(preset.backend, style="dim"), Text(preset.description))
        for preset in result.presets
    )
    print_grid(presets, console=console)
    console.print()
    console.print(Text("special tokens (--special-preset NAME)", style="bold"))
    sets: list[tuple[Text, Text, Text]] = []
    for preset in result.special_presets:
        tokens = Text(counted(len(preset.tokens), "token"), style="dim")
        roles = ", ".join(f"{role} {text}" for role, text in preset.roles.items())
        sets += [
            (Text(f"  {preset.name}"), tokens, Text(preset.description)),
            (Text(), Text(), Text(roles, style="dim")),
        ]
    print_grid(sets, console=console)


def render_doctor(result: DoctorResult, *, console: Console) -> None:
    """Print a line per check, with hints for checks that did not pass."""
    signs = {True: Text("✓", style="green"), False: Text("✗", style="bold red"), None: Text("·", style="dim")}
    rows = []
    for check in result.checks:
        rows.append((signs[check.passed], Text(check.subject), Text(visible(check.found))))
        if check.hint and check.passed is not True:
            rows.append((Text(), Text(), Text(f"→ {check.hint}", style="yellow")))
    print_grid(rows, console=console)
    console.print()
    console.print(Text("everything works" if result.passed else "some checks failed", style="bold"))


def render_metric_help(*, console: Console) -> None:
    """Print every metric: its name, column title, unit, better direction, and meaning."""
    for title, found in ((_CHOSEN, (*METRICS.values(),)), (_BESIDE, BESIDE)):
        console.print(Text(title, style="bold"))
        if console.width >= _WIDE:
            write_table(_table(found), console=console)
        else:
            _print_pairs(found, console=console)


def metric_help_forms() -> Forms:
    """Return the forms for other programs."""
    metrics = [dict(zip(_HEADS, _cells(metric), strict=True)) for metric in EXPLAINED]
    return result_forms(
        json=lambda: {"schema": "tokbench.metrics/1", "metrics": metrics},
        csv=lambda: (_HEADS, *map(_cells, EXPLAINED)),
        parts=lambda: (_table(EXPLAINED),),
    )


def _table(found: Sequence[Metric | Explained]) -> Table:
    columns = zip(*map(_cells, found), strict=True)
    return Table(
        "",
        tuple(
            text_column(head, cells, is_long=head == _HEADS[-1])
            for head, cells in zip(_HEADS, columns, strict=True)
        ),
        corner=_HEADS[0],
    )


def _print_pairs(found: Sequence[Metric | Explained], *, console: Console) -> None:
    """Print each name on a line of its own, for narrow terminals."""
    for metric in found:
        name, head, unit, better, meaning = _cells(metric)
        console.print(Text.assemble((name, "bold"), f" ({head}; {unit}; better: {better})"))
        console.print(Text(f"    {meaning}", overflow="fold"))
    console.print()


def _cells(metric: Metric | Explained) -> tuple[str, str, str, str, str]:
    return metric.name, metric.title, metric.unit, metric.direction, metric.meaning
