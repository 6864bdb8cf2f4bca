"""`tokbench viz --html` and `--svg`: texts with their tokens as a page or a picture, which load nothing."""

from __future__ import annotations

import math
import re
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

from tokbench.core.tokens import TokenKind
from tokbench.render.console import as_text
from tokbench.render.glyphs import visible
from tokbench.render.token_view import CUBE
from tokbench.render.visible_tokens import visible_tokens
from tokbench.render.viz import (
    ShownText,
    comparison_of,
    cut_lines,
    render_source,
    render_viz,
    statistics_of,
    uncovered_line,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.tokens import Segmentation, Token
    from tokbench.render.glyphs import Run
    from tokbench.render.visible_tokens import VisibleToken
    from tokbench.render.viz import Layout
    from tokbench.workbench.viz import VizResult, VizTokenizer

_STYLE = """
html{color-scheme:light dark}
body{margin:0 auto;max-width:75rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.3rem}h2{font-size:1.1rem;margin:2rem 0 .5rem;overflow-wrap:anywhere}
h3{font-size:1rem;margin:1rem 0 .3rem;overflow-wrap:anywhere}
p{margin:.3rem 0;overflow-wrap:anywhere}
li{-webkit-print-color-adjust:exact;print-color-adjust:exact}
.views{display:grid;grid-template-columns:minmax(0,1fr);gap:0 2rem}
.beside{grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr))}
"""
_TOKENS = """
ol{list-style:none;margin:.3rem 0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 0;
font:.95rem/1.5 ui-monospace,Menlo,Consolas,monospace}
li{max-width:100%}
li.break{flex-basis:100%;height:0}
li[title],li>span{display:block;white-space:pre-wrap;overflow-wrap:anywhere;padding:.05em .08em}
i.cut{text-decoration:underline}
small{display:block;font-size:.75rem;opacity:.75;padding-inline-end:.6em}
details{margin:.5rem 0}summary{cursor:pointer}
pre{margin:.3rem 0;overflow-x:auto;font:.9rem/1.6 ui-monospace,Menlo,Consolas,monospace}
.byte{font-style:italic}.special,.unknown{font-weight:700}.absent{opacity:.7}
"""
_KIND_SELECTORS = {kind: "" if kind is TokenKind.NORMAL else f".{kind.value}" for kind in TokenKind}
"""Ordinary tokens, which are most of a page, have the class of their colour alone."""


def _colours() -> str:
    """Return CSS rules for the colours of the terminal, one per look."""
    rules = []
    for kind, looks in CUBE.tokens.items():
        for turn, look in enumerate(looks):
            selected = f"{_KIND_SELECTORS[kind]}.c{turn}"
            rules.append(f"{selected}{{{_declared(look.text)}}}")
            rules.append(f"{selected} i{{{_declared(look.stand_in)};font-style:inherit}}")
    return "\n".join(rules)


def _declared(style: Style) -> str:
    assert style.color is not None
    assert style.bgcolor is not None
    ink, ground = (each.get_truecolor(DEFAULT_TERMINAL_THEME).hex for each in (style.color, style.bgcolor))
    return f"color:{ink};background:{ground}"


_TURNS = math.lcm(*map(len, CUBE.tokens.values()))
"""Tokens after which the colours of all kinds begin again."""
_MOST_KNOWN = 1 << 16
"""Maximum number of items that are kept."""
TOKEN_STYLE = _TOKENS + _colours()
"""CSS rules for tokens and steps, which may be nested in the rule of another element."""


def viz_page(shown: Sequence[ShownText], *, ids: bool = False, beside: bool = False) -> bytes:
    """Render texts with their tokens as an HTML page.

    The tooltip of a token has its id, its bytes and where it begins; screen readers get the same.

    Args:
        shown: the texts, in order.
        ids: whether to show ids beneath the tokens.
        beside: whether to show several tokenizers side by side if the window is wide enough.

    Returns:
        The page: light or dark as its reader prefers, with a policy that forbids loading anything.
    """
    body = "".join(part for text in shown for part in _text(text, ids=ids, beside=beside))
    return inert_page("Tokens", body, style=_STYLE + TOKEN_STYLE)


def inert_page(title: str, body: str, *, style: str) -> bytes:
    """Return a page that loads nothing and runs no scripts, with its title as heading."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{style}</style></head><body>\n"
        f"<h1>{title}</h1>\n{body}</body></html>\n"
    ).encode()


def shown_result(result: VizResult) -> Iterator[str]:
    """Render the tokens of a text with statistics, for another page that includes `TOKEN_STYLE`."""
    return _text(ShownText("", result), ids=False, beside=False)


def token_list(segmentation: Segmentation, *, ids: bool = False) -> str:
    """Render only the tokens of a text, likewise."""
    return f"<ol>{''.join(_items(segmentation, ids=ids))}</ol>\n"


def _text(shown: ShownText, *, ids: bool, beside: bool) -> Iterator[str]:
    yield f"<h2>{escaped(shown.source)}</h2>\n" if shown.source else ""
    yield f'<div class="views{" beside" if beside else ""}">\n'
    for view in shown.result.views:
        yield from _view(view, ids=ids)
    yield "</div>\n"
    if len(shown.result.views) > 1:
        yield f"<p>{escape(comparison_of(shown.result.views).plain)}</p>\n"


def _view(view: VizTokenizer, *, ids: bool) -> Iterator[str]:
    info = view.info
    yield f"<section><h3>{escaped(info.name)} · {escaped(info.backend)} · {info.vocab_size:,} tokens</h3>\n"
    yield token_list(view.segmentation, ids=ids)
    for line in (statistics_of(view).plain, *cut_lines(view.cut_clusters()), *uncovered_line(view)):
        yield f"<p>{escape(line)}</p>\n"
    if view.explanation is not None:
        from tokbench.render.explain_traces import steps_html

        yield steps_html(view.explanation)
    yield "</section>\n"


def _items(segmentation: Segmentation, *, ids: bool) -> Iterator[str]:
    """Yield the list items of tokens; one that occurs again in the same colour differs only in its place."""
    known: dict[tuple[Any, ...], tuple[str, str]] = {}
    for shown in visible_tokens(segmentation):
        token = shown.token
        key = (shown.strip, token and (token.id, token.piece, shown.turn % _TURNS, shown.covers_text))
        if (item := known.get(key)) is None:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            item = known[key] = _around_place(shown, ids=ids)
        before, after = item
        yield f"{before}{shown.start:,}{after}"


def _around_place(shown: VisibleToken, *, ids: bool) -> tuple[str, str]:
    """Return the item of a token, cut where its tooltip says at which byte of the text it is."""
    colour, token = _classes(shown), shown.token
    label = "in no token" if token is None else _label(token)
    end = '</li><li class="break" aria-hidden="true"></li>' if shown.strip.ends_line else "</li>"
    drawn = "".join(map(_run, shown.strip.runs))
    if ids and token is not None:
        return (
            f'<li><span{colour} title="{label}, at byte ',
            f'">{drawn}</span><small>{token.id}</small>{end}',
        )
    return f'<li{colour} title="{label}, at byte ', f'">{drawn}{end}'


def _classes(shown: VisibleToken) -> str:
    """Return the attribute with the colour of a token, and its kind if that is not the ordinary one."""
    token = shown.token
    if token is None:
        return ""
    colour = f"c{shown.turn % len(CUBE.tokens[token.kind])}"
    if token.kind is not TokenKind.NORMAL:
        return f' class="{token.kind.value} {colour}"'
    return f" class={colour}" if shown.covers_text else f' class="absent {colour}"'


def _label(token: Token) -> str:
    """Return the beginning of the tooltip of a token."""
    kind = "" if token.kind is TokenKind.NORMAL else f", {token.kind.value}"
    return f"id {token.id}{kind}, bytes {token.piece.hex(' ') or 'none'}"


def _run(run: Run) -> str:
    words = escape(run.text)
    if run.stand_in:
        return f"<i class=cut>{words}</i>" if run.cut else f"<i>{words}</i>"
    return f"<u>{words}</u>" if run.cut else words


def escaped(text: str) -> str:
    """Make all characters of a name visible, and escape them for HTML."""
    return escape(visible(text))


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
