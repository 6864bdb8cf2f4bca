"""Common parts of charts: the size, the legend, curves, and a row of dots per group."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len

from tokbench.errors import BackendUnavailableError, ConfigError
from tokbench.render.charts.names import label_expression, value_of
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
