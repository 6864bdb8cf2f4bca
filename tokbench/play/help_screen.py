"""The list of keys, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.table import Table
from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Static

from tokbench.play.dialogs import Dialog

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

KEYS = (
    ("everywhere", (
        ("Tab, Shift+Tab", "the next pane: text, tokens, details"),
        ("F1, Ctrl+G", "these keys"),
        ("F2", "the steps that made the pre-token, and back"),
        ("F3", "search the vocabulary"),
        ("F4", "the text as a conversation: lines as `user: Hi`, or JSON"),
        ("F5", "open another tokenizer, or change this one"),
        ("F6", "copy the ids of this column"),
        ("F7", "add the text to the cases of `tokbench check`"),
        ("F8", "light or dark"),
        ("F9", "close this column"),
        ("Ctrl+Q", "end"),
    )),
    ("in the text", (
        ("arrows, Home, End", "move; the token under the cursor is selected"),
        ("Ctrl+U, Ctrl+K", "delete to the beginning, to the end of the line"),
        ("Ctrl+W", "delete a word"),
        ("Ctrl+Z, Ctrl+Y", "undo, redo"),
    )),
    ("in the tokens", (
        ("arrows", "the token before, after, above, below"),
        ("n, p", "the next, the previous token that differs from another column"),
        ("Home, End", "the first, the last token"),
    )),
    ("in the steps", (
        ("← →", "a step back, a step on"),
        ("Home, End", "the first step, all steps"),
        ("↑ ↓", "scroll"),
    )),
    ("what is drawn", (
        ("grey", "every column has this token in this place"),
        ("coloured", "another column cuts elsewhere; in one column every token"),
        ("underlined", "a part of a character"),
        ("⟪…⟫", "a special token"),
        ("· → ⏎", "a space, a tab, a line end"),
    )),
)  # fmt: skip
_KEY_WIDTH = 19


class HelpScreen(Dialog[None]):
    """All keys by purpose; Escape, F1 and q close the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f1,q", "close", "Close")]

    def compose(self) -> ComposeResult:
        """Yield a box with the list."""
        with VerticalScroll(classes="dialog"):
            yield Static(_listed())


def _listed() -> Table:
    listed = Table.grid(padding=(0, 2, 0, 0))
    listed.add_column(width=_KEY_WIDTH)
    listed.add_column()
    for part, keys in KEYS:
        listed.add_row(Text(part, "bold", no_wrap=True))
        for key, meaning in keys:
            listed.add_row(f"  {key}", meaning)
    return listed
