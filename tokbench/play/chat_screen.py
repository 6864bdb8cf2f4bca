"""The text as a conversation: tokens in the colours of roles, with marks for learned tokens."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.console import Console
from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Footer, Static

from tokbench.play.background import Background
from tokbench.play.chat_view import encode_chat
from tokbench.play.rule import Rule
from tokbench.render.chat import render_chat

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from tokbench.errors import TokbenchError
    from tokbench.play.columns import OpenTokenizer
    from tokbench.workbench.chat import ChatResult

_SYSTEMS: Mapping[str, Literal["256", "truecolor"]] = {"256": "256", "truecolor": "truecolor"}
_HOW = "a line `user: Hi` begins a message; JSON works too"


class ChatScreen(Screen[None]):
    """A conversation as rendered by a tokenizer's chat template.

    Args:
        source: the tokenizer.
        text: the text of the session.
        template: the name of the template.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f4", "app.pop_screen", "Back to the text"),
    ]

    def __init__(self, source: OpenTokenizer, text: str, *, template: str) -> None:
        super().__init__()
        self._template = template
        self._source = source
        self._text = text
        self._result: ChatResult | None = None
        self._encoding: Background | None = None

    def compose(self) -> ComposeResult:
        """Yield the widgets of the conversation."""
        yield Rule("chat", id="chat-rule")
        with VerticalScroll(id="chat"):
            yield Static(id="conversation")
        yield Footer()

    def on_mount(self) -> None:
        """Encode the conversation."""
        self.query_one("#chat").focus()
        self._encoding = Background(self.app, tell=self._tell)
        self._encoding.ask(
            lambda: encode_chat(self._source.tokenizer, self._text, template=self._template), self._show
        )

    def on_resize(self) -> None:
        """Redraw the conversation."""
        if self._result is not None:
            self.call_after_refresh(self._show, self._result)

    def _show(self, result: ChatResult) -> None:
        if not self.is_mounted:
            return
        self._result = result
        self.query_one("#chat-rule", Rule).say(_HOW)
        width = max(self.query_one("#chat").size.width - 2, 20)
        drawn = _captured(lambda console: render_chat(result, console=console), self.app.console, width=width)
        self.query_one("#conversation", Static).update(drawn)

    def _tell(self, error: TokbenchError) -> None:
        if self.is_mounted:
            self.query_one("#chat-rule", Rule).say(_HOW)
            hint = f"\n{error.hint}" if error.hint else ""
            self.query_one("#conversation", Static).update(Text(error.message + hint))


def _captured(render: Callable[[Console], None], like: Console, *, width: int) -> Text:
    """Return the output of a renderer as styled text.

    Args:
        render: writes to a console.
        like: the console whose colours are used.
        width: available columns.
    """
    written = StringIO()
    system = None if like.no_color else like.color_system
    console = Console(
        file=written,
        width=width,
        force_terminal=True,
        color_system=None if system is None else _SYSTEMS.get(system, "standard"),
        no_color=like.no_color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    render(console)
    return Text.from_ansi(written.getvalue())
