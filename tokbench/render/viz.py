"""`tokbench viz`: the tokens of a text under one or several tokenizers, for the terminal."""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from tokbench.core.wording import counted, is_or_are
from tokbench.render.glyphs import glyphs_of, spelled, visible
from tokbench.render.token_view import FAINT, MIN_WIDTH, Line, Row, palette_for, rule_with_title, token_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

    from tokbench.core.graphemes import CutCluster
    from tokbench.render.glyphs import Glyph
    from tokbench.workbench.viz import VizResult, VizTokenizer

Layout = Literal["stacked", "side-by-side"]

MIN_COLUMN = 40
"""The minimum column width for showing tokenizers side by side."""

_GUTTER = 3
_BLANK = Row((), 0)
_BOLD = Style(bold=True)
_BATCH = 256  # rows per write
_CUTS_LISTED = 5
_INDENT = "  "
_PARTS_LISTED = 8


class ShownText(NamedTuple):
    """One of several texts: its name in messages, and its tokens."""

    source: str
    result: VizResult


class _Note(NamedTuple):
    """A note below the tokens."""

    text: Text
    indent: int = 0


class _Section(NamedTuple):
    """The section of one tokenizer."""

    header: Row
    tokens: Iterator[Line]
    footer: Iterator[Row]


def render_viz(result: VizResult, *, console: Console, ids: bool = False, layout: Layout = "stacked") -> None:
    """Print the tokens of a text with statistics beneath, then the steps of the tokenizers if known.

    Args:
        result: the text and its tokenizers.
        console: the console to print to; it determines width and colours.
        ids: whether to show ids beneath the tokens.
        layout: "side-by-side" needs `MIN_COLUMN` columns per tokenizer, and falls back to "stacked" without them.
    """
    width = max(console.width, MIN_WIDTH)
    columns = len(result.views)
    needed = columns * MIN_COLUMN + (columns - 1) * _GUTTER
    beside = layout == "side-by-side" and columns > 1 and width >= needed
    section_width = (width + _GUTTER) // columns - _GUTTER if beside else width
    sections = (_section(view, console=console, width=section_width, ids=ids) for view in result.views)
    rows = _side_by_side(list(sections), width=section_width) if beside else _stacked(sections)
    _print(rows, console=console)
    notes = []
    if columns > 1:
        notes += [_Note(Text("")), _Note(comparison_of(result.views))]
    if layout == "side-by-side" and columns > 1 and not beside:
        notes.append(
            _Note(Text(f"shown stacked: side by side takes {needed} columns, and there are {width}"))
        )
    for note in notes:
        _print(_wrapped(note, console=console, width=width), console=console)
    _render_steps(result.views, console=console)


def _render_steps(views: Sequence[VizTokenizer], *, console: Console) -> None:
    """Print the steps of each tokenizer that has them, below all tokens."""
    explained = [(view, view.explanation) for view in views if view.explanation is not None]
    if explained:
        from tokbench.render.explain_traces import render_steps

        for view, explanation in explained:
            render_steps(explanation, name=view.info.name, console=console)


def render_source(source: str, *, console: Console) -> None:
    """Print a heading for one of several texts."""
    console.print(Text(visible(source), style=_BOLD))


# --- one tokenizer ----------------------------------------------------------------------------


def _section(view: VizTokenizer, *, console: Console, width: int, ids: bool) -> _Section:
    return _Section(
        header=_wrapped(_Note(_header(view, width=width)), console=console, width=width)[0],
        tokens=_token_lines(view, console=console, width=width, ids=ids),
        footer=_footer(view, console=console, width=width),
    )


def _footer(view: VizTokenizer, *, console: Console, width: int) -> Iterator[Row]:
    """Yield the rows below the tokens, which take a further pass over the text."""
    lines = (*cut_lines(view.cut_clusters()), *uncovered_line(view))
    for note in (_Note(statistics_of(view)), *map(_indented, lines)):
        yield from _wrapped(note, console=console, width=width)


