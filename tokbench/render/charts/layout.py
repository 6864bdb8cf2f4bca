"""Common parts of charts: the size, the legend, curves, and a row of dots per group."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len, chop_cells

from tokbench.errors import BackendUnavailableError, ConfigError
from tokbench.render.charts.theme import DASHES, LIGHT, SHAPES, Theme, config_of, taken

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Spec = dict[str, Any]
"""A Vega-Lite specification."""

_LETTER = 6.2
_SYMBOL = 28
_LENGTH_OF_DASHES = 30
_LONGEST_NAME = 220
_ROW = 18

SUFFIXES = (".svg", ".png")
_PIXELS_PER_UNIT = 2
_CUT = "…"
_OF_EVERY_OBJECT = frozenset({
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString",
    "valueOf", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
})  # fmt: skip
"""Names that every JavaScript object has: a chart with one of them as a value, or in an expression, is not drawn."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The size and theme of a chart.

    Attributes:
        width: total width.
        theme: colours.
    """

    width: int = 640
    theme: Theme = LIGHT


def framed(frame: Frame, layers: Sequence[Spec], *, title: str, subtitle: str, height: int | Spec) -> Spec:
    """Return a specification of layers with a title, as wide as the frame."""
    return {
        "title": {"text": title, "subtitle": subtitle},
        "description": f"{title}: {subtitle}",
        "width": frame.width,
        "height": height,
        "autosize": {"type": "fit-x" if isinstance(height, dict) else "fit", "contains": "padding"},
        "padding": 4,
        "background": frame.theme.background,
        "config": config_of(frame.theme),
        "layer": list(layers),
    }


def series(
    frame: Frame,
    field: str,
    names: Sequence[str],
    *,
    by: Literal["shape", "strokeDash"],
    shown: Sequence[str] | None = None,
) -> Spec:
    """Return the channels that distinguish series: a colour each, and a shape or dash for readers who need it.

    Args:
        frame: size and theme of the chart.
        field: the field with the name of the series.
        names: the names of all series; a series looks the same in every chart that is given the same names.
        by: the channel that goes with the colour.
        shown: the series that the chart contains; by default all.
    """
    most = int(min(_LONGEST_NAME, frame.width - 2 * _SYMBOL) / _LETTER)
    longest = min(max(map(cell_len, names), default=1), most)
    columns = max(1, int(frame.width / (_SYMBOL + _LETTER * longest)))
    legend = {
        "title": None,
        "orient": "top",
        "columns": columns,
        "labelLimit": 0,
        "labelExpr": label_expression(names, most=most),
        "values": list(map(value_of, names if shown is None else shown)),
        "symbolSize": 70 if by == "shape" else _LENGTH_OF_DASHES**2,
        "rowPadding": 2 if by == "shape" else -8,  # long dashes make rows too high
    }

    def channel(values: tuple[Any, ...]) -> Spec:
        scale = {"domain": list(map(value_of, names)), "range": taken(values, len(names))}
        return {"field": field, "type": "nominal", "scale": scale, "legend": legend}

    looks: dict[str, tuple[Any, ...]] = {"shape": SHAPES, "strokeDash": tuple(map(list, DASHES))}
    return {"color": channel(frame.theme.series), by: channel(looks[by])}


def curves(
    frame: Frame,
    rows: Sequence[Spec],
    *,
    x: Spec,
    y: Spec,
    field: str,
    names: Sequence[str],
    points: bool = True,
    shown: Sequence[str] | None = None,
) -> list[Spec]:
    """Return layers with a line per series, distinguished by dashes, or by points of different shapes; see `series`."""
    data, at = {"values": _with_values(rows, field)}, {"x": x, "y": y}
    line = {"type": "line", "strokeWidth": 1.8}
    if not points:
        looks = series(frame, field, names, by="strokeDash", shown=shown)
        return [{"data": data, "mark": line, "encoding": at | looks}]
    looks = series(frame, field, names, by="shape", shown=shown)
    dots = {"type": "point", "filled": True, "opacity": 1, "size": 42}
    return [
        {"data": data, "mark": line, "encoding": at | {"color": looks["color"]}},
        {"data": data, "mark": dots, "encoding": at | looks},
    ]


def dots(
    frame: Frame,
    rows: Sequence[Spec],
    *,
    groups: Sequence[str],
    names: Sequence[str],
    title: str,
    subtitle: str,
    unit: str,
    reference: float | None = None,
) -> Spec:
    """Return a chart with a row per group, a dot per tokenizer, and a line from the lowest to the highest value.

    Args:
        frame: size and theme of the chart.
        rows: each with "group", "tokenizer" and "value".
        groups: the groups from top to bottom.
        names: the names of the tokenizers.
        title: title of the chart.
        subtitle: subtitle of the chart.
        unit: unit of the values.
        reference: a value to mark with a vertical line.
    """
    y = {
        "field": "group",
        "type": "nominal",
        "sort": list(map(value_of, groups)),
        "scale": {"domain": list(map(value_of, groups))},
        "axis": {
            "title": None,
            "labelLimit": 0,
            "labelExpr": label_expression(groups, most=int(frame.width / 4 / _LETTER)),
            "ticks": False,
            "domain": False,
            "labelPadding": 6,
        },
    }
    x = {"type": "quantitative", "title": unit, "scale": {"zero": True, "nice": True}}
    looks = series(frame, "tokenizer", names, by="shape")
    values = _with_values(rows, "group", "tokenizer")
    layers: list[Spec] = [
        {
            "data": {"values": values},
            "mark": {"type": "rule", "stroke": frame.theme.grid, "strokeWidth": 3, "strokeCap": "round"},
            "encoding": {
                "y": y,
                "x": {**x, "aggregate": "min", "field": "value"},
                "x2": {"aggregate": "max", "field": "value"},
            },
        },
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "opacity": 1, "size": 52},
            "encoding": {"y": y, "x": {**x, "field": "value"}, **looks},
        },
    ]
    if reference is not None:
        layers.insert(
            0,
            {
                "data": {"values": [{"value": reference}]},
                "mark": {"type": "rule", "stroke": frame.theme.muted, "strokeDash": [4, 3]},
                "encoding": {"x": {**x, "field": "value"}},
            },
        )
    return framed(frame, layers, title=title, subtitle=subtitle, height={"step": _ROW})


def _with_values(rows: Sequence[Spec], *fields: str) -> list[Spec]:
    """Replace the names in some fields by the values that stand for them."""
    return [row | {field: value_of(row[field]) for field in fields} for row in rows]


def require_vl_convert(purpose: str) -> None:
    """Raise `BackendUnavailableError` if charts cannot be drawn."""
    if find_spec("vl_convert") is None:
        raise BackendUnavailableError(
            f"{purpose} needs the package vl-convert-python", hint="pip install 'tokbench[report]'"
        )


def check_plot_file(path: Path) -> None:
    """Raise `ConfigError` for an unsupported suffix, and `BackendUnavailableError` if charts cannot be drawn."""
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(
            f"{path}: a chart is written as SVG or PNG",
            hint=f"name a file that ends in {' or '.join(SUFFIXES)}",
        )
    require_vl_convert("a chart")


def drawn(spec: Spec, path: Path) -> bytes:
    """Draw a chart in the format of the file's suffix, a supported one. Raises as `svg`."""
    return png(spec) if path.suffix.lower() == ".png" else svg(spec).encode()


