"""`tokbench explain`: how a text becomes tokens, step by step, to be read or projected."""

from __future__ import annotations

from itertools import chain, groupby, islice
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from tokbench.core.plurals import counted, is_or_are
from tokbench.core.tokens import TokenKind
from tokbench.explain.sentences import alternative_in_words, cause_in_words, percent, rank_of
from tokbench.explain.traces import LatticeTrace, LongestMatchTrace, LookupTrace, MergeTrace
from tokbench.render.folding import Line, folded
from tokbench.render.glyphs import glyphs_of, text_of, visible
from tokbench.render.palette import FAINT, palette_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

    from tokbench.explain.derivation import ExplainedStep
    from tokbench.explain.records import MergeRecord
    from tokbench.explain.symbols import Symbol
    from tokbench.render.palette import Palette
    from tokbench.workbench.explain import ExplainResult, MergesResult, WordResult
    from tokbench.workbench.find_splits import SplitsResult

_BOLD = Style(bold=True)
_NARROW = 20
"""Columns for what there is after a merge; with less it has a line of its own."""
_SEPARATOR = "│"
_MOST_LINES = 400
"""Lines where the output is no terminal, which has a height."""
_STATES_SHOWN = 64
"""Pre-tokens of more symbols are shown without what there is after each merge."""
_MERGES_SHOWN = 40
_LATTICE_SHOWN = 24
_ROWS_OF_TOKENS = 6
_CHANGES_SHOWN = 6
_LABEL = 11
_COUNT = 11
_STEP = 5


Frame = list[Line]
"""Lines that appear together."""


def render_explanation(result: ExplainResult, *, console: Console) -> None:
    """Print an explanation, as much of it as fits the terminal; the tokens come last in any case."""
    painter = _Painter(palette_for(console), console.width)
    closing = [row for line in _closing(result, painter) for row in folded(line, console)]
    most = max(console.height - 3, 20) - len(closing) if console.is_terminal else _MOST_LINES
    lines = (line for frame in _step_by_step(result, painter) for line in frame)
    rows = (row for line in lines for row in folded(line, console))
    for row in islice(rows, most):
        console.print(row, soft_wrap=True)
    if next(rows, None) is not None:
        more = "… and more: --token N shows the steps of one token, --play all of them"
        console.print(Text(more, FAINT), soft_wrap=True)
    for row in closing:
        console.print(row, soft_wrap=True)


def play_explanation(result: ExplainResult, *, console: Console, wait: Callable[[], bool]) -> None:
    """Print an explanation step by step.

    Args:
        result: the explanation.
        console: where to.
        wait: returns when the next step is wanted; False ends it.
    """
    painter = _Painter(palette_for(console), console.width)
    for number, frame in enumerate(chain(_step_by_step(result, painter), [_closing(result, painter)])):
        if number and not wait():
            return
        for line in frame:
            for row in folded(line, console):
                console.print(row, soft_wrap=True)


def render_words(result: WordResult, *, console: Console) -> None:
    """Print why words are one token, or are not."""
    for answer in result.answers:
        rows = folded(Line(Text(answer.sentence)), console)
        if answer.change is not None:
            rows += folded(Line(Text(f"It would be one with {answer.change}.")), console)
        for row in rows:
            console.print(row, soft_wrap=True)


def render_merges(result: MergesResult, *, console: Console) -> None:
    """Print merges of a vocabulary, one below another."""
    painter = _Painter(palette_for(console), console.width)
    for number, record in enumerate(result.records):
        if number:
            console.print()
        for line in _record_lines(record, painter):
            for row in folded(line, console):
                console.print(row, soft_wrap=True)


