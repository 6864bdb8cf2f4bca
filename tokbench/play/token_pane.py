"""The tokens of one tokenizer, one of them selected; only visible rows are laid out and drawn."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tokbench.core.wording import counted
from tokbench.play.token_rows import Place, TokenLayout
from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.binding import BindingType

    from tokbench.play.columns import Column
    from tokbench.play.token_rows import Cell, Looks, TokenRow


_SHORTEST_NAME = 8
_BETWEEN = 2
"""Minimum columns between the name and the figures."""
_FAINT = Style(dim=True)
_FIRST = Place(0, 0)


class TokenPane(Widget, can_focus=True):
    """A column of tokens with its title.

    Args:
        name: name of its tokenizer, shown until there are tokens.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", show=False),
        Binding("right", "step(1)", show=False),
        Binding("up", "rows(-1)", show=False),
        Binding("down", "rows(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "end(-1)", show=False),
        Binding("end", "end(1)", show=False),
        Binding("n", "next_difference(1)", show=False),
        Binding("p", "next_difference(-1)", show=False),
    ]

    class Selected(Message):
        """Sent after another token has been selected.

        Attributes:
            pane: the pane of the column.
        """

        def __init__(self, pane: TokenPane) -> None:
            super().__init__()
            self.pane = pane

    def __init__(self, name: str) -> None:
        super().__init__()
        self._title = name
        self.column: Column | None = None
        self.selected = 0
        self._looks: Looks | None = None
        self._layout_of_tokens: TokenLayout | None = None
        self._top = _FIRST
        self._has_others = False
        self._fewest = 0

    # --- what is shown ------------------------------------------------------------------------

    def show(self, column: Column, *, looks: Looks, fewest: int, has_others: bool) -> None:
        """Show tokens.

        Args:
            column: the tokens.
            looks: their styles.
            fewest: the smallest number of tokens of any column, for comparison.
            has_others: whether there are other columns to compare with.
        """
        self.column, self._looks = column, looks
        self._fewest, self._has_others = fewest, has_others
        self._title = column.source.name
        self.selected = max(min(self.selected, len(column) - 1), 0)
        self._lay_out()

    def select(self, token: int) -> None:
        """Select a token without sending a message."""
        self.selected = token
        self._scroll()

    def on_resize(self) -> None:
        """Lay the tokens out again."""
        self._lay_out()

    def _lay_out(self) -> None:
        if self.column is None or self._looks is None or not self.size.width:
            return
        has_separators = self._looks.palette is None
        self._layout_of_tokens = TokenLayout(
            self.column, width=self.size.width, has_separators=has_separators
        )
        self._top = self._layout_of_tokens.place_of(self.selected)
        self._top = self._layout_of_tokens.moved(self._top, -self._rows_shown // 2)
        self._scroll()

    def _scroll(self) -> None:
        """Scroll so that the selected token is visible."""
        layout = self._layout_of_tokens
        if layout is None:
            return
        place = layout.place_of(self.selected)
        if place < self._top:
            self._top = place
        elif place > layout.moved(self._top, self._rows_shown - 1):
            self._top = layout.moved(place, 1 - self._rows_shown)
        self.refresh()

    @property
    def _rows_shown(self) -> int:
        return max(self.size.height - 1, 1)

    def render_line(self, y: int) -> Strip:
        """Return a row of the screen."""
        width = self.size.width
        if y == 0:
            return self._title_strip(width)
        layout = self._layout_of_tokens
        segments: list[Segment] = []
        if layout is not None:
            place = layout.moved(self._top, y - 1)
            if y == 1 or place != layout.moved(self._top, y - 2):
                segments = list(self._segments(layout.row(place)))
        strip = Strip(segments).apply_style(self.rich_style)
        return strip.adjust_cell_length(width, self.rich_style)

    def _segments(self, row: TokenRow) -> list[Segment]:
        assert self._looks is not None
        segments = []
        for cell in row:
            is_selected = cell.token is not None and cell.token == self.selected
            is_shared = self._has_others and not self._differs(cell)
            for glyph in cell.glyphs:
                style = self._looks.of(cell, glyph, is_selected=is_selected, is_shared=is_shared)
                segments.append(Segment(glyph.text, style))
            if cell.separator:
                segments.append(Segment(cell.separator, _FAINT))
        return segments

    def _differs(self, cell: Cell) -> bool:
        return self.column is not None and cell.token is not None and bool(self.column.differs[cell.token])

    def _title_strip(self, width: int) -> Strip:
        name, figures = fitted_title(visible(self._title), self._figures(), width=width)
        title = Strip([Segment(f"{name} ", Style(bold=True, reverse=self.has_focus)), Segment(f" {figures}")])
        rule = Segment(" " + "─" * max(width - title.cell_length - 2, 0) + " ", _FAINT)
        return Strip([*title, rule]).apply_style(self.rich_style).adjust_cell_length(width, self.rich_style)

    def _figures(self) -> list[str]:
        if self.column is None:
            return ["…"]
        return title_figures(self.column, fewest=self._fewest, has_others=self._has_others)

    # --- keys ---------------------------------------------------------------------------------

    def action_step(self, count: int) -> None:
        """Select the previous or next token."""
        self._choose(self.selected + count)

    def action_rows(self, count: int) -> None:
        """Select a token of a row above or below, in the same screen column."""
        layout = self._layout_of_tokens
        if layout is None:
            return
        place = layout.place_of(self.selected)
        before = takewhile(lambda cell: cell.token != self.selected, layout.row(place))
        left = sum(cell.width for cell in before)
        self._choose(self._token_at(layout.row(layout.moved(place, count)), left))

    def action_page(self, direction: int) -> None:
        """Select a token a screenful away."""
        self.action_rows(direction * max(self._rows_shown - 1, 1))

    def action_end(self, direction: int) -> None:
        """Select the first token or the last one."""
        self._choose(0 if direction < 0 or self.column is None else len(self.column) - 1)

    def action_next_difference(self, direction: int) -> None:
        """Select the next or previous token that some other column lacks."""
        if self.column is None:
            return
        places = self.column.differs.nonzero()[0]
        beyond = places[places > self.selected] if direction > 0 else places[places < self.selected][::-1]
        if len(beyond):
            self._choose(int(beyond[0]))

    def on_click(self, event: events.Click) -> None:
        """Select the token under the mouse."""
        layout = self._layout_of_tokens
        if layout is not None and event.y:
            self._choose(self._token_at(layout.row(layout.moved(self._top, event.y - 1)), event.x))

    def on_mouse_scroll_down(self) -> None:
        """Move down."""
        self.action_rows(3)

    def on_mouse_scroll_up(self) -> None:
        """Move up."""
        self.action_rows(-3)

    def _token_at(self, row: TokenRow, column: int) -> int:
        reached = 0
        found = self.selected
        for cell in row:
            if cell.token is not None:
                found = cell.token
            reached += cell.width
            if reached > column:
                break
        return found

    def _choose(self, token: int) -> None:
        count = 0 if self.column is None else len(self.column)
        token = max(min(token, count - 1), 0)
        if token != self.selected:
            self.select(token)
            self.post_message(self.Selected(self))


def title_figures(column: Column, *, fewest: int, has_others: bool) -> list[str]:
    """Return the figures of a column, the longest form first; for a part of a text there are none yet.

    Args:
        column: the tokens.
        fewest: the smallest number of tokens of any column.
        has_others: whether there are other columns.
    """
    if not column.part.is_whole:
        return ["…"]
    count = len(column)
    tokens = counted(count, "token")
    if not has_others:
        return [f"{tokens} · {len(column.data) / count:.2f} bytes/token", tokens] if count else [tokens]
    more = 100 * (count / fewest - 1) if 0 < fewest < count else 0.0
    exact, short = (f" +{more:.1f} %", f" +{more:.0f}%") if more else ("", "")
    differ = f"{column.num_differ:,} differ"
    return [
        f"{tokens}{exact} · {differ}",
        f"{tokens}{short} · {differ}",
        f"{count:,}{short} · {differ}",
        f"{tokens}{short}",
        f"{count:,}{short}",
        f"{count:,}",
    ]


def fitted_title(name: str, figures: Sequence[str], *, width: int) -> tuple[str, str]:
    """Fit a name and figures side by side; the name keeps enough characters to distinguish columns.

    Args:
        name: the whole name.
        figures: forms of the same figures, the longest first.
        width: available columns for both.

    >>> fitted_title("bert-base-uncased", ["12 tokens +20.0 %", "12 +20%"], width=20)
    ('bert-base-…', '12 +20%')
    """
    least = min(cell_len(name), _SHORTEST_NAME) + _BETWEEN
    chosen = next((form for form in figures if least + cell_len(form) <= width), figures[-1])
    room = max(width - _BETWEEN - cell_len(chosen), 1)
    if cell_len(name) > room:
        name = set_cell_size(name, room - 1) + "…"
    return name, chosen
