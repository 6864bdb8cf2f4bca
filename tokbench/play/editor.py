"""The editor of the text, which holds exactly the characters that are encoded. Only visible rows are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from unicodedata import category

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tokbench.play.buffer import TextBuffer
from tokbench.play.text_rows import row_after, row_at, row_before

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.binding import BindingType

    from tokbench.play.text_rows import TextRow

_CURSOR = Style(reverse=True)
_MARKED = Style(underline=True, bold=True)
_STAND_IN = Style(dim=True)


class Editor(Widget, can_focus=True):
    """The text with its cursor.

    Args:
        text: the initial text.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "go('move_left')", show=False),
        Binding("right", "go('move_right')", show=False),
        Binding("ctrl+left,alt+left", "go('move_word_left')", show=False),
        Binding("ctrl+right,alt+right", "go('move_word_right')", show=False),
        Binding("ctrl+home", "jump(0)", show=False),
        Binding("ctrl+end", "go('move_to_end')", show=False),
        Binding("up", "rows(-1)", show=False),
        Binding("down", "rows(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,ctrl+a", "row_start", show=False),
        Binding("end,ctrl+e", "row_end", show=False),
        Binding("backspace", "edit('delete_left')", show=False),
        Binding("delete,ctrl+d", "edit('delete_right')", show=False),
        Binding("ctrl+w,alt+backspace", "edit('delete_word')", show=False),
        Binding("ctrl+u", "edit('delete_to_line_start')", show=False),
        Binding("ctrl+k", "edit('delete_to_line_end')", show=False),
        Binding("ctrl+z", "edit('undo')", show=False),
        Binding("ctrl+y", "edit('redo')", show=False),
    ]

    class Edited(Message):
        """Sent after the text has changed."""

    class Moved(Message):
        """Sent after the cursor has moved within the same text."""

    def __init__(self, text: str, *, id: str) -> None:
        super().__init__(id=id)
        self.buffer = TextBuffer(text)
        self._top = 0
        self._marked = range(0)
        self._shown: list[TextRow] = []

    # --- what is shown ------------------------------------------------------------------------

    def mark(self, characters: range) -> None:
        """Underline the characters of the selected token."""
        if characters != self._marked:
            self._marked = characters
            self.refresh()

    def move_to(self, offset: int) -> None:
        """Move the cursor to a character without sending a message."""
        self.buffer.move_to(offset)
        self._show()

    def on_resize(self) -> None:
        """Lay the rows out again."""
        self._show()

    def render_line(self, y: int) -> Strip:
        """Return a row of the screen."""
        width = self.size.width
        if y >= len(self._shown):
            return Strip.blank(width, self.rich_style)
        row = self._shown[y]
        cursor = self.buffer.cursor
        segments = []
        for piece in row.pieces:
            style = _STAND_IN if piece.stand_in else Style()
            if piece.start in self._marked:
                style += _MARKED
            if self.has_focus and piece.start <= cursor < piece.stop:
                style += _CURSOR
            segments.append(Segment(piece.text, style))
        if self.has_focus and row.ends_line and cursor == row.stop:
            segments.append(Segment(" ", _CURSOR))
        strip = Strip(segments).apply_style(self.rich_style)
        return strip.adjust_cell_length(width, self.rich_style)

    def _show(self) -> None:
        """Scroll so that the cursor is visible, and compute the visible rows."""
        width, height = self._columns, max(self.size.height, 1)
        text, cursor = self.buffer.text, self.buffer.cursor
        current = row_at(text, cursor, width=width)
        first = row_at(text, min(self._top, len(text)), width=width)
        if current.start < first.start:
            first = current
        rows = self._rows_from(first, height)
        if current.start > rows[-1].start:
            first = current
            for _ in range(height - 1):
                first = row_before(text, first, width=width) or first
            rows = self._rows_from(first, height)
        self._top, self._shown = first.start, rows
        self.refresh()

    def _rows_from(self, first: TextRow, count: int) -> list[TextRow]:
        rows = [first]
        while len(rows) < count:
            below = row_after(self.buffer.text, rows[-1], width=self._columns)
            if below is None:
                break
            rows.append(below)
        return rows

    @property
    def _columns(self) -> int:
        return max(self.size.width - 1, 4)  # one column is left for the cursor after a full row

    # --- keys ---------------------------------------------------------------------------------

    def action_go(self, name: str) -> None:
        """Move the cursor with a method of the buffer."""
        move: Callable[[], None] = getattr(self.buffer, name)
        move()
        self._moved()

    def action_edit(self, name: str) -> None:
        """Edit with a method of the buffer."""
        edit: Callable[[], None] = getattr(self.buffer, name)
        edit()
        self._edited()

    def action_jump(self, offset: int) -> None:
        """Move the cursor to a character."""
        self.buffer.move_to(offset)
        self._moved()

    def action_rows(self, count: int) -> None:
        """Move the cursor up or down."""
        text, width = self.buffer.text, self._columns
        row = row_at(text, self.buffer.cursor, width=width)
        column = row.column_of(self.buffer.cursor)
        step = row_before if count < 0 else row_after
        for _ in range(abs(count)):
            row = step(text, row, width=width) or row
        self.buffer.move_to(row.offset_at(column))
        self._moved()

    def action_page(self, direction: int) -> None:
        """Move by a screenful."""
        self.action_rows(direction * max(self.size.height - 1, 1))

    def action_row_start(self) -> None:
        """Move to the beginning of the row."""
        self.action_jump(row_at(self.buffer.text, self.buffer.cursor, width=self._columns).start)

    def action_row_end(self) -> None:
        """Move to the end of the row."""
        row = row_at(self.buffer.text, self.buffer.cursor, width=self._columns)
        self.action_jump(row.offset_at(self.size.width))

    def on_key(self, event: events.Key) -> None:
        """Insert the typed character or a line end."""
        is_end = event.key == "enter"
        # What Python calls printable has no joiner, and no space of a Japanese keyboard.
        if is_end or (event.character and "Cc" not in map(category, event.character)):
            event.stop()
            event.prevent_default()
            self.insert("\n" if is_end else event.character or "")

    def on_paste(self, event: events.Paste) -> None:
        """Insert pasted text; terminals send its line ends as CR."""
        event.stop()
        self.insert(event.text.replace("\r\n", "\n").replace("\r", "\n"))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the mouse position."""
        if event.y < len(self._shown):
            self.action_jump(self._shown[event.y].offset_at(event.x))

    def on_mouse_scroll_down(self) -> None:
        """Move down."""
        self.action_rows(3)

    def on_mouse_scroll_up(self) -> None:
        """Move up."""
        self.action_rows(-3)

    def insert(self, text: str) -> None:
        """Insert a text at the cursor."""
        self.buffer.insert(text)
        self._edited()

    def _edited(self) -> None:
        self._show()
        self.post_message(self.Edited())

    def _moved(self) -> None:
        self._show()
        self.post_message(self.Moved())