def _record_lines(record: MergeRecord, painter: _Painter) -> Iterator[Line]:
    title = Text.assemble((f"merge {record.rank:,}", _BOLD), f" of {record.merges:,}   ")
    title.append_text(painter.cells([record.left.data, record.right.data]))
    title.append(" → ").append_text(painter.cells([record.made.data], first=2))
    yield Line(title + Text(f"   id {record.made.id}", FAINT))
    parts = ((record.left, record.left_rank), (record.right, record.right_rank))
    made_by = "; ".join(
        f"{_plain(symbol)} {'was there before' if rank is None else f'by merge {rank:,}'}"
        for symbol, rank in parts
    )
    yield Line(Text.assemble(("parts", FAINT), "      ", made_by), 2)
    if record.count is not None:
        yield Line(
            Text.assemble(
                ("count", FAINT), f"      {counted(record.count, 'occurrence')} when it was merged"
            ),
            2,
        )
    uses = ", ".join(f"{_plain(use.made)} ({use.rank:,})" for use in record.used_by)
    more = (
        f" and {record.num_uses - len(record.used_by):,} more"
        if record.num_uses > len(record.used_by)
        else ""
    )
    yield Line(Text.assemble(("used by", FAINT), f"    {uses or 'no later merge'}{more}"), 2)
    if record.displaced is None:
        yield Line(Text("displaced  not known: `tokbench train --trace` keeps it", FAINT), 2)
        return
    for number, pair in enumerate(record.displaced):
        later = "never merged" if pair.rank is None else f"merged at rank {pair.rank:,}"
        label = "displaced" if not number else ""
        shown = f"{_plain(pair.left)} + {_plain(pair.right)}"
        yield Line(
            Text.assemble(
                (f"{label:<11}", FAINT), shown, f"  lost {counted(pair.lost, 'occurrence')}, {later}"
            ),
            2,
        )
    if not record.displaced:
        yield Line(Text.assemble(("displaced", FAINT), "  nothing"), 2)


def render_splits(result: SplitsResult, *, console: Console) -> None:
    """Print the words that are cut as was asked, with the first cause of each."""
    found, painter = result.found, _Painter(palette_for(console), console.width)
    for word in found.words:
        line = Text.assemble(
            painter.cells([symbol.data for symbol in word.tokens]), ("  " + word.causes[0], FAINT)
        )
        first, *others = folded(Line(line, _COUNT), console)
        console.print(Text(f"{word.count:>{_COUNT - 2},}  ", FAINT) + first[_COUNT:], soft_wrap=True)
        for row in others:
            console.print(row, soft_wrap=True)
    share = found.cut / found.occurrences if found.occurrences else 0.0
    words = f"{counted(len(found.words), 'word')} {is_or_are(len(found.words))}"
    more = "" if found.is_complete else ", and there may be more"
    note = (
        f"{words} cut at {visible(result.asked)}{more}; of {counted(found.occurrences, 'word')} of the corpus, "
        f"{found.distinct:,} different ones, {percent(share)} have several tokens"
    )
    for row in folded(Line(Text(note, FAINT)), console):
        console.print(row, soft_wrap=True)


def _step_by_step(result: ExplainResult, painter: _Painter) -> Iterator[Frame]:
    """The frames of an explanation, one after another, but for the tokens at its end."""
    yield _head(result, painter)
    yield _preparation(result, painter)
    shown: dict[int, int] = {}
    for number, step in enumerate(result.steps, 1):
        again = shown.setdefault(id(step.trace), number)
        yield from _step_frames(step, painter, number=number, again=again)


def _closing(result: ExplainResult, painter: _Painter) -> Frame:
    return [] if result.token is not None else [Line(Text()), _row("tokens", _all_tokens(result, painter))]


# --- before the model -------------------------------------------------------------------------


def _head(result: ExplainResult, painter: _Painter) -> Frame:
    title = Text.assemble(
        ("── ", FAINT), (visible(result.info.name), _BOLD), f" · {result.explanation.algorithm} "
    )
    title.truncate(painter.width, overflow="ellipsis")
    title.append("─" * (painter.width - title.cell_len), FAINT)
    return [Line(title), _row("text", Text(_short(result.explanation.text)))]


def _preparation(result: ExplainResult, painter: _Painter) -> Frame:
    found = result.explanation
    lines = [
        _row(
            "normalize",
            Text("nothing changes" if not found.changes else counted(len(found.changes), "change")),
        )
    ]
    for change in found.changes[:_CHANGES_SHOWN]:
        before, after = (_short(each) or "nothing" for each in (change.before, change.after))
        lines.append(
            Line(
                Text.assemble(
                    (before, _BOLD), " → ", (after, _BOLD), (f"  at byte {change.span.start}", FAINT)
                ),
                _LABEL,
            )
        )
    if (more := len(found.changes) - _CHANGES_SHOWN) > 0:
        lines.append(Line(Text(f"… and {counted(more, 'other')}", FAINT), _LABEL))
    pretokens = [step.pretoken.text.encode() for step in found.steps]
    lines.append(_row("split", Text(f"{counted(len(pretokens), 'pre-token')}: {found.splitter}")))
    lines.append(Line(painter.cells(pretokens, room=_ROWS_OF_TOKENS * (painter.width - _LABEL)), _LABEL))
    return lines


