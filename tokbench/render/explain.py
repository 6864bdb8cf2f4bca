"""Explanations of a text, printed or step by step, and answers about words, merges, and words with certain cuts."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from tokbench.core.wording import counted, is_or_are
from tokbench.explain.sentences import percent
from tokbench.render.explain_traces import LABEL, Painter, labelled, shortened, step_frames, symbol_text
from tokbench.render.glyphs import visible
from tokbench.render.terminal import Line, folded, print_folded
from tokbench.render.token_view import FAINT, palette_for, rule_with_title

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from rich.console import Console

    from tokbench.explain.records import MergeRecord
    from tokbench.render.explain_traces import Frame
    from tokbench.workbench.explain import ExplainResult, MergesResult, SplitsResult, WordResult

_BOLD = Style(bold=True)
_COUNT = 11
_MOST_LINES = 400
"""Maximum number of lines if the output is not a terminal, which would have a height."""
_ROWS_OF_TOKENS = 6
_CHANGES_SHOWN = 6


def render_explanation(result: ExplainResult, *, console: Console) -> None:
    """Print an explanation, shortened to the height of the terminal; the tokens are always printed last."""
    painter = Painter(palette_for(console), console.width)
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
        console: the console to print to.
        wait: blocks until the next step is wanted; returns False to stop.
    """
    painter = Painter(palette_for(console), console.width)
    for number, frame in enumerate(chain(_step_by_step(result, painter), [_closing(result, painter)])):
        if number and not wait():
            return
        print_folded(frame, console=console)


def _step_by_step(result: ExplainResult, painter: Painter) -> Iterator[Frame]:
    """Yield the frames of an explanation in order, without the tokens at the end."""
    yield _head(result, painter)
    yield _preparation(result, painter)
    shown: dict[Hashable, int] = {}
    for number, step in enumerate(result.steps, 1):
        again = shown.setdefault(step.key, number)
        yield from step_frames(step, painter, number=number, again=again)


def _closing(result: ExplainResult, painter: Painter) -> Frame:
    return (
        [] if result.token is not None else [Line(Text()), labelled("tokens", _all_tokens(result, painter))]
    )


# --- before the model -------------------------------------------------------------------------


def _head(result: ExplainResult, painter: Painter) -> Frame:
    title = rule_with_title(visible(result.info.name), result.explanation.algorithm, width=painter.width)
    return [Line(title), labelled("text", Text(shortened(result.explanation.text) or "(empty text)"))]


def _preparation(result: ExplainResult, painter: Painter) -> Frame:
    found = result.explanation
    changes = tuple(iter(found.changes))
    lines = [
        labelled(
            "normalize",
            Text("no change" if not changes else counted(len(changes), "change")),
        )
    ]
    for change in changes[:_CHANGES_SHOWN]:
        before, after = (shortened(part) or "nothing" for part in (change.before, change.after))
        lines.append(
            Line(
                Text.assemble(
                    (before, _BOLD), " → ", (after, _BOLD), (f"  at byte {change.span.start}", FAINT)
                ),
                LABEL,
            )
        )
    if (more := len(changes) - _CHANGES_SHOWN) > 0:
        lines.append(Line(Text(f"… and {counted(more, 'other')}", FAINT), LABEL))
    lines.append(labelled("split", Text(f"{counted(len(found.steps), 'pre-token')}: {found.splitter}")))
    room = _room(painter)
    if pretokens := [step.pretoken.text.encode() for step in found.steps[: room + 1]]:
        lines.append(Line(painter.cells(pretokens, room=room), LABEL))
    return lines


def _room(painter: Painter) -> int:
    """Return the columns of tokens that are shown at most; one more token than columns is enough to fill them."""
    return _ROWS_OF_TOKENS * (painter.width - LABEL)


def _all_tokens(result: ExplainResult, painter: Painter) -> Text:
    room = _room(painter)
    tokens = (symbol.data for step in result.steps for symbol in step.trace.tokens)
    drawn = painter.cells(list(islice(tokens, room + 1)), room=room)
    drawn.append(f"{'  ' * bool(drawn)}{len(result.explanation.tokens):,}", FAINT)
    return drawn


def render_words(result: WordResult, *, console: Console) -> None:
    """Print why words are one token or several."""
    for answer in result.answers:
        lines = [answer.sentence]
        if answer.change is not None:
            lines.append(f"It would be one with {answer.change}.")
        print_folded((Line(Text(line)) for line in lines), console=console)


def render_merges(result: MergesResult, *, console: Console) -> None:
    """Print records of merges."""
    painter = Painter(palette_for(console), console.width)
    for number, record in enumerate(result.records):
        if number:
            console.print()
        print_folded(_record_lines(record, painter), console=console)


def _record_lines(record: MergeRecord, painter: Painter) -> Iterator[Line]:
    title = Text.assemble((f"merge {record.rank:,}", _BOLD), f" of {record.merges:,}   ")
    title.append_text(painter.cells([record.left.data, record.right.data]))
    title.append(" → ").append_text(painter.cells([record.merged.data], first=2))
    yield Line(title + Text(f"   id {record.merged.id}", FAINT))
    parts = ((record.left, record.left_rank), (record.right, record.right_rank))
    made_by = "; ".join(
        f"{symbol_text(symbol)} {'was there before' if rank is None else f'by merge {rank:,}'}"
        for symbol, rank in parts
    )
    yield _fact("parts", made_by)
    if record.count is not None:
        yield _fact("count", f"{counted(record.count, 'occurrence')} when it was merged")
    uses = ", ".join(f"{symbol_text(use.merged)} ({use.rank:,})" for use in record.used_by)
    others = record.num_uses - len(record.used_by)
    yield _fact("used by", f"{uses or 'no later merge'}{f' and {others:,} more' if others > 0 else ''}")
    if record.displaced is None:
        yield Line(Text("displaced  unknown: `tokbench train --trace` records it", FAINT), 2)
        return
    for number, pair in enumerate(record.displaced):
        later = "never merged" if pair.rank is None else f"merged at rank {pair.rank:,}"
        shown = f"{symbol_text(pair.left)} + {symbol_text(pair.right)}"
        label = "" if number else "displaced"
        yield _fact(label, f"{shown}  lost {counted(pair.lost, 'occurrence')}, {later}")
    if not record.displaced:
        yield _fact("displaced", "nothing")


def _fact(label: str, text: str) -> Line:
    return Line(Text.assemble((f"{label:<11}", FAINT), text), 2)


def render_splits(result: SplitsResult, *, console: Console) -> None:
    """Print the words that match a query for splits, with the first cause of each."""
    found, painter = result.found, Painter(palette_for(console), console.width)
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
        f"{words} cut at {visible(result.asked)}{more}; the corpus has {counted(found.occurrences, 'word')}, "
        f"{found.distinct:,} of them distinct, and {percent(share)} have several tokens"
    )
    print_folded([Line(Text(note, FAINT))], console=console)
