"""The text as a conversation: tokens in the colours of roles, with marks for learned tokens."""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Footer, Static

from tokbench.chat.conversation import Conversation
from tokbench.chat.conversation_files import ReadConversation, read_conversations
from tokbench.chat.formats.catalogue import recognized
from tokbench.chat.template import AUTO, ChatTemplate
from tokbench.core.guarded import control_tokens
from tokbench.errors import TemplateError
from tokbench.formats.tokenizer_config.fields import config_of
from tokbench.play.background import Background
from tokbench.play.rule import Rule
from tokbench.render.chat import render_chat
from tokbench.render.console import as_text
from tokbench.workbench.chat import encode_conversations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from tokbench.core.interfaces import Tokenizer
    from tokbench.errors import TokbenchError
    from tokbench.play.columns import OpenTokenizer
    from tokbench.workbench.chat import ChatResult

LONGEST = 200_000
"""Maximum number of characters of a displayed conversation."""
_ROLE = re.compile(r"^(system|developer|user|assistant|tool):[ \t]?", re.MULTILINE)
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
        if self not in self.app.screen_stack:  # it has lost its widgets, or will
            return
        self._result = result
        self.query_one("#chat-rule", Rule).say(_HOW)
        width = max(self.query_one("#chat").size.width - 2, 20)
        drawn = _captured(lambda console: render_chat(result, console=console), self.app.console, width=width)
        self.query_one("#conversation", Static).update(drawn)

    def _tell(self, error: TokbenchError) -> None:
        if self in self.app.screen_stack:
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
    system = None if like.no_color else like.color_system
    written = as_text(
        render,
        width=width,
        color_system=None if system is None else _SYSTEMS.get(system, "standard"),
        force_terminal=True,
        no_color=like.no_color,
        legacy_windows=False,
    )
    return Text.from_ansi(written)


def encode_chat(tokenizer: Tokenizer, text: str, *, template: str = AUTO) -> ChatResult:
    """Encode a text as a conversation.

    Args:
        tokenizer: the tokenizer whose chat template is used.
        text: JSON as `tokbench chat` reads it, of which the first conversation is used; otherwise messages in lines.
        template: the name of a template, as `tokbench chat --template` takes it.

    Raises:
        TemplateError: the text is longer than `LONGEST`, there is no template, or it refuses the conversation.
        ModelFormatError: the JSON is not a conversation.
    """
    if len(text) > LONGEST:
        raise TemplateError(
            f"a conversation of {len(text):,} characters is not shown here",
            hint="`tokbench chat FILE` shows it",
        )
    chosen, read = _template(tokenizer, template), ReadConversation(conversation_of_text(text), "the text", 0)
    [result] = encode_conversations(tokenizer, chosen, [read])
    return result


def conversation_of_text(text: str) -> Conversation:
    r"""Parse a text as a conversation.

    A text that begins with a bracket is JSON. Otherwise, a line that begins with a role and a colon begins a message,
    and text before the first such line is a user message.

    Raises:
        ModelFormatError: the JSON is not a conversation.

    >>> [dict(message) for message in conversation_of_text("Hi\nassistant: Hello!\nI am here.").messages]
    [{'role': 'user', 'content': 'Hi'}, {'role': 'assistant', 'content': 'Hello!\nI am here.'}]
    """
    if text.lstrip().startswith(("{", "[")):
        return next(iter(read_conversations(BytesIO(text.encode()), name="the text"))).conversation
    before, *rest = _ROLE.split(text)
    pairs = list(zip(rest[::2], rest[1::2], strict=True))
    if before.strip() or not pairs:
        pairs.insert(0, ("user", before))
    last = len(pairs) - 1
    return Conversation(
        tuple(
            {"role": role, "content": said.removesuffix("\n") if place < last else said}
            for place, (role, said) in enumerate(pairs)
        )
    )


def _template(tokenizer: Tokenizer, name: str) -> ChatTemplate:
    if name != AUTO or config_of(tokenizer).chat_templates or recognized(control_tokens(tokenizer)):
        return ChatTemplate.of(tokenizer, name)
    raise TemplateError(
        f"{tokenizer.info.name} has no chat template, and no built-in one matches its special tokens",
        hint="open the folder of a chat model; to ranks and other bare vocabularies --special-preset adds the tokens",
    )