def _all_tokens(result: ExplainResult, painter: _Painter) -> Text:
    tokens = [symbol.data for step in result.steps for symbol in step.trace.tokens]
    drawn = painter.cells(tokens, room=_ROWS_OF_TOKENS * (painter.width - _LABEL))
    drawn.append(f"  {len(tokens):,}", FAINT)
    return drawn


# --- pre-tokens -------------------------------------------------------------------------------


def _step_frames(step: ExplainedStep, painter: _Painter, *, number: int, again: int) -> Iterator[Frame]:
    pretoken, trace = step.pretoken, step.trace
    made_by = "" if pretoken.alternative is None else f"  {alternative_in_words(pretoken.alternative)}"
    tokens = painter.cells([symbol.data for symbol in trace.tokens], first=step.first, room=painter.width)
    title = Text.assemble((f"{number:>3}  ", FAINT), (_short(pretoken.text), _BOLD))
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
            yield [Line(Text.assemble(tokens, (f"  {trace.rule}", FAINT)), _STEP)]
            return
    yield from _cause_frames(trace, painter)


def _cause_frames(trace: MergeTrace | LongestMatchTrace | LatticeTrace, painter: _Painter) -> Iterator[Frame]:
    """Why each boundary is there; neighbours of which the same is said share a line."""
    place = 0
    for sentence, same in groupby(map(cause_in_words, trace.causes)):
        stop = place + sum(1 for _ in same)
        tokens = painter.cells([symbol.data for symbol in trace.tokens[place : stop + 1]], first=place)
        yield [Line(Text.assemble(tokens, "  ", sentence), _STEP)]
        place = stop