def _token_lines(view: VizTokenizer, *, console: Console, width: int, ids: bool) -> Iterator[Line]:
    if not view.segmentation.text and not view.tokens:
        return iter([Line(rows=(_row([Segment("(empty text)", FAINT)]),))])
    return token_lines(view.segmentation, width=width, palette=palette_for(console), ids=ids)


def _header(view: VizTokenizer, *, width: int) -> Text:
    """Return a rule with the tokenizer's name, backend and vocabulary size."""
    about = f"{visible(view.info.backend)} · {view.info.vocab_size:,} tokens"
    return rule_with_title(visible(view.info.name), about, width=width)


def statistics_of(view: VizTokenizer) -> Text:
    """Return a summary of the tokens of a text.

    >>> from tokbench.core.interfaces import TokenizerInfo
    >>> from tokbench.workbench.viz import VizTokenizer
    >>> from tokbench.core.tokens import Segmentation
    >>> info = TokenizerInfo("mine", "bpe", 300, {}, lossless=True, kernel="native")
    >>> statistics_of(VizTokenizer(info, Segmentation("", ()))).plain
    '0 characters · 0 bytes · 0 tokens'
    """
    figures = [
        counted(view.characters, "character"),
        counted(view.num_bytes, "byte"),
        counted(view.tokens, "token"),
    ]
    if view.bytes_per_token is not None:
        figures.append(f"{view.bytes_per_token:.2f} bytes/token")
    return Text(" · ".join(figures))


def cut_lines(cuts: Sequence[CutCluster]) -> Iterator[str]:
    """Yield the number of cut characters, and the most frequent ones, indented."""
    if not cuts:
        return
    kinds = Counter((cut.text, cut.parts) for cut in cuts)
    yield f"{counted(len(cuts), 'character')} {is_or_are(len(cuts))} cut:"
    for (text, parts), times in kinds.most_common(_CUTS_LISTED):
        yield _INDENT + _cut_line(text, parts, times=times)
    if (more := len(kinds) - _CUTS_LISTED) > 0:
        yield f"{_INDENT}… and {counted(more, 'other')}"


def _indented(line: str) -> _Note:
    text = line.removeprefix(_INDENT)
    return _Note(Text(text), indent=len(line) - len(text))


def _cut_line(text: str, parts: Sequence[bytes], *, times: int) -> str:
    r"""Describe one cut character: its glyphs, where it is cut, its code points.

    >>> _cut_line("é", (b"\xc3", b"\xa9"), times=2)
    'é  ⟨C3⟩ ╎ ⟨A9⟩  U+00E9 LATIN SMALL LETTER E WITH ACUTE  ×2'
    """
    names = [f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip() for character in text]
    columns = [
        _drawn(glyphs_of(text.encode())),
        _listed([_drawn(spelled(part)) for part in parts], separator=" ╎ "),
        _listed(names, separator=", "),
    ]
    return "  ".join([*columns, f"×{times:,}"] if times > 1 else columns)


def _drawn(glyphs: Sequence[Glyph]) -> str:
    return _listed([glyph.text for glyph in glyphs], separator="")


def uncovered_line(view: VizTokenizer) -> Iterator[str]:
    """Yield a line with the number of bytes that no token covers, if any."""
    size = view.num_bytes
    uncovered, reached = 0, 0
    for start, stop in [*sorted(view.spans()), (size, size)]:
        if start > reached:
            uncovered += min(start, size) - min(reached, size)
        reached = max(reached, stop)
    if uncovered:
        yield f"{counted(uncovered, 'byte')} of the text {is_or_are(uncovered)} in no token"


# --- several tokenizers -----------------------------------------------------------------------


def _stacked(sections: Iterable[_Section]) -> Iterator[Row]:
    for index, section in enumerate(sections):
        if index:
            yield _BLANK
        yield section.header
        for line in section.tokens:
            yield from line.rows
        yield from section.footer


