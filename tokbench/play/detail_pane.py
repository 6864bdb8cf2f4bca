"""Details of the selected token, or the steps that made its pre-token."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Static

from tokbench.play.token_details import detail_lines, frames_of
from tokbench.render.token_view import palette_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from tokbench.play.rule import Rule
    from tokbench.play.token_details import TokenAnswer

_NARROWEST = 20
_NOTHING = "Type or paste a text: its tokens appear as you type."


class DetailPane(VerticalScroll, inherit_bindings=False):
    """The pane below the tokens.

    Args:
        rule: the line above it, which shows its title.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_up", show=False),
        Binding("down", "scroll_down", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown", "page_down", show=False),
        Binding("left", "step(-1)", show=False),
        Binding("right,space,enter", "step(1)", show=False),
        Binding("home", "step(-10000)", show=False),
        Binding("end", "step(10000)", show=False),
    ]

    def __init__(self, rule: Rule, *, id: str) -> None:
        super().__init__(id=id)
        self._rule = rule
        self._answer: TokenAnswer | None = None
        self._of = ""
        self._frame = 0
        self.shows_steps = False

    def compose(self) -> ComposeResult:
        """Yield the text widget."""
        yield Static(id="answer")

    def show(self, answer: TokenAnswer | None, *, of: str = "") -> None:
        """Show the details of a token.

        Args:
            answer: the details; None if there is no token.
            of: name of the tokenizer, if there are several.
        """
        if answer is None or self._answer is None or _pretoken(answer) != _pretoken(self._answer):
            self._frame = 0
        self._answer, self._of = answer, of
        self._write()

    def turn(self) -> None:
        """Toggle between token and steps."""
        self.shows_steps = not self.shows_steps
        self._frame = 0
        self._write()

    def on_resize(self) -> None:
        """Wrap the lines again."""
        self._write()

    def action_step(self, count: int) -> None:
        """Show more or fewer steps."""
        self._frame += count
        self._write()

    def _write(self) -> None:
        width = max(self.size.width - 2, _NARROWEST)
        of = f"of {self._of}" if self._of else ""
        if self._answer is None:
            self._rule.say("", title="token")
            self._lines([Text(_NOTHING, "dim")])
        elif self.shows_steps and self._answer.explained is not None:
            frames = frames_of(self._answer.explained, palette=palette_for(self.app.console), width=width)
            self._frame = max(min(self._frame, len(frames) - 1), 0)
            self._rule.say(
                f"{of} {self._frame + 1} of {len(frames)} · ← → go through them".strip(), title="steps"
            )
            self._lines(row for frame in frames[: self._frame + 1] for row in frame)
            self.call_after_refresh(self.scroll_end, animate=False)
        else:
            self._rule.say(of, title="token")
            self._lines(detail_lines(self._answer, width=width))
            self.scroll_home(animate=False)

    def _lines(self, lines: Iterable[Text]) -> None:
        self.query_one("#answer", Static).update(Text("\n").join(lines))


def _pretoken(answer: TokenAnswer) -> object:
    """Return a key that is equal for tokens of the same pre-token."""
    if answer.explained is None:
        return answer.index
    return answer.column.source, answer.explained.step.pretoken, answer.explained.step.first