def svg(spec: Spec) -> str:
    """Draw a chart as an SVG element whose accessible name is its description; it loads no external resources.

    Raises:
        BackendUnavailableError: vl-convert-python is not installed.
    """
    require_vl_convert("a chart")
    import vl_convert

    drawing = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    name = escape(spec.get("description", ""))
    return drawing.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)


def png(spec: Spec) -> bytes:
    """Draw a chart as a PNG of two pixels per unit. Raises as `svg`."""
    require_vl_convert("a chart")
    import vl_convert

    return vl_convert.vegalite_to_png(spec, scale=_PIXELS_PER_UNIT, allowed_base_urls=[])


def value_of(name: str) -> str:
    """Return the value that stands for a name in the data of a chart.

    >>> value_of("en"), value_of("toString")
    ('en', ' toString')
    """
    return f" {name}" if name in _OF_EVERY_OBJECT else name


def label_expression(names: Sequence[str], *, most: int) -> str:
    """Return the Vega expression that turns the value of each name into its label; see `labels_of`."""
    labels = labels_of(names, most=most)
    values, shown = (
        [value_of(text) for text in texts] for texts in (names, (labels[name] for name in names))
    )
    return f"{json.dumps(shown)}[indexof({json.dumps(values)}, datum.label)]"


def labels_of(names: Sequence[str], *, most: int) -> dict[str, str]:
    """Shorten long names to labels, different ones for different names.

    A long name loses its middle. Names that would then look alike lose what they have in common instead, after a few
    characters of the beginning; names that even then look alike, as they differ too far apart, are numbered.

    Args:
        names: the names.
        most: the most columns of a label; a number is added to that.

    >>> list(labels_of(["data/of/2026/en", "data/of/2026/de"], most=11).values())
    ['data/…26/en', 'data/…26/de']
    >>> list(labels_of(["data/of/2026/en/web", "data/of/2027/en/web"], most=11).values())
    ['da…6/en/web', 'da…7/en/web']
    """
    labels = {name: _without_middle(name, most) for name in names}
    for label in {*labels.values()}:
        alike = [name for name in labels if labels[name] == label and name != label]
        if len(alike) > 1:
            start = _common(alike)
            labels |= {name: _from(name, start, most) for name in alike}
    taken = {name for name in names if labels[name] == name}
    for name in labels:
        if name not in taken:
            labels[name] = _unlike(labels[name], taken)
            taken.add(labels[name])
    return labels


def _common(names: Sequence[str]) -> int:
    """Return the number of characters with which all names begin."""
    return next(
        (n for n, letters in enumerate(zip(*names, strict=False)) if len({*letters}) > 1),
        min(map(len, names)),
    )


def _without_middle(name: str, most: int) -> str:
    if cell_len(name) <= most:
        return name
    after = most // 2
    return f"{_first(name, most - len(_CUT) - after)}{_CUT}{_last(name, after)}"


def _from(name: str, start: int, most: int) -> str:
    """Return the beginning of a name, and what follows a position in it."""
    before = _first(name, most // 4)
    room = most - cell_len(before) - len(_CUT)
    rest = name[start:]
    return f"{before}{_CUT}{rest if cell_len(rest) <= room else _first(rest, room - len(_CUT)) + _CUT}"


def _unlike(label: str, taken: set[str]) -> str:
    number, found = 1, label
    while found in taken:
        number += 1
        found = f"{label} ({number})"
    return found


def _first(text: str, columns: int) -> str:
    return next(iter(chop_cells(text, columns)), "")


def _last(text: str, columns: int) -> str:
    return _first(text[::-1], columns)[::-1]
