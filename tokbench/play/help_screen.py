"""The keys, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Static

from tokbench.play.dialog import Dialog

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

KEYS = (
    ("everywhere", (
        ("Tab, Shift+Tab", "the next part of the screen: text, tokens, details"),
        ("F2", "the steps that made the pre-token, and back; ← → go through them"),
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
        ("arrows", "the token before, behind, above, below"),
        ("n, p", "the next, the previous token that differs from another column"),
        ("Home, End", "the first, the last token"),
    )),
)  # fmt: skip
_KEY_WIDTH = 20


class HelpScreen(Dialog[None]):
    """All keys; any of Escape, F1 and q closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f1,q", "close", "Close")]

    def compose(self) -> ComposeResult:
        """A box with a list."""
        with VerticalScroll(classes="dialog"):
            yield Static(_listed())


def _listed() -> Text:
    text = Text()
    for part, keys in KEYS:
        text.append(f"{part}\n", "bold")
        for key, meaning in keys:
            text.append(f"  {key:<{_KEY_WIDTH}}")
            text.append(f"{meaning}\n")
    text.append("tokens\n", "bold")
    text.append("  grey: every column has it in this place; coloured: another one cuts here\n")
    text.append("  underlined: a part of a character;  ⟪…⟫: a special token;  · is a space, ⏎ a line end\n")
    text.append("Escape closes this", "dim")
    return text
