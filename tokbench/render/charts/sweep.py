"""The chart of a sweep: compression by vocabulary size, with the knee of the curve and the recommended size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tokbench.render.charts.layout import Frame, Spec, curves, framed
from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_HEIGHT = 320
_ROW = 14
_BESIDE_PLOT = 60
_LETTER = 6.2
_PLAIN = Frame()

Point = tuple[int, float | None, str]
"""Vocabulary size, bytes per token, group."""


def sweep_chart(
    points: Iterable[Point],
    knee: int | None,
    recommended: int | None = None,
    *,
    title: str = "Compression by vocabulary size",
    axis: str = "vocabulary size",
    frame: Frame = _PLAIN,
) -> Spec:
    """Return a chart of bytes per token by vocabulary size, with a line per group.

    Args:
        points: the points; sizes without a figure are skipped.
        knee: the size at the knee of the curve, which is marked; None marks none.
        recommended: the recommended size, likewise.
        title: title of the chart.
        axis: title of the size axis.
        frame: size and theme of the chart.

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
    marks = _marks(sizes, knee, recommended, width=frame.width - _BESIDE_PLOT)
    x: Spec = {
        "field": "size",
        "type": "quantitative",
        "title": axis,
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {"values": sizes, "format": ",d", "labelOverlap": "greedy", "grid": False},
    }
    y: Spec = {"field": "value", "type": "quantitative", "title": "bytes/token", "scale": {"zero": False}}
    if marks:  # make room below the lowest curve for the labels at the bottom
        rows_of_labels = max(mark.row for mark in marks) + 1
        y["scale"] |= {"padding": (rows_of_labels + 1) * _ROW}
    layers = curves(frame, rows, x=x, y=y, field="group", names=groups)
    for mark in marks:
        layers += _mark_layers(frame, mark, x)
    bend = "" if knee is None else f"; the knee is at {knee:,}"
    best = (
        ""
        if recommended is None
        else f"; {'this' if recommended == knee else f'{recommended:,}'} is recommended"
    )
    return framed(frame, layers, title=title, subtitle=f"bytes per token{bend}{best}", height=_HEIGHT)


def words_of_size(size: int, knee: int | None, recommended: int | None) -> str:
    """Return the label of a marked size; empty if it is not marked.

    >>> words_of_size(2048, 2048, 2048), words_of_size(2048, None, 4096)
    ('knee, recommended', '')
    """
    return ", ".join(
        word for word, marked in (("knee", knee), ("recommended", recommended)) if size == marked
    )


@dataclass(frozen=True, slots=True)
class _Mark:
    """A marked size.

    Attributes:
        size: the vocabulary size.
        text: the label of its line.
        side: the side of the line on which the label stands.
        row: the row of the label, from the bottom; the line begins there.
        is_recommended: whether it is the recommended size, whose line is solid.
    """

    size: int
    text: str
    side: Literal["left", "right"]
    row: int
    is_recommended: bool


def _marks(sizes: Sequence[int], knee: int | None, recommended: int | None, *, width: int) -> list[_Mark]:
    """Return the marks by size, placed so that no label touches another label, a line, or the edge of the plot.

    The labels point away from each other if the plot has room. If one of them must stand on the side of the other mark,
    it takes the lower row, below the point where the other's line begins.
    """
    marked = sorted({size for size in (knee, recommended) if size is not None and sizes})
    found = [(size, f"{words_of_size(size, knee, recommended)}: {size:,}") for size in marked]
    places = [_place(size, sizes) * width for size, _ in found]
    lengths = [len(text) * _LETTER for _, text in found]
    left = [place >= length for place, length in zip(places, lengths, strict=True)]
    if len(found) == 2:
        left[1] = places[1] + lengths[1] > width
    lower = len(found) - 1 if left[-1:] == [True] else 0
    return [
        _Mark(size, text, "left" if left[place] else "right", int(place != lower), size == recommended)
        for place, (size, text) in enumerate(found)
    ]


def _place(size: int, sizes: Sequence[int]) -> float:
    """Return the position of a size on its axis, from 0 to 1.

    >>> _place(2048, [1024, 1500, 4096])
    0.5
    """
    if sizes[0] == sizes[-1]:
        return 0.5
    return math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])


def _mark_layers(frame: Frame, mark: _Mark, x: Spec) -> Iterator[Spec]:
    """Yield a vertical line and the label at its bottom."""
    data = {"values": [{"size": mark.size}]}
    foot = f"height - {10 + mark.row * _ROW}"
    rule: Spec = {"type": "rule", "stroke": frame.theme.muted, "strokeDash": [4, 3]}
    if mark.is_recommended:
        rule |= {"stroke": frame.theme.ink, "strokeDash": [1, 0]}
    if mark.row:
        rule |= {"y": 0, "y2": {"expr": f"{foot} + 4"}}
    text = {
        "type": "text",
        "text": mark.text,
        "y": {"expr": foot},
        "color": frame.theme.ink,
        "fontSize": 11,
        "align": "right" if mark.side == "left" else "left",
        "dx": -5 if mark.side == "left" else 5,
    }
    for mark_spec in (rule, text):
        yield {"data": data, "mark": mark_spec, "encoding": {"x": x}}
