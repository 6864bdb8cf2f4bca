"""The chart of a sweep: compression against vocabulary size, and where the curve bends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.render.charts.layout import Frame, Spec, curves, framed
from tokbench.render.tables import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEIGHT = 320
_PLAIN = Frame()

Point = tuple[int, float | None, str]
"""Vocabulary size, bytes per token, group."""


def sweep_chart(points: Iterable[Point], knee: int | None, *, frame: Frame = _PLAIN) -> Spec:
    """Bytes per token against vocabulary size, a line for each group.

    Args:
        points: sizes without a figure are left out.
        knee: the size that is marked; None marks none.
        frame: how it is presented.

    >>> sweep_chart([(1024, 2.5, "all"), (2048, 3.0, "all")], 2048)["title"]["text"]
    'Compression by vocabulary size'
    """
    rows: list[Spec] = [
        {"size": size, "value": value, "group": visible(group)}
        for size, value, group in points
        if value is not None
    ]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    sizes = sorted({row["size"] for row in rows})
    x: Spec = {
        "field": "size",
        "type": "quantitative",
        "title": "vocabulary size",
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {"values": sizes, "format": ",d", "labelOverlap": "greedy", "grid": False},
    }
    y: Spec = {
        "field": "value",
        "type": "quantitative",
        "title": "bytes/token",
        "scale": {"zero": False},
    }
    layers = curves(frame, rows, x=x, y=y, field="group", names=groups)
    if knee is not None:
        layers += _knee(frame, knee, x, on_the_right=bool(sizes) and knee * knee > sizes[0] * sizes[-1])
    bend = "" if knee is None else f"; the knee is at {knee:,}"
    return framed(
        frame,
        layers,
        title="Compression by vocabulary size",
        subtitle=f"bytes per token{bend}",
        height=_HEIGHT,
    )


def _knee(frame: Frame, knee: int, x: Spec, *, on_the_right: bool) -> list[Spec]:
    """A line from top to bottom with the size beside it at its foot, which a rising curve leaves free."""
    data = {"values": [{"size": knee}]}
    side = {"align": "right", "dx": -5} if on_the_right else {"align": "left", "dx": 5}
    text = {
        "type": "text",
        "text": f"knee: {knee:,}",
        "y": {"expr": "height - 10"},
        "color": frame.theme.ink,
        "fontSize": 11,
        **side,
    }
    rule = {"type": "rule", "stroke": frame.theme.muted, "strokeDash": [4, 3]}
    return [{"data": data, "mark": mark, "encoding": {"x": x}} for mark in (rule, text)]
