"""The steps of an algorithm on a pre-token as frames (groups of lines), and all steps of a text, for viz --steps."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

from tokbench.core.tokens import TokenKind
from tokbench.explain.derivation import LatticeTrace, LongestMatchTrace, LookupTrace, MergeTrace
from tokbench.explain.sentences import alternative_in_words, cause_in_words, percent, rank_of
from tokbench.render.glyphs import EMPTY_MARK, glyphs_of, text_of, visible
from tokbench.render.terminal import Line, print_folded
from tokbench.render.token_view import CUBE, FAINT, palette_for, rule_with_title

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from tokbench.explain.causes import Symbol
    from tokbench.explain.derivation import ExplainedStep, Explanation
    from tokbench.render.token_view import Palette

_SEPARATOR = "│"
LABEL = 11
"""Columns of the labels on the left."""


class Painter:
    """Renders tokens side by side: with backgrounds, or with separators if there is no colour."""

    def __init__(self, palette: Palette | None, width: int) -> None:
        self.palette = palette
        self.width = width

    def cells(
        self, tokens: Sequence[bytes], *, room: int | None = None, focus: int = 0, first: int = 0
    ) -> Text:
        """Return tokens in one row; with `room`, only those around the focus that fit, or the beginning of one."""
        start, stop = (0, len(tokens)) if room is None else self._window(tokens, room, focus)
        shown = list(map(_cell_text, tokens[start:stop]))
        if room is not None and len(shown) == 1:
            shown[0] = _with_ellipsis(shown[0], room)
        drawn = Text().append("…" if start else "", FAINT)
        for number, text in enumerate(shown, start):
            if self.palette is None:
                drawn.append(_SEPARATOR if number > start else "")
                drawn.append(text)
            else:
                look = self.palette.look(TokenKind.NORMAL, turn=first + number)
                drawn.append(text, look.text)
        drawn.append("…" if stop < len(tokens) else "", FAINT)
        return drawn

    def _window(self, tokens: Sequence[bytes], room: int, focus: int) -> tuple[int, int]:
        between = 1 if self.palette is None else 0
        if not tokens:
            return 0, 0
        start, stop = focus, focus + 1
        used = cell_len(_cell_text(tokens[focus])) + 2
        while True:
            right = used + between + cell_len(_cell_text(tokens[stop])) if stop < len(tokens) else None
            left = used + between + cell_len(_cell_text(tokens[start - 1])) if start else None
            if right is not None and right <= room:
                used, stop = right, stop + 1
            elif left is not None and left <= room:
                used, start = left, start - 1
            else:
                return start, stop


def _cell_text(token: bytes) -> str:
    return text_of(glyphs_of(token)) or EMPTY_MARK


def _with_ellipsis(shown: str, room: int) -> str:
    return shown if cell_len(shown) <= room else set_cell_size(shown, room - 1).rstrip(" ") + "…"


def labelled(label: str, text: Text) -> Line:
    """Return a line with a label on its left."""
    return Line(Text.assemble((f"{label:<{LABEL}}", FAINT), text), label=LABEL)


def shortened(text: str) -> str:
    """Return a text as it is displayed, truncated if it is long."""
    shown = text_of(glyphs_of(text.encode()))
    return shown if len(shown) <= 200 else shown[:199] + "…"


def symbol_text(symbol: Symbol) -> str:
    """Return the displayed text of a symbol."""
    return text_of(glyphs_of(symbol.data))


_BOLD = Style(bold=True)
_NARROW = 20
"""Minimum columns for the state after a merge; with fewer, the state gets a line of its own."""
_STATES_SHOWN = 64
"""Pre-tokens with more symbols are shown without the state after each merge."""
_MERGES_SHOWN = 40
_ROWS_OF_CAUSE = 6
"""Rows of tokens whose boundaries have the same cause."""
_LATTICE_SHOWN = 24
_STEP = 5


Frame = list[Line]
"""Lines that appear together."""


def step_frames(
    step: ExplainedStep, painter: Painter, *, number: int, again: int, causes: bool = True
) -> Iterator[Frame]:
    """Yield the frames of a pre-token and its tokenization.

    Args:
        step: the step to show.
        painter: renders the tokens.
        number: number of the step, from 1.
        again: number of the first step with the same trace; only that one is shown in full.
        causes: whether to explain each boundary.
    """
    pretoken, trace = step.pretoken, step.trace
    made_by = "" if pretoken.alternative is None else f"  {alternative_in_words(pretoken.alternative)}"
    tokens = painter.cells([symbol.data for symbol in trace.tokens], first=step.first, room=painter.width)
    title = Text.assemble((f"{number:>3}  ", FAINT), (shortened(pretoken.text), _BOLD))
    if again != number:
        yield [Line(title + Text(f"  as {again}: ", FAINT) + tokens, label=_STEP)]
        return
    yield [Line(Text()), Line(title + Text(made_by, FAINT), label=_STEP)]
    match trace:
        case MergeTrace():
            yield from _merge_frames(trace, painter)
        case LongestMatchTrace():
            yield from _match_frames(trace, painter)
        case LatticeTrace():
            yield from _lattice_frames(trace, painter)
        case LookupTrace():
            yield [_line(tokens, (f"  {trace.rule}", FAINT))]
            return
    if causes:
        yield from _cause_frames(trace, painter)


def _cause_frames(trace: MergeTrace | LongestMatchTrace | LatticeTrace, painter: Painter) -> Iterator[Frame]:
    """Yield the causes of the boundaries; neighbouring boundaries with the same cause share a line."""
    place = 0
    for sentence, same in groupby(map(cause_in_words, trace.causes)):
        stop = place + sum(1 for _ in same)
        same_cause = [symbol.data for symbol in trace.tokens[place : stop + 1]]
        tokens = painter.cells(same_cause, room=_ROWS_OF_CAUSE * painter.width, first=place)
        yield [_line(tokens, "  ", sentence)]
        place = stop


def _merge_frames(trace: MergeTrace, painter: Painter) -> Iterator[Frame]:
    tokens = painter.cells([symbol.data for symbol in trace.tokens], room=painter.width)
    if trace.dropped:
        missing = "".join(dict.fromkeys(trace.dropped))
        them = "it" if len(missing) == 1 else "them"
        reason = f"in no token: the vocabulary lacks {them}, and there is no unknown token"
        yield [_line((shortened(missing), _BOLD), (f"  {reason}", FAINT))]
        if not trace.tokens:
            return
    if trace.whole:
        yield [_line(tokens, f"  a token as a whole, id {trace.tokens[0].id}: nothing is merged")]
        return
    if not trace.steps:
        yield [_line(tokens, "  nothing is merged")]
        return
    has_states = len(trace.symbols) <= _STATES_SHOWN
    names = [f"{symbol_text(step.rule.left)} + {symbol_text(step.rule.right)}" for step in trace.steps]
    ranks = [rank_of(step.rule) for step in trace.steps]
    widest = min(max(map(cell_len, names)), painter.width // 3)
    rank_width = max(map(len, ranks))
    column = rank_width + widest + 4
    is_narrow = painter.width - _STEP - column < _NARROW
    if is_narrow:
        column = 2
    room = painter.width - _STEP - column
    start = painter.cells([symbol.data for symbol in trace.symbols], room=room)
    yield [_line(" " * column, start)]
    states = (state for _, state in trace.states()) if has_states else None
    for number, (rank, name) in enumerate(zip(ranks, names, strict=True)):
        state = next(states) if states is not None else ()
        if _MERGES_SHOWN // 2 <= number < len(ranks) - _MERGES_SHOWN // 2:
            if number == _MERGES_SHOWN // 2:
                yield [_line((f"… {len(ranks) - _MERGES_SHOWN:,} merges …", FAINT))]
            continue
        line = Text.assemble((f"{rank:>{rank_width}}", FAINT), "  ", _padded(name, widest), "  ")
        drawn = Text()
        if state:
            focus = _position_of_merged(trace, number, state)
            drawn = painter.cells([symbol.data for symbol in state], room=room, focus=focus)
        if is_narrow:
            yield [_line((rank, FAINT), f"  {name}"), Line(drawn, _STEP + column)]
        else:
            yield [Line(line + drawn, _STEP)]


def _position_of_merged(trace: MergeTrace, number: int, state: Sequence[Symbol]) -> int:
    """Return the position in a state of the symbol that a merge has just produced."""
    merged_away = {step.middle for step in trace.steps[: number + 1]}
    start = trace.steps[number].start
    return min(sum(1 for place in range(start) if place not in merged_away), len(state) - 1)


def _match_frames(trace: LongestMatchTrace, painter: Painter) -> Iterator[Frame]:
    if trace.too_long is not None:
        yield [_line(f"a word of more than {trace.too_long} characters is unknown as a whole")]
        return
    for step in trace.steps:
        line = Text.assemble((shortened(step.rest), _BOLD), "  ")
        if step.taken is None:
            line.append(f"no piece begins it, not even {step.missing}: the word is unknown")
        else:
            line.append("begins with  ", FAINT)
            line.append_text(painter.cells([step.taken.data]))
            shorter = ", ".join(symbol_text(symbol) for symbol in step.shorter[:5])
            line.append(f"  and with {shorter}" if shorter else "", FAINT)
        yield [Line(line, _STEP)]


def _lattice_frames(trace: LatticeTrace, painter: Painter) -> Iterator[Frame]:
    if len(trace.text) <= _LATTICE_SHOWN:
        yield list(_lattice_lines(trace))
    else:
        too_large = f"its lattice of {len(trace.edges):,} pieces is too large to draw: --json has it"
        yield [_line((too_large, FAINT))]
    lines = [_line(("score      share   segmentation", FAINT))]
    for path in trace.paths:
        pieces = painter.cells([edge.piece.data for edge in path.edges], room=painter.width - 27)
        lines.append(_line(f"{path.score:>9.3f}  {percent(path.probability):>8}  ", pieces))
    if trace.margin is not None:
        lines.append(_line((f"the best is {trace.margin:.3f} ahead of the second", FAINT)))
    yield lines


def _lattice_lines(trace: LatticeTrace) -> Iterator[Line]:
    """Yield the edges of a lattice, one per line, aligned below the characters that they cover."""
    chosen = set(trace.paths[0].edges)
    columns = [0]
    for character in trace.text:
        columns.append(columns[-1] + cell_len(text_of(glyphs_of(character.encode()))))
    yield _line(text_of(glyphs_of(trace.text.encode())))
    for edge in sorted(trace.edges, key=lambda edge: (edge.start, edge.stop)):
        style = _BOLD if edge in chosen else FAINT
        shown = text_of(glyphs_of(edge.piece.data))
        line = Text.assemble(" " * columns[edge.start], (shown, style))
        line.append(" " * max(columns[-1] - line.cell_len + 2, 1))
        line.append(f"{edge.score:8.3f}{'' if edge.piece.id is not None else '  no piece'}", style)
        yield Line(line, _STEP)


def _line(*parts: str | Text | tuple[str, Style]) -> Line:
    return Line(Text.assemble(*parts), _STEP)


def _padded(text: str, width: int) -> str:
    return text + " " * max(width - cell_len(text), 0)


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
    shown: set[Hashable] = set()
    for number, step in enumerate(explanation.steps, 1):
        if (key := step.key) not in shown:
            shown.add(key)
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