def _merge_frames(trace: MergeTrace, painter: _Painter) -> Iterator[Frame]:
    tokens = painter.cells([symbol.data for symbol in trace.tokens], room=painter.width)
    if trace.whole:
        yield [
            Line(
                Text.assemble(tokens, f"  a token as a whole, id {trace.tokens[0].id}: nothing is merged"),
                _STEP,
            )
        ]
        return
    if not trace.steps:
        yield [Line(Text.assemble(tokens, "  nothing is merged"), _STEP)]
        return
    has_states = len(trace.symbols) <= _STATES_SHOWN
    names = [f"{_plain(step.rule.left)} + {_plain(step.rule.right)}" for step in trace.steps]
    ranks = [rank_of(step.rule) for step in trace.steps]
    widest = min(max(map(cell_len, names)), painter.width // 3)
    rank_width = max(map(len, ranks))
    column = rank_width + widest + 4
    is_narrow = painter.width - _STEP - column < _NARROW
    if is_narrow:
        column = 2
    room = painter.width - _STEP - column
    start = painter.cells([symbol.data for symbol in trace.symbols], room=room)
    yield [Line(Text.assemble(" " * column, start), _STEP)]
    states = (state for _, state in trace.states()) if has_states else None
    for number, (rank, name) in enumerate(zip(ranks, names, strict=True)):
        state = next(states) if states is not None else ()
        if _MERGES_SHOWN // 2 <= number < len(ranks) - _MERGES_SHOWN // 2:
            if number == _MERGES_SHOWN // 2:
                yield [Line(Text(f"… {len(ranks) - _MERGES_SHOWN:,} merges …", FAINT), _STEP)]
            continue
        line = Text.assemble((f"{rank:>{rank_width}}", FAINT), "  ", _padded(name, widest), "  ")
        drawn = Text()
        if state:
            focus = _place_of(trace, number, state)
            drawn = painter.cells([symbol.data for symbol in state], room=room, focus=focus)
        if is_narrow:
            yield [Line(Text.assemble((rank, FAINT), f"  {name}"), _STEP), Line(drawn, _STEP + column)]
        else:
            yield [Line(line + drawn, _STEP)]


def _place_of(trace: MergeTrace, number: int, state: Sequence[Symbol]) -> int:
    """Where in a state the symbol is that the merge of a number has just made."""
    gone = {step.middle for step in trace.steps[: number + 1]}
    start = trace.steps[number].start
    return min(sum(1 for place in range(start) if place not in gone), len(state) - 1)


def _match_frames(trace: LongestMatchTrace, painter: _Painter) -> Iterator[Frame]:
    if trace.too_long is not None:
        yield [Line(Text(f"a word of more than {trace.too_long} characters is unknown as a whole"), _STEP)]
        return
    for step in trace.steps:
        line = Text.assemble((_short(step.rest), _BOLD), "  ")
        if step.taken is None:
            line.append(f"no piece begins it, not even {step.missing}: the word is unknown")
        else:
            line.append("begins with  ", FAINT)
            line.append_text(painter.cells([step.taken.data]))
            shorter = ", ".join(_plain(symbol) for symbol in step.shorter[:5])
            line.append(f"  and with {shorter}" if shorter else "", FAINT)
        yield [Line(line, _STEP)]


def _lattice_frames(trace: LatticeTrace, painter: _Painter) -> Iterator[Frame]:
    if len(trace.text) <= _LATTICE_SHOWN:
        yield list(_lattice_lines(trace))
    else:
        yield [
            Line(
                Text(
                    f"its lattice of {len(trace.edges):,} pieces is too large to draw: --json has it", FAINT
                ),
                _STEP,
            )
        ]
    lines = [Line(Text("score      share   segmentation", FAINT), _STEP)]
    for path in trace.paths:
        line = Text.assemble(f"{path.score:>9.3f}  {percent(path.probability):>8}  ")
        line.append_text(painter.cells([edge.piece.data for edge in path.edges], room=painter.width - 27))
        lines.append(Line(line, _STEP))
    if trace.margin is not None:
        lines.append(Line(Text(f"the best is {trace.margin:.3f} ahead of the second", FAINT), _STEP))
    yield lines


def _lattice_lines(trace: LatticeTrace) -> Iterator[Line]:
    """The pieces of a lattice, a line for each, below the characters that they cover."""
    chosen = set(trace.paths[0].edges)
    columns = [0]
    for character in trace.text:
        columns.append(columns[-1] + cell_len(text_of(glyphs_of(character.encode()))))
    yield Line(Text(text_of(glyphs_of(trace.text.encode()))), _STEP)
    for edge in sorted(trace.edges, key=lambda edge: (edge.start, edge.stop)):
        style = _BOLD if edge in chosen else FAINT
        shown = text_of(glyphs_of(edge.piece.data))
        line = Text.assemble(" " * columns[edge.start], (shown, style))
        line.append(" " * max(columns[-1] - line.cell_len + 2, 1))
        line.append(
            f"{edge.score:8.3f}" if edge.piece.id is not None else f"{edge.score:8.3f}  no piece", style
        )
        yield Line(line, _STEP)


# --- drawing ----------------------------------------------------------------------------------


class _Painter:
    """Draws tokens side by side: with backgrounds, or with separators where there is no colour."""

    def __init__(self, palette: Palette | None, width: int) -> None:
        self.palette = palette
        self.width = width

    def cells(
        self, tokens: Sequence[bytes], *, room: int | None = None, focus: int = 0, first: int = 0
    ) -> Text:
        """Tokens in one row; with a room, only those round the focus that fit."""
        shown = [text_of(glyphs_of(token)) or "⟨empty⟩" for token in tokens]
        start, stop = (0, len(shown)) if room is None else self._window(shown, room, focus)
        drawn = Text("…" if start else "", FAINT)
        for number in range(start, stop):
            if self.palette is None:
                drawn.append(_SEPARATOR if number > start else "")
                drawn.append(shown[number])
            else:
                look = self.palette.look(TokenKind.NORMAL, turn=first + number)
                drawn.append(shown[number], look.text)
        drawn.append("…" if stop < len(shown) else "", FAINT)
        return drawn

    def _window(self, shown: Sequence[str], room: int, focus: int) -> tuple[int, int]:
        between = 1 if self.palette is None else 0
        if not shown:
            return 0, 0
        start, stop = focus, focus + 1
        used = cell_len(shown[focus]) + 2
        while True:
            right = used + between + cell_len(shown[stop]) if stop < len(shown) else None
            left = used + between + cell_len(shown[start - 1]) if start else None
            if right is not None and right <= room:
                used, stop = right, stop + 1
            elif left is not None and left <= room:
                used, start = left, start - 1
            else:
                return start, stop


def _row(label: str, text: Text) -> Line:
    return Line(Text.assemble((f"{label:<{_LABEL}}", FAINT), text), label=_LABEL)


def _short(text: str) -> str:
    shown = text_of(glyphs_of(text.encode()))
    return shown if len(shown) <= 200 else shown[:199] + "…"


def _plain(symbol: Symbol) -> str:
    return text_of(glyphs_of(symbol.data))


def _padded(text: str, width: int) -> str:
    return text + " " * max(width - cell_len(text), 0)
