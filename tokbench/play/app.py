"""The session: a text, its tokens in up to three columns, and what there is to know of the selected one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import App
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Footer, Static

from tokbench.core.plurals import counted
from tokbench.play.background import Background
from tokbench.play.columns import encode_columns
from tokbench.play.editor import Editor
from tokbench.play.help_screen import HelpScreen
from tokbench.play.looks import looks_for
from tokbench.play.rule import Rule
from tokbench.play.token_details import ask_about, detail_lines
from tokbench.play.token_pane import TokenPane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from tokbench.core.tokens import SpecialPolicy
    from tokbench.errors import TokbenchError
    from tokbench.play.columns import Column, OpenTokenizer
    from tokbench.play.token_details import TokenAnswer

MOST_COLUMNS = 3
"""Tokenizers that are shown side by side."""
_FEW_COLOURS = ("standard", "windows")


class PlayApp(App[None]):
    """The session.

    Args:
        tokenizers: one to three, in the order of their columns.
        text: what the session begins with.
        special: what the text of a special token becomes.
        dark: whether the screen begins dark.
    """

    CSS_PATH = "play.tcss"
    ENABLE_COMMAND_PALETTE = False
    TITLE = "tokbench play"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help"),
        Binding("tab", "app.focus_next", "Next part", priority=True),
        Binding("shift+tab", "app.focus_previous", show=False, priority=True),
        Binding("f8", "turn", "Light/dark"),
        Binding("ctrl+q", "quit", "Quit", priority=True),
    ]

    def __init__(
        self, tokenizers: Sequence[OpenTokenizer], text: str, *, special: SpecialPolicy, dark: bool
    ) -> None:
        super().__init__()
        self._tokenizers = list(tokenizers)
        self._first_text = text
        self._special = special
        self._dark = dark
        self._columns: list[Column] = []
        self._answer: TokenAnswer | None = None
        self._encoding = Background(self, tell=self._tell)
        self._asking = Background(self, tell=self._tell)

    @property
    def is_busy(self) -> bool:
        """Whether tokens, or what there is to know of one, are on their way."""
        return self._encoding.is_busy or self._asking.is_busy

    @property
    def editor(self) -> Editor:
        """The text."""
        return self.query_one(Editor)

    @property
    def panes(self) -> list[TokenPane]:
        """The columns of tokens, from left to right."""
        return list(self.query(TokenPane))

    def compose(self) -> ComposeResult:
        """The parts of the screen, from above."""
        yield Rule("text", id="text-rule")
        yield Editor(self._first_text, id="text")
        with Horizontal(id="columns"):
            for tokenizer in self._tokenizers:
                yield TokenPane(tokenizer.name)
        yield Rule("token", id="details-rule")
        with VerticalScroll(id="details"):
            yield Static(id="answer")
        yield Footer()

    def on_mount(self) -> None:
        """Begin."""
        self._dress()
        self.editor.focus()
        self._encode()

    # --- tokens -------------------------------------------------------------------------------

    @on(Editor.Edited)
    def _encode(self) -> None:
        """Encode the text as it is now, on a thread."""
        text, tokenizers = self.editor.buffer.text, list(self._tokenizers)
        self.query_one("#text-rule", Rule).say(f"{counted(len(text), 'character')} · encoding …")
        self._encoding.ask(lambda: encode_columns(tokenizers, text, special=self._special), self._show)

    def _show(self, columns: list[Column]) -> None:
        """Show the tokens of the text."""
        self._columns = columns
        data = columns[0].data
        characters = counted(len(self.editor.buffer.text), "character")
        self.query_one("#text-rule", Rule).say(f"{characters} · {counted(len(data), 'byte')}")
        looks = looks_for(self.console, dark=self._dark)
        fewest = min(map(len, columns))
        for pane, column in zip(self.panes, columns, strict=False):
            pane.show(column, looks=looks, fewest=fewest, has_others=len(columns) > 1)
        self._follow_cursor()

    @on(Editor.Moved)
    def _follow_cursor(self) -> None:
        """Select the tokens under the cursor."""
        buffer = self.editor.buffer
        self._select(len(buffer.text[: buffer.cursor].encode()), of=self._current)

    @on(TokenPane.Selected)
    def _follow_pane(self, selected: TokenPane.Selected) -> None:
        """Move the cursor to the selected token, and select those of the other columns in its place."""
        column = selected.pane.column
        if column is None:
            return
        start = int(column.starts[selected.pane.selected])
        self.editor.move_to(len(column.data[:start].decode(errors="ignore")))
        self._select(start, of=selected.pane, keep=True)

    def _select(self, offset: int, *, of: TokenPane, keep: bool = False) -> None:
        """Select the tokens at a byte of the text, and ask about that of one column."""
        for pane in self.panes:
            if pane.column is not None and not (keep and pane is of):
                pane.select(pane.column.index_at(offset))
        column, index = of.column, of.selected
        if column is None or not len(column):
            self._answer = None
            self.editor.mark(range(0))
            self._write(Text("Type or paste a text: its tokens appear as you type.", "dim"))
            return
        first = len(column.data[: int(column.starts[index])].decode(errors="ignore"))
        size = len(column.data[int(column.starts[index]) : int(column.stops[index])].decode(errors="replace"))
        self.editor.mark(range(first, first + size))
        self._asking.ask(lambda: ask_about(column, index, special=self._special), self._tell_answer)

    @property
    def _current(self) -> TokenPane:
        """The column in focus, or the first one."""
        return next((pane for pane in self.panes if pane.has_focus), self.panes[0])

    # --- details ------------------------------------------------------------------------------

    def _tell_answer(self, answer: TokenAnswer) -> None:
        self._answer = answer
        self._write_answer()

    def on_resize(self) -> None:
        """Fold the details anew."""
        self.call_after_refresh(self._write_answer)

    def _write_answer(self) -> None:
        if self._answer is None:
            return
        several = len(self._columns) > 1
        name = f"of {self._answer.column.source.name}" if several else ""
        self.query_one("#details-rule", Rule).say(name)
        width = max(self.query_one("#details").size.width - 2, 20)
        self._write(Text("\n").join(detail_lines(self._answer, width=width)))

    def _write(self, text: Text) -> None:
        self.query_one("#answer", Static).update(text)

    def _tell(self, error: TokbenchError) -> None:
        """Say what went wrong."""
        self.notify(error.message, severity="error", markup=False)

    # --- keys ---------------------------------------------------------------------------------

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpScreen())

    def action_turn(self) -> None:
        """From dark to light, and back."""
        self._dark = not self._dark
        self._dress()
        if self._columns:
            self._show(self._columns)

    def _dress(self) -> None:
        family = "ansi" if self.console.color_system in _FEW_COLOURS else "textual"
        self.theme = f"{family}-{'dark' if self._dark else 'light'}"
