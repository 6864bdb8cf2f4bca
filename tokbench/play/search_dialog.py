"""The dialog that searches the vocabulary of the current tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tokbench.core.wording import counted
from tokbench.play.background import Background
from tokbench.play.dialogs import Dialog
from tokbench.play.vocabulary_search import found_line, search_tokens, token_tree

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from tokbench.errors import TokbenchError
    from tokbench.play.columns import OpenTokenizer
    from tokbench.workbench.search_vocabulary import SearchResult


class SearchDialog(Dialog[str]):
    """Lists the tokens that contain a text, and draws the merges of the highlighted one.

    Args:
        source: the tokenizer.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", priority=True),
        Binding("up", "move(-1)", priority=True),
        Binding("pagedown", "move(8)", priority=True),
        Binding("pageup", "move(-8)", priority=True),
    ]

    def __init__(self, source: OpenTokenizer) -> None:
        super().__init__()
        self._source = source
        self._found: SearchResult | None = None
        self._searching: Background | None = None

    def compose(self) -> ComposeResult:
        """Yield an input field, the matches, and the merges of one token."""
        with Vertical(classes="dialog", id="search"):
            yield Static(Text(f"Search the vocabulary of {self._source.name}", "bold"), id="found")
            yield Input(placeholder="a text, /an expression/, #an id or 0x and bytes", compact=True)
            yield OptionList(compact=True)
            yield Static(id="tree")
            yield Static(Text("Enter puts the token into the text · Escape closes this", "dim"))

    def on_mount(self) -> None:
        """Prepare for input."""
        self.query_one(OptionList).can_focus = False
        self._searching = Background(self.app, tell=self._tell)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        asked = event.value
        if self._searching is not None and asked:
            self._searching.ask(lambda: search_tokens(self._source.vocabulary, asked), self._show)

    def _show(self, found: SearchResult) -> None:
        if not self.is_mounted:
            return
        self._found = found
        shown = self.query_one(OptionList)
        shown.clear_options()
        shown.add_options(Option(found_line(token)) for token in found.tokens)
        shown.highlighted = 0 if found.tokens else None
        more = f", the first {len(found.tokens)} of them here" if found.found > len(found.tokens) else ""
        self._say(f"{counted(found.found, 'token')} of {self._source.name}{more}")
        self._draw()

    def _tell(self, error: TokbenchError) -> None:
        if self.is_mounted:
            self._say(error.message)

    def _say(self, text: str) -> None:
        self.query_one("#found", Static).update(Text(text, "bold"))

    def action_move(self, count: int) -> None:
        """Move through the tokens."""
        shown = self.query_one(OptionList)
        if self._found is not None and self._found.tokens:
            last = len(self._found.tokens) - 1
            shown.highlighted = max(min((shown.highlighted or 0) + count, last), 0)
            self._draw()

    def _draw(self) -> None:
        place = self.query_one(OptionList).highlighted
        tree = self.query_one("#tree", Static)
        if self._found is None or place is None:
            tree.update("")
        else:
            tree.update(
                token_tree(self._source.vocabulary, self._found.tokens[place].id, width=tree.size.width)
            )

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def _submitted(self) -> None:
        place = self.query_one(OptionList).highlighted
        if self._found is None or place is None:
            return
        text = self._found.tokens[place].text
        if text is None:
            self._say("these bytes are not whole characters, and cannot be typed")
        else:
            self.dismiss(text)