def _side_by_side(sections: Sequence[_Section], *, width: int) -> Iterator[Row]:
    yield _join_rows([section.header for section in sections], width=width)
    for lines in _aligned_lines([section.tokens for section in sections]):
        for rows in zip_longest(*(line.rows if line else () for line in lines)):
            yield _join_rows(rows, width=width)
    for rows in zip_longest(*(section.footer for section in sections)):
        yield _join_rows(rows, width=width)


def _aligned_lines(columns: Sequence[Iterator[Line]]) -> Iterator[list[Line | None]]:
    """Yield lines of several views side by side; a new line of the text starts in all views at once."""
    waiting = [False] * len(columns)
    while True:
        lines = [
            None if waits else next(column, None) for column, waits in zip(columns, waiting, strict=True)
        ]
        if not any(lines):
            return
        yield lines
        waiting = [line is None or line.ends_text_line for line in lines]
        if all(waiting):
            waiting = [False] * len(columns)


def _join_rows(rows: Iterable[Row | None], *, width: int) -> Row:
    """Join rows side by side, each but the last padded to its column."""
    segments: list[Segment] = []
    total = 0
    for index, row in enumerate(rows):
        column = index * (width + _GUTTER)
        if row is not None and row.segments:
            segments += [Segment(" " * (column - total)), *row.segments]
            total = column + row.width
    return Row(tuple(segments), total)


def comparison_of(views: Sequence[VizTokenizer]) -> Text:
    """Compare the tokenizers by their number of tokens, the fewest first.

    >>> from tokbench.core.interfaces import TokenizerInfo
    >>> from tokbench.workbench.viz import VizTokenizer
    >>> from tokbench.core.tokens import Segmentation, Span, Token, TokenKind
    >>> def view(name, tokens):
    ...     made = Segmentation("", (Token(0, b"", Span(0, 0), TokenKind.NORMAL),) * tokens)
    ...     return VizTokenizer(TokenizerInfo(name, "bpe", 300, {}, lossless=True, kernel="native"), made)
    >>> comparison_of([view("wide", 5), view("tight", 4)]).plain
    'tokens: tight 4 · wide 5 (+25.0 %)'
    """
    ranked = sorted(views, key=lambda view: view.tokens)
    fewest = ranked[0].tokens
    items = []
    for view in ranked:
        item = f"{visible(view.info.name)} {view.tokens:,}"
        if 0 < fewest < view.tokens:
            item += f" (+{100 * (view.tokens / fewest - 1):.1f} %)"
        items.append(item)
    return Text(f"tokens: {' · '.join(items)}")


# --- rows and words ---------------------------------------------------------------------------


class _Rows:
    """Rows as a rich renderable."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for row in self._rows:
            yield from row.segments
            yield Segment.line()


def _print(rows: Iterable[Row], *, console: Console) -> None:
    """Print rows in batches as they become available."""
    coming = iter(rows)
    while batch := list(islice(coming, _BATCH)):
        console.print(_Rows(batch), end="", crop=False)


def _wrapped(note: _Note, *, console: Console, width: int) -> list[Row]:
    """Wrap a note into rows between words."""
    options = console.options.update(width=width - note.indent, height=None)
    indent = [Segment(" " * note.indent)] if note.indent else []
    lines = console.render_lines(note.text, options, pad=False)
    return [_row([*indent, *line]) for line in lines]


def _row(segments: Sequence[Segment]) -> Row:
    return Row(tuple(segments), sum(segment.cell_length for segment in segments))


def _listed(parts: Sequence[str], *, separator: str) -> str:
    """Join parts in one line; of many parts only the first ones."""
    more = len(parts) - _PARTS_LISTED
    return separator.join(parts[:_PARTS_LISTED]) + (f" … and {more:,} more" if more > 0 else "")
