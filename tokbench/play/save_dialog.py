"""Ask for the file to which a text is added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual import on
from textual.containers import Vertical
from textual.widgets import Input, Static

from tokbench.play.dialog import Dialog

if TYPE_CHECKING:
    from textual.app import ComposeResult


class SaveDialog(Dialog[str]):
    """Asks for a file.

    Args:
        file: the one that is offered.
    """

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def compose(self) -> ComposeResult:
        """A field."""
        with Vertical(classes="dialog"):
            yield Static(Text("Add the text to the cases of `tokbench check`", "bold"))
            yield Input(self._file, compact=True)
            yield Static(Text("Enter adds it as a line of JSON · Escape does not", "dim"))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)
