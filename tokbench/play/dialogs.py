"""Dialogs that ask for a file (a tokenizer to open, a text to save), and the list of keys on one screen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from rich.table import Table
from rich.text import Text
from textual import on
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

_MOST_SHOWN = 200
_GOES_ON = ("/", ":")
"""Endings of names that are only prefixes: a folder, or a scheme to fetch."""

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A dialog that Escape closes without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        Binding("ctrl+q", "app.quit", "Quit", priority=True, show=False),
    ]

    @property
    def is_open(self) -> bool:
        """Whether it is on the screen; a dialog that is being closed loses its widgets before it is unmounted."""
        return self in self.app.screen_stack

    def action_close(self) -> None:
        """Close the dialog without an answer."""
        self.dismiss(None)


@dataclass(frozen=True, slots=True)
class OpenRequested:
    """A request to open a tokenizer.

    Attributes:
        name: name as `-t` takes it.
        in_place: whether to replace the current column instead of adding one.
    """

    name: str
    in_place: bool


class OpenDialog(Dialog[OpenRequested]):
    """Asks for the name of a tokenizer, with completion.

    Args:
        complete: returns the names that begin with a text.
        used: names opened in this session, which are listed first.
        current: name of the tokenizer in the current column.
        has_room: whether another column can be added.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", priority=True),
        Binding("down", "move(1)", priority=True),
        Binding("up", "move(-1)", priority=True),
        Binding("ctrl+r", "in_place", priority=True),
    ]

    def __init__(
        self, complete: Callable[[str], list[str]], *, used: Sequence[str], current: str, has_room: bool
    ) -> None:
        super().__init__()
        self._complete = complete
        self._used = used
        self._current = current
        self._has_room = has_room

    def compose(self) -> ComposeResult:
        """Yield an input field with names below it."""
        with Vertical(classes="dialog"):
            yield Static(Text("Open a tokenizer", "bold"))
            yield Input(placeholder="a path, a saved name, tiktoken:NAME or hf:ORG/MODEL", compact=True)
            yield OptionList(compact=True)
            beside = "Enter opens it beside the others · " if self._has_room else ""
            keys = "Ctrl+R" if self._has_room else "Enter"
            yield Static(
                Text(f"Tab completes · {beside}{keys}: in the place of {visible(self._current)}", "dim")
            )

    def on_mount(self) -> None:
        """List all names initially."""
        self.query_one(OptionList).can_focus = False
        self._list("")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self._list(event.value)

    def _list(self, begun: str) -> None:
        used = [name for name in self._used if name.startswith(begun)]
        typed = [begun] if begun and Path(begun).exists() else []
        names = list(dict.fromkeys([*typed, *used, *self._complete(begun)]))[:_MOST_SHOWN]
        shown = self.query_one(OptionList)
        shown.clear_options()
        shown.add_options(Option(Text(visible(name)), id=str(number)) for number, name in enumerate(names))
        self._names = names
        shown.highlighted = 0 if names else None

    @property
    def _highlighted(self) -> str | None:
        place = self.query_one(OptionList).highlighted
        return None if place is None else self._names[place]

    def action_move(self, count: int) -> None:
        """Move through the names."""
        shown = self.query_one(OptionList)
        if self._names:
            shown.highlighted = ((shown.highlighted or 0) + count) % len(self._names)

    def action_complete(self) -> None:
        """Fill in the highlighted name."""
        if (name := self._highlighted) is not None:
            field = self.query_one(Input)
            field.value = name
            field.cursor_position = len(name)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self._answer(in_place=not self._has_room)

    @on(OptionList.OptionSelected)
    def _clicked(self) -> None:
        self.action_complete()

    def action_in_place(self) -> None:
        """Open the tokenizer in the current column."""
        self._answer(in_place=True)

    def _answer(self, *, in_place: bool) -> None:
        name = self._highlighted or self.query_one(Input).value
        if name.endswith(_GOES_ON) and name != self.query_one(Input).value:
            self.action_complete()
        elif name:
            self.dismiss(OpenRequested(name, in_place=in_place))


class SaveDialog(Dialog[str]):
    """Asks for a file.

    Args:
        file: the suggested file.
    """

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def compose(self) -> ComposeResult:
        """Yield an input field."""
        with Vertical(classes="dialog"):
            yield Static(Text("Add the text to the cases of `tokbench check`", "bold"))
            yield Input(self._file, compact=True)
            yield Static(Text("Enter adds it as a line of JSON · Escape does not", "dim"))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


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
        ("← →", "the previous step, the next step"),
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
