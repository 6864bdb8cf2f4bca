"""A sweep for the terminal and for other programs: the curve, its knee, what a size costs."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tokbench.render.exports import latex_table, markdown_table
from tokbench.render.figures import bar
from tokbench.render.layout import Column, plain_table, print_panes, print_table
from tokbench.render.tables import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from tokbench.evaluation.sweeping import Sweep, SweepPoint
    from tokbench.render.exports import Form, Row

_BAR_WIDTH = 16
_GROUPS_DRAWN = 7
_NONE = "–"
_HEAD = ("entries", "bytes/token", "gain", "tokens")


def render_sweep(sweep: Sweep, *, model_dim: int | None, console: Console) -> None:
    """A line for each size, and what the curve says.

    Args:
        sweep: what was found.
        model_dim: the width of the model that the embedding is for; None leaves parameters out.
        console: where it goes.
    """
    runs = "one training" if sweep.trainings == 1 else f"{sweep.trainings} trainings"
    console.print(
        Text(
            f"{sweep.backend}: {runs} on {sweep.training_bytes:,} bytes, "
            f"judged on {sweep.num_bytes:,} held-out bytes in {sweep.documents:,} documents",
            style="dim",
        )
    )
    longest = max((point.bytes_per_token or 0.0 for point in sweep.points), default=0.0)
    rows = [_cells(*pair) for pair in zip((None, *sweep.points), sweep.points, strict=False)]
    columns = [
        Column(title, tuple(Text(cell) for cell in cells))
        for title, cells in zip(("bytes/token", "gain", "tokens"), zip(*rows, strict=True), strict=True)
    ]
    if model_dim:
        parameters = (point.vocab_size * model_dim for point in sweep.points)
        columns.append(Column("embedding", tuple(Text(f"{number / 1e6:,.1f} M") for number in parameters)))
    marks = tuple(Text(", ".join(_marks(sweep, point)), style="bold") for point in sweep.points)
    columns.append(Column("", marks, justify="left"))
    bars = (bar(point.bytes_per_token, longest, width=_BAR_WIDTH) for point in sweep.points)
    print_panes(
        "entries",
        [Text(f"{point.vocab_size:,}", justify="right") for point in sweep.points],
        columns,
        bars=Column("", tuple(Text(one, style="cyan") for one in bars), justify="left"),
        console=console,
    )
    _print_groups(sweep, console=console)
    console.print()
    console.print(Text.assemble(("recommended: ", "bold"), f"{sweep.recommended:,} entries: {sweep.reason}"))
    if sweep.missing:
        sizes = ", ".join(f"{size:,}" for size in sweep.missing)
        console.print(Text(f"the text cannot fill {sizes} entries", style="yellow"))


def _cells(before: SweepPoint | None, point: SweepPoint) -> tuple[str, str, str]:
    """Bytes per token, by how much it grew, and the tokens."""
    gain = _NONE
    if before is not None and before.bytes_per_token and point.bytes_per_token is not None:
        gain = f"{(point.bytes_per_token / before.bytes_per_token - 1) * 100:+.1f} %"
    return (
        _NONE if point.bytes_per_token is None else f"{point.bytes_per_token:.3f}",
        gain,
        f"{point.tokens:,}",
    )


def _marks(sweep: Sweep, point: SweepPoint) -> Iterator[str]:
    if point.vocab_size == sweep.knee:
        yield "knee"
    if point.vocab_size == sweep.recommended:
        yield "recommended"


def _print_groups(sweep: Sweep, *, console: Console) -> None:
    """Bytes per token by group at the smallest, the recommended and the largest size.

    By name: a byte is worth more in one script than in another.
    """
    first, last = sweep.points[0], sweep.points[-1]
    chosen = [
        point for point in sweep.points if point in (first, last) or point.vocab_size == sweep.recommended
    ]
    if len(last.groups) < 2:
        return
    table = plain_table("bytes/token", *((f"at {point.vocab_size:,}", "right") for point in chosen))
    for group in sorted(last.groups):
        values = [point.groups.get(group) for point in chosen]
        table.add_row(Text(visible(group)), *(_NONE if value is None else f"{value:.3f}" for value in values))
    print_table(table, console=console)


def sweep_document(sweep: Sweep, *, model_dim: int | None = None) -> dict[str, Any]:
    """As `--json` prints it: schema tokbench.sweep/1."""
    return {
        "schema": "tokbench.sweep/1",
        "backend": sweep.backend,
        "trainings": sweep.trainings,
        "corpus": {
            "documents": sweep.documents,
            "bytes": sweep.num_bytes,
            "training_bytes": sweep.training_bytes,
        },
        "points": [
            {
                "vocab_size": point.vocab_size,
                "tokens": point.tokens,
                "bytes_per_token": point.bytes_per_token,
                "embedding_parameters": None if model_dim is None else point.vocab_size * model_dim,
                "groups": dict(point.groups),
            }
            for point in sweep.points
        ],
        "knee": sweep.knee,
        "recommended": sweep.recommended,
        "reason": sweep.reason,
        "missing": list(sweep.missing),
    }


def sweep_csv(sweep: Sweep) -> bytes:
    """A line for each size and group; all text is the group without a name."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("vocab_size", "group", "bytes_per_token"))
    for point in sweep.points:
        writer.writerow((point.vocab_size, "", point.bytes_per_token))
        writer.writerows((point.vocab_size, group, value) for group, value in point.groups.items())
    return text.getvalue().encode()


def sweep_forms(sweep: Sweep, *, model_dim: int | None) -> dict[Form, Callable[[], bytes]]:
    """A sweep in the forms that other programs read."""
    return {
        "json": lambda: _json(sweep, model_dim=model_dim),
        "csv": lambda: sweep_csv(sweep),
        "markdown": lambda: markdown_table(_HEAD, _rows(sweep)),
        "latex": lambda: latex_table(_HEAD, _rows(sweep)),
    }


def _json(sweep: Sweep, *, model_dim: int | None) -> bytes:
    import orjson

    return orjson.dumps(sweep_document(sweep, model_dim=model_dim)) + b"\n"


def _rows(sweep: Sweep) -> list[Row]:
    """For tables in documents: the recommended size is the marked one."""
    return [
        [
            (cell, point.vocab_size == sweep.recommended)
            for cell in (f"{point.vocab_size:,}", *_cells(before, point))
        ]
        for before, point in zip((None, *sweep.points), sweep.points, strict=False)
    ]


def curve_of(sweep: Sweep) -> list[tuple[int, float | None, str]]:
    """Size, bytes per token and group, for a chart: all text, and where there are few groups each of them."""
    rows: list[tuple[int, float | None, str]] = [
        (point.vocab_size, point.bytes_per_token, "all text") for point in sweep.points
    ]
    groups = sweep.points[-1].groups
    if 1 < len(groups) <= _GROUPS_DRAWN:
        rows += [
            (point.vocab_size, point.groups.get(group), group) for group in groups for point in sweep.points
        ]
    return rows
