"""The session: a text, its tokens in up to three columns, and details of the selected token."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import Footer

from tokbench.chat.template import AUTO
from tokbench.core.wording import counted
from tokbench.errors import TokbenchError
from tokbench.play.background import Background
from tokbench.play.cases import add_case
from tokbench.play.chat_screen import ChatScreen
from tokbench.play.columns import encode_columns
from tokbench.play.detail_pane import DetailPane
from tokbench.play.dialogs import HelpScreen, OpenDialog, SaveDialog
from tokbench.play.editor import Editor
from tokbench.play.ending import end_on_signals
from tokbench.play.ordered_input import OrderedInputApp
from tokbench.play.rule import Rule
from tokbench.play.search_dialog import SearchDialog
from tokbench.play.text_rows import LONG, part_round
from tokbench.play.token_details import ask_about
from tokbench.play.token_pane import TokenPane
from tokbench.play.token_rows import looks_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.screen import Screen

    from tokbench.core.tokens import SpecialPolicy
    from tokbench.play.columns import Column, OpenTokenizer
    from tokbench.play.dialogs import OpenRequested
    from tokbench.play.token_details import TokenAnswer

MOST_COLUMNS = 3
"""Maximum number of tokenizers shown side by side."""
MOST_COPIED = 100_000
"""Maximum number of ids that are copied, as terminals refuse long messages."""
PAUSE_SECONDS = 0.25
"""Pause without key presses before all of a long text is encoded."""
_SESSION_ACTIONS = {"help", "steps", "search", "chat", "open", "copy", "save", "close_column"}
_FEW_COLOURS = ("standard", "windows")


@dataclass(frozen=True, slots=True)
class Names:
    """Access to tokenizers by name.

    Attributes:
        open: opens a tokenizer by name; raises a `TokbenchError` if that fails.
        complete: returns the names that begin with a text.
    """

    open: Callable[[str], OpenTokenizer]
    complete: Callable[[str], list[str]]


class PlayApp(OrderedInputApp, inherit_bindings=False):
    """The application of the session.

    Args:
        tokenizers: one to three tokenizers, in column order.
        text: the initial text.
        special: what the text of a special token becomes.
        template: name of the chat template of conversations.
        dark: whether the screen is dark initially.
        names: opens tokenizers and completes their names.
    """

    CSS_PATH = "play.tcss"
    ENABLE_COMMAND_PALETTE = False
    TITLE = "tokbench play"
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (8, "-low"), (15, "-high")]  # noqa: RUF012 -- so is the base's
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1,ctrl+g", "help", "Help"),
        Binding("f2", "steps", "Steps"),
        Binding("f3", "search", "Search"),
        Binding("f4", "chat", "Chat"),
        Binding("f5", "open", "Open"),
        Binding("f6", "copy", "Copy ids"),
        Binding("f7", "save", "Save"),
        Binding("f8", "turn", show=False),
        Binding("f9", "close_column", show=False),
        Binding("ctrl+q", "quit", "Quit"),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]

    def __init__(
        self,
        tokenizers: Sequence[OpenTokenizer],
        text: str,
        *,
        special: SpecialPolicy,
        template: str = AUTO,
        dark: bool,
        names: Names,
    ) -> None:
        super().__init__()
        # Textual has removed NO_COLOR from the environment, where the console would look for it
        self.console.no_color = self.no_color
        self._tokenizers = list(tokenizers)
        self._first_text = text
        self._special = special
        self._template = template
        self._dark = dark
        self._names = names
        self._last: TokenPane | None = None
        self._opened = list(self._tokenizers)
        self._cases = "cases.jsonl"
        self._columns: list[Column] = []
        self._encoding = Background(self, tell=self._tell)
        self._peeking = Background(self, tell=self._tell)
        self._asking = Background(self, tell=self._tell)
        self._opening = Background(self, tell=self._tell)

    @property
    def _base(self) -> Screen[Any]:
        """The screen with the text, below all others."""
        return self.screen_stack[0]

    @property
    def editor(self) -> Editor:
        """The editor of the text."""
        return self._base.query_one(Editor)

    @property
    def details(self) -> DetailPane:
        """The details of the selected token."""
        return self._base.query_one(DetailPane)

    @property
    def panes(self) -> list[TokenPane]:
        """The columns of tokens, from left to right."""
        return list(self._base.query(TokenPane))

    def compose(self) -> ComposeResult:
        """Yield the parts of the screen, from top to bottom."""
        yield Rule("text", id="text-rule", hint="Tab goes on")
        yield Editor(self._first_text, id="text")
        with Horizontal(id="columns"):
            for tokenizer in self._tokenizers:
                yield TokenPane(tokenizer.name)
        rule = Rule("token", id="details-rule")
        yield rule
        yield DetailPane(rule, id="details")
        yield Footer()

    def on_mount(self) -> None:
        """Start the session."""
        end_on_signals(self)
        # fg in the shell continues a session that was suspended
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        self._set_theme()
        self.editor.focus()
        self._encode()

    def on_descendant_focus(self) -> None:
        """Remember the current column, and show the details of its token."""
        if isinstance(self.focused, TokenPane) and self.focused is not self._last:
            self._last = self.focused
            self._ask(self._last)

    # --- tokens -------------------------------------------------------------------------------

    @on(Editor.Edited)
    def _encode(self) -> None:
        """Encode the current text on a thread; for a long text, encode the visible part first."""
        text, tokenizers = self.editor.buffer.text, list(self._tokenizers)
        self._base.query_one("#text-rule", Rule).say(f"{counted(len(text), 'character')} · encoding …")
        is_long = len(text) >= LONG
        if is_long:
            self._encode_part()
        self._encoding.ask(
            lambda: encode_columns(tokenizers, text, special=self._special),
            self._show,
            pause_seconds=PAUSE_SECONDS if is_long else 0.0,
        )

    def _encode_part(self) -> None:
        """Encode the part of the text around the cursor."""
        text, cursor, tokenizers = self.editor.buffer.text, self.editor.buffer.cursor, list(self._tokenizers)
        self._peeking.ask(
            lambda: encode_columns(tokenizers, part_round(text, cursor), special=self._special),
            lambda columns: self._show_part(columns, text),
        )

    def _show_part(self, columns: list[Column], text: str) -> None:
        """Show the tokens of a part of a text, unless those of the whole text are known."""
        if not (self._columns and self._columns[0].part.text is text):
            self._fill_columns(columns)

    def _show(self, columns: list[Column]) -> None:
        """Show the tokens of the text, unless it is outdated and newer tokens are on the screen."""
        [of, *_], text = columns, self.editor.buffer.text
        if len(text) >= LONG and of.part.text is not text:
            return
        self._fill_columns(columns)
        characters = counted(len(of.part.text), "character")
        self._base.query_one("#text-rule", Rule).say(f"{characters} · {counted(len(of.data), 'byte')}")

    def _fill_columns(self, columns: list[Column]) -> None:
        """Fill the columns of the screen with tokens."""
        self._columns = columns
        looks = looks_for(self.console, dark=self._dark)
        fewest = min(map(len, columns))
        for pane, column in zip(self.panes, columns, strict=False):
            pane.show(column, looks=looks, fewest=fewest, has_others=len(columns) > 1)
        self._follow_cursor()

    @on(Editor.Moved)
    def _follow_cursor(self) -> None:
        """Select the tokens under the cursor."""
        buffer = self.editor.buffer
        if self._columns and not self._columns[0].part.holds(buffer.cursor):
            self._encode_part()
        self._select(len(buffer.text[: buffer.cursor].encode()), of=self._current)

    @on(TokenPane.Selected)
    def _follow_pane(self, selected: TokenPane.Selected) -> None:
        """Move the cursor to the selected token, and select the matching tokens of the other columns."""
        column = selected.pane.column
        if column is None:
            return
        start = int(column.starts[selected.pane.selected])
        self.editor.move_to(column.character_at(start))
        self._select(column.part.byte + start, of=selected.pane, keep=True)

    def _select(self, offset: int, *, of: TokenPane, keep: bool = False) -> None:
        """Select the tokens at a byte of the text, and request details of one column's token."""
        for pane in self.panes:
            if pane.column is not None and not (keep and pane is of):
                pane.select(pane.column.index_at(offset - pane.column.part.byte))
        self._ask(of)

    def _ask(self, of: TokenPane) -> None:
        """Mark the selected token of a column in the text, and request its details."""
        column, index = of.column, of.selected
        if column is None or not len(column):
            self.editor.mark(range(0))
            self.details.show(None)
            return
        start, stop = int(column.starts[index]), int(column.stops[index])
        first = column.character_at(start)
        self.editor.mark(range(first, first + len(column.data[start:stop].decode(errors="replace"))))
        self._asking.ask(lambda: ask_about(column, index, special=self._special), self._tell_answer)

    @property
    def _current(self) -> TokenPane:
        """The column that had the focus last, or the first one."""
        return self._last if self._last in self.panes else self.panes[0]

    def _tell_answer(self, answer: TokenAnswer) -> None:
        self.details.show(answer, of=answer.column.source.name if len(self._columns) > 1 else "")

    def _tell(self, error: TokbenchError) -> None:
        """Notify the user of an error."""
        message = f"{error.message}; {error.hint}" if error.hint else error.message
        self.notify(message, severity="error", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow the keys of the session only on its own screen; a conversation also has help."""
        if self.screen_stack and self.screen is not self._base and action in _SESSION_ACTIONS:
            return action == "help" and isinstance(self.screen, ChatScreen)
        return super().check_action(action, parameters)

    # --- keys ---------------------------------------------------------------------------------

    def action_help(self) -> None:
        """Show the list of keys."""
        self.push_screen(HelpScreen())

    def action_steps(self) -> None:
        """Toggle between the details of the selected token and the steps that made its pre-token."""
        self.details.turn()
        self.set_focus(self.details if self.details.shows_steps else self._current)

    def action_search(self) -> None:
        """Search the vocabulary of the current column."""

        def take(text: str | None) -> None:
            if text:
                self.editor.insert(text)

        self.push_screen(SearchDialog(self._current_tokenizer), take)

    def action_chat(self) -> None:
        """Show the text as a conversation."""
        text = self.editor.buffer.text
        self.push_screen(ChatScreen(self._current_tokenizer, text, template=self._template))

    def action_copy(self) -> None:
        """Copy the ids of the current column with the terminal's clipboard sequence."""
        column = self._current.column
        if column is None or not len(column):
            self.notify("there are no ids", severity="warning")
        elif not column.part.is_whole:
            self.notify("the text is still being encoded", severity="warning")
        elif len(column) > MOST_COPIED:
            self.notify(
                f"{len(column):,} ids are too many for a clipboard: `tokbench encode FILE` writes them",
                severity="warning",
            )
        else:
            self.copy_to_clipboard(" ".join(map(str, column.ids.tolist())))
            self.notify(f"copied {counted(len(column), 'id')} of {column.source.name}", markup=False)

    def action_save(self) -> None:
        """Append the text to a file of cases."""

        def save(file: str | None) -> None:
            if file is None:
                return
            try:
                cases = add_case(Path(file), self.editor.buffer.text)
            except TokbenchError as error:
                self._tell(error)
                return
            self._cases = file
            self.notify(f"{file} has {counted(cases, 'case')} for `tokbench check`", markup=False)

        self.push_screen(SaveDialog(self._cases), save)

    # --- columns ------------------------------------------------------------------------------

    def action_open(self) -> None:
        """Ask for a tokenizer and open it."""

        def begin(asked: OpenRequested | None) -> None:
            if asked is not None:
                self._opening.ask(
                    lambda: self._open(asked.name), lambda tokenizer: self._add_opened(tokenizer, asked)
                )

        current = self._current_tokenizer
        used = [opened.request for opened in self._opened if opened is not current]
        dialog = OpenDialog(
            self._names.complete,
            used=used,
            current=current.name,
            has_room=len(self._tokenizers) < MOST_COLUMNS,
        )
        self.push_screen(dialog, begin)

    def _open(self, name: str) -> OpenTokenizer:
        """Open a tokenizer, reusing one that was opened before in this session."""
        known = next((opened for opened in self._opened if opened.request == name), None)
        return known or self._names.open(name)

    def _add_opened(self, tokenizer: OpenTokenizer, asked: OpenRequested) -> None:
        """Show an opened tokenizer."""
        if tokenizer not in self._opened:
            self._opened.append(tokenizer)
        if asked.in_place or len(self._tokenizers) == MOST_COLUMNS:
            self._tokenizers[self.panes.index(self._current)] = tokenizer
        else:
            self._tokenizers.append(tokenizer)
            self._base.query_one("#columns").mount(TokenPane(tokenizer.name))
        self._encode()

    async def action_close_column(self) -> None:
        """Close the current column, unless it is the last one."""
        if len(self._tokenizers) == 1:
            self.notify("the last column cannot be closed", severity="warning")
            return
        pane = self._current
        del self._tokenizers[self.panes.index(pane)]
        await pane.remove()
        self._encode()

    @property
    def _current_tokenizer(self) -> OpenTokenizer:
        return self._tokenizers[self.panes.index(self._current)]

    # --- colours ------------------------------------------------------------------------------

    def action_turn(self) -> None:
        """Switch between dark and light."""
        self._dark = not self._dark
        self._set_theme()
        if self._columns:
            self._fill_columns(self._columns)

    def _set_theme(self) -> None:
        family = "ansi" if self.console.color_system in _FEW_COLOURS else "textual"
        self.theme = f"{family}-{'dark' if self._dark else 'light'}"
