"""The explanation of a text: printed as far as it fits the terminal, or step by step."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from tokbench.core.wording import counted
from tokbench.render.explain.painter import LABEL, Painter, labelled, shortened
from tokbench.render.explain.traces import step_frames
from tokbench.render.glyphs import visible
from tokbench.render.palette import FAINT, palette_for, rule_with_title
from tokbench.render.terminal import Line, folded, print_folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from tokbench.render.explain.traces import Frame
    from tokbench.workbench.explain import ExplainResult

_BOLD = Style(bold=True)
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
    shown: dict[int, int] = {}
    for number, step in enumerate(result.steps, 1):
        again = shown.setdefault(id(step.trace), number)
        yield from step_frames(step, painter, number=number, again=again)


def _closing(result: ExplainResult, painter: Painter) -> Frame:
    return (
        [] if result.token is not None else [Line(Text()), labelled("tokens", _all_tokens(result, painter))]
    )


# --- before the model -------------------------------------------------------------------------


def _head(result: ExplainResult, painter: Painter) -> Frame:
    title = rule_with_title(visible(result.info.name), result.explanation.algorithm, width=painter.width)
    return [Line(title), labelled("text", Text(shortened(result.explanation.text)))]


def _preparation(result: ExplainResult, painter: Painter) -> Frame:
    found = result.explanation
    lines = [
        labelled(
            "normalize",
            Text("nothing changes" if not found.changes else counted(len(found.changes), "change")),
        )
    ]
    for change in found.changes[:_CHANGES_SHOWN]:
        before, after = (shortened(part) or "nothing" for part in (change.before, change.after))
        lines.append(
            Line(
                Text.assemble(
                    (before, _BOLD), " → ", (after, _BOLD), (f"  at byte {change.span.start}", FAINT)
                ),
                LABEL,
            )
        )
    if (more := len(found.changes) - _CHANGES_SHOWN) > 0:
        lines.append(Line(Text(f"… and {counted(more, 'other')}", FAINT), LABEL))
    pretokens = [step.pretoken.text.encode() for step in found.steps]
    lines.append(labelled("split", Text(f"{counted(len(pretokens), 'pre-token')}: {found.splitter}")))
    lines.append(Line(painter.cells(pretokens, room=_ROWS_OF_TOKENS * (painter.width - LABEL)), LABEL))
    return lines


def _all_tokens(result: ExplainResult, painter: Painter) -> Text:
    tokens = [symbol.data for step in result.steps for symbol in step.trace.tokens]
    drawn = painter.cells(tokens, room=_ROWS_OF_TOKENS * (painter.width - LABEL))
    drawn.append(f"  {len(tokens):,}", FAINT)
    return drawn
