"""The look of all charts: colours that colour-blind readers can tell apart, with shapes and dashes.

Both colour series were found by search: under normal sight, protanopia, deuteranopia and tritanopia, any two colours
are at least ΔE 24 apart (CIE 1976), and each has a contrast of 3 to 1 with its background.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ((1, 0), (6, 3), (2, 2), (9, 3, 2, 3), (12, 3))
"""The numbers of shapes and dashes share no factor with that of colours, so a repeated colour has another shape."""


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a chart, as SVG values.

    Attributes:
        ink: colour of text.
        muted: colour of axes and of secondary marks.
        grid: colour of grid lines.
        series: colours of the tokenizers or groups, in order; repeated if there are more.
        background: colour of the background; None for that of the page.
    """

    ink: str
    muted: str
    grid: str
    series: tuple[str, ...]
    background: str | None

    def variables(self) -> str:
        """Return the colours as CSS custom properties, which `PAGE` refers to.

        >>> LIGHT.variables().partition(";")[0]
        '--ink:#1c1e22'
        """
        names = {"ink": self.ink, "muted": self.muted, "grid": self.grid, "page": self.background or "#fff"}
        names |= {f"series-{place}": color for place, color in enumerate(self.series)}
        return "".join(f"--{name}:{color};" for name, color in names.items())


LIGHT = Theme(
    ink="#1c1e22",
    muted="#5c6370",
    grid="#dde0e6",
    series=("#1328a2", "#e47300", "#8d4089", "#127336", "#1495ff", "#371210", "#a08d95", "#000033"),
    background="#ffffff",
)
"""Dark on white, for files, paper and light pages."""

DARK = Theme(
    ink="#e8eaee",
    muted="#a4abb8",
    grid="#363b46",
    series=("#6b71ff", "#f4d225", "#fa7ad1", "#28d77e", "#ccffe9", "#8a8516", "#7d9b89", "#f1ff86"),
    background="#171a21",
)
"""Light on dark, for dark pages."""

PAGE = Theme(
    ink="var(--ink)",
    muted="var(--muted)",
    grid="var(--grid)",
    series=tuple(f"var(--series-{place})" for place in range(len(LIGHT.series))),
    background=None,
)
"""The colours of the surrounding page, as CSS variables."""


def config_of(theme: Theme) -> dict[str, Any]:
    """Return the Vega-Lite configuration of a theme."""
    return {
        "aria": False,  # the chart has one name, and its figures are in a table
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": theme.ink,
            "labelFontSize": 11,
            "labelFlush": False,  # the numbers at both ends would move towards their neighbours
            "labelSeparation": 6,
            "titleColor": theme.muted,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "gridColor": theme.grid,
            "domainColor": theme.muted,
            "tickColor": theme.muted,
        },
        "legend": {"labelColor": theme.ink, "labelFontSize": 11},
        "title": {
            "anchor": "start",
            "color": theme.ink,
            "fontSize": 14,
            "subtitleColor": theme.muted,
            "subtitleFontSize": 11,
        },
    }


def taken(values: tuple[Any, ...], count: int) -> list[Any]:
    """Return the first values, repeating them from the start if there are too few.

    >>> taken(("a", "b"), 3)
    ['a', 'b', 'a']
    """
    return [values[place % len(values)] for place in range(count)]
