"""A box above the session that asks for something."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.binding import Binding
from textual.screen import ModalScreen

if TYPE_CHECKING:
    from textual.binding import BindingType

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """Escape closes it without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        Binding("ctrl+q", "app.quit", "Quit", priority=True, show=False),
    ]

    def action_close(self) -> None:
        """Close it without an answer."""
        self.dismiss(None)
