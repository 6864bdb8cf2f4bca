"""A titled line above a part of the screen."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

_BOLD = Style(bold=True)
_FAINT = Style(dim=True)


class Rule(Widget):
    """A line with a title and a note, above a part of the screen.

    Args:
        title: the title.
        hint: text at the right end.
    """

    def __init__(self, title: str, *, id: str, hint: str = "") -> None:
        super().__init__(id=id)
        self._title = title
        self._note = ""
        self._hint = hint

    def say(self, note: str, *, title: str | None = None) -> None:
        """Change the note beside the title, and optionally the title."""
        self._note = note
        self._title = self._title if title is None else title
        self.refresh()

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 -- there is one
        """Return the line."""
        width = self.size.width
        note = f"  {self._note} " if self._note else " "
        text = Strip([Segment(" "), Segment(self._title, _BOLD), Segment(note)])
        rest = max(width - text.cell_length - 1, 0)
        hint = f" {self._hint}" if self._hint and len(self._hint) < rest else ""
        rest -= len(hint)
        strip = Strip([*text, Segment("─" * rest + hint, _FAINT)]).apply_style(self.rich_style)
        return strip.adjust_cell_length(width, self.rich_style)
