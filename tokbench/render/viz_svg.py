"""`tokbench viz --svg`: the view of the terminal as an SVG picture, which loads nothing."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

from tokbench.render.console import as_text
from tokbench.render.viz import render_source, render_viz

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.render.viz import Layout, ShownText

_CELL_WIDTH, _ROW_HEIGHT, _MARGIN = 9.0, 22, 16
"""In pixels. Each run of text is stretched to its cells, whatever the font."""
_FONT = "ui-monospace, Menlo, Consolas, monospace"
_GROUND, _INK = "#16181d", "#d8dbe2"


class _Run(NamedTuple):
    """Characters of one style in a row, and the cell where they begin."""

    text: str
    style: Style
    cell: int
    row: int


def viz_picture(
    shown: Sequence[ShownText], *, columns: int, ids: bool = False, layout: Layout = "stacked"
) -> bytes:
    """Draw texts with their tokens as SVG.

    Args:
        shown: the texts, in order.
        columns: width of the drawn terminal in cells.
        ids: whether to show ids beneath the tokens.
        layout: see `render_viz`.

    Returns:
        The file. Its width is that of the widest row; its font is the reader's monospaced font.
    """
    lines = [Text.from_ansi(line) for line in _printed(shown, columns=columns, ids=ids, layout=layout)]
    width = _MARGIN * 2 + _CELL_WIDTH * max(cell_len(line.plain) for line in lines)
    height = _MARGIN * 2 + _ROW_HEIGHT * len(lines)
    names = dict.fromkeys(view.info.name for text in shown for view in text.result.views)
    title = f"Tokens as tokbench viz shows them: {', '.join(names)}"
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{_GROUND}"/>',
        f'<g font-family="{_FONT}" font-size="15" shape-rendering="crispEdges">',
        *(_drawn(run) for row, line in enumerate(lines) for run in _runs(line, row=row)),
        "</g>",
        "</svg>\n",
    ]
    return "\n".join(rows).encode()


def _printed(shown: Sequence[ShownText], *, columns: int, ids: bool, layout: Layout) -> list[str]:
    """Return the lines that a terminal with 256 colours would get."""

    def render(console: Console) -> None:
        for number, text in enumerate(shown):
            if number:
                console.print()
            if len(shown) > 1:
                render_source(text.source, console=console)
            render_viz(text.result, console=console, ids=ids, layout=layout)

    terminal = {"color_system": "256", "force_terminal": True, "no_color": False, "legacy_windows": False}
    return as_text(render, width=columns, **terminal).rstrip("\n").split("\n")


def _runs(line: Text, *, row: int) -> Iterator[_Run]:
    cell = 0
    for segment in line.render(Console(), end=""):
        yield _Run(segment.text, segment.style or Style(), cell, row)
        cell += cell_len(segment.text)


def _drawn(run: _Run) -> str:
    left, top = _MARGIN + _CELL_WIDTH * run.cell, _MARGIN + _ROW_HEIGHT * run.row
    width, style = _CELL_WIDTH * cell_len(run.text), run.style
    ground = ""
    if style.bgcolor:
        fill = style.bgcolor.get_truecolor(DEFAULT_TERMINAL_THEME).hex
        ground = f'<rect x="{left:g}" y="{top}" width="{width:g}" height="{_ROW_HEIGHT - 2}" fill="{fill}"/>'
    return ground + "".join(map(_written, _words(run)))


def _words(run: _Run) -> Iterator[_Run]:
    """Yield the words between runs of spaces: viewers differ in which spaces they keep, and stretch the rest."""
    for words in re.finditer(r"[^ ]+(?: [^ ]+)*", run.text):
        yield run._replace(text=words[0], cell=run.cell + cell_len(run.text[: words.start()]))


def _written(run: _Run) -> str:
    left, top = _MARGIN + _CELL_WIDTH * run.cell, _MARGIN + _ROW_HEIGHT * run.row
    width, style = _CELL_WIDTH * cell_len(run.text), run.style
    ink = style.color.get_truecolor(DEFAULT_TERMINAL_THEME).hex if style.color else _INK
    traits = [f'fill="{ink}"']
    traits += ['font-weight="bold"'] if style.bold else []
    traits += ['font-style="italic"'] if style.italic else []
    traits += ['text-decoration="underline"'] if style.underline else []
    traits += ['opacity="0.6"'] if style.dim else []
    length = f'textLength="{width:g}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{left:g}" y="{top + 15}" {length} {" ".join(traits)}>{escape(run.text)}</text>'
