"""What a command prints in colour, as an SVG."""

from __future__ import annotations

from html import escape

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

WIDTH, HEIGHT, MARGIN = 9.0, 22, 16
"""Of a cell, and around all of them, in pixels. Each run of text is stretched to its cells, whatever the font is."""
FONT = "ui-monospace, Menlo, Consolas, monospace"
GROUND, INK = "#16181d", "#d8dbe2"


def terminal_picture(printed: str, *, title: str) -> str:
    """The SVG of some lines with their control sequences; `title` is for those who do not see it."""
    lines = [Text.from_ansi(line) for line in printed.rstrip("\n").split("\n")]
    width = MARGIN * 2 + WIDTH * max(cell_len(line.plain) for line in lines)
    height = MARGIN * 2 + HEIGHT * len(lines)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>',
            f'<g font-family="{FONT}" font-size="15" shape-rendering="crispEdges" xml:space="preserve">',
            *(
                _run(text, style, cell, row)
                for row, line in enumerate(lines)
                for text, style, cell in _runs(line)
            ),
            "</g>",
            "</svg>\n",
        ]
    )


def _runs(line: Text) -> list[tuple[str, Style, int]]:
    """The runs of one style in a line, with the cell in which each begins."""
    found, cell = [], 0
    for segment in line.render(Console(), end=""):
        found.append((segment.text, segment.style or Style(), cell))
        cell += cell_len(segment.text)
    return found


def _run(text: str, style: Style, cell: int, row: int) -> str:
    left, top, width = MARGIN + WIDTH * cell, MARGIN + HEIGHT * row, WIDTH * cell_len(text)
    ground = style.bgcolor and style.bgcolor.get_truecolor(DEFAULT_TERMINAL_THEME).hex
    ink = style.color.get_truecolor(DEFAULT_TERMINAL_THEME).hex if style.color else INK
    traits = [f'fill="{ink}"']
    traits += ['font-weight="bold"'] if style.bold else []
    traits += ['text-decoration="underline"'] if style.underline else []
    traits += ['opacity="0.6"'] if style.dim else []
    drawn = (
        f'<rect x="{left:g}" y="{top}" width="{width:g}" height="{HEIGHT - 2}" fill="{ground}"/>'
        if ground
        else ""
    )
    if not text.strip():
        return drawn
    length = f'textLength="{width:g}" lengthAdjust="spacingAndGlyphs"'
    return f'{drawn}<text x="{left:g}" y="{top + 15}" {length} {" ".join(traits)}>{escape(text)}</text>'
