"""`tokbench viz --steps`: how each word of a text became tokens, for the terminal and as a part of a page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

from tokbench.render.explain.painter import Painter
from tokbench.render.explain.traces import step_frames
from tokbench.render.glyphs import visible
from tokbench.render.palette import CUBE, palette_for, rule_with_title
from tokbench.render.terminal import print_folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from tokbench.explain.derivation import Explanation
    from tokbench.render.terminal import Line

_PAGE_WIDTH = 110
"""Columns of the page; longer rows scroll."""


def render_steps(explanation: Explanation, *, name: str, console: Console) -> None:
    """Print how each word became tokens; repeated words are shown only once.

    Args:
        explanation: the explanation of the text.
        name: name of the tokenizer.
        console: the console to print to; it determines width and colours.
    """
    title = rule_with_title(f"steps of {visible(name)}", explanation.algorithm, width=console.width)
    console.print()
    console.print(title, soft_wrap=True)
    print_folded(_lines(explanation, Painter(palette_for(console), console.width)), console=console)


def steps_html(explanation: Explanation) -> str:
    """Return the same as a part of a page that can be collapsed."""
    console = Console(color_system="256", force_terminal=True, width=_PAGE_WIDTH)
    lines = _lines(explanation, Painter(CUBE, _PAGE_WIDTH))
    rows = "\n".join("".join(_drawn(line.text, indent=line.indent, console=console)) for line in lines)
    return f"<details open><summary>Steps: {escape(explanation.algorithm)}</summary><pre>{rows}</pre></details>\n"


def _lines(explanation: Explanation, painter: Painter) -> Iterator[Line]:
    shown: set[int] = set()
    for number, step in enumerate(explanation.steps, 1):
        if id(step.trace) not in shown:
            shown.add(id(step.trace))
            for frame in step_frames(step, painter, number=number, again=number, causes=False):
                yield from frame


def _drawn(text: Text, *, indent: int, console: Console) -> Iterator[str]:
    """Yield a line with the colours of the terminal."""
    yield " " * indent
    for segment in text.render(console, end=""):
        declared = _declared(segment.style or Style())
        words = escape(segment.text)
        yield f'<span style="{declared}">{words}</span>' if declared else words


def _declared(style: Style) -> str:
    rules = []
    if style.color is not None:
        rules.append(f"color:{style.color.get_truecolor(DEFAULT_TERMINAL_THEME).hex}")
    if style.bgcolor is not None:
        rules.append(f"background:{style.bgcolor.get_truecolor(DEFAULT_TERMINAL_THEME).hex}")
    if style.bold:
        rules.append("font-weight:700")
    if style.dim:
        rules.append("opacity:.75")
    return ";".join(rules)
