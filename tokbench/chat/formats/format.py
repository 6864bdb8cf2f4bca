"""A built-in chat template: its name, its source, the tokens that it needs; and the writer that builds its text.

The writer records the origin of each piece and JSON value, and the turns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tokbench.chat.formats.fields import kind_of, refuse
from tokbench.chat.rendered import ROLES, TEMPLATE, Origin, Rendered, Runs, Turn
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.chat.conversation import Conversation


_OTHERS = "others do, such as qwen3, llama3.1, mistral-v7 and harmony"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A built-in chat template that reproduces its maker's exactly; implements `Renderer`.

    Attributes:
        name: the name that users know it by.
        description: a short description of its use.
        source: the definition that it follows, with its version.
        write: writes a conversation that has messages.
        control_tokens: the tokens that the vocabulary must have.
        turn_end: the control tokens that end an assistant turn.
        optional_tokens: tokens that it writes only in some conversations, such as those for tools.
        has_tools: whether it supports tools and tool calls; if not, a conversation with them is refused.
        plain_tags: tags such as `<think>` that are tokens in the vocabularies made for it, but may be text in
            others.
        text_marks: marks that separate speakers but are ordinary text to the vocabulary, so content with the same
            text cannot be told apart.
        with_dummy_prefix: the same template without the spaces that SentencePiece puts before texts; for a tokenizer
            that inserts them itself.
        merges_bytes: whether the vocabularies made for it merge bytes rather than characters, if that distinguishes it
            from a template with the same tokens.
        variables: name → description of the variables that a conversation may set.
    """

    name: str
    description: str
    source: str
    write: Callable[[Conversation, Writer], None] = field(repr=False)
    control_tokens: tuple[str, ...]
    turn_end: tuple[str, ...]
    optional_tokens: tuple[str, ...] = ()
    has_tools: bool = True
    plain_tags: tuple[str, ...] = ()
    text_marks: tuple[str, ...] = ()
    with_dummy_prefix: Format | None = field(default=None, repr=False)
    merges_bytes: bool | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def known_tokens(self) -> frozenset[str]:
        """All tokens that it writes if the vocabulary has them."""
        return frozenset((*self.control_tokens, *self.optional_tokens, *self.plain_tags))

    def render(
        self, conversations: Sequence[Conversation], *, prompt: bool = False
    ) -> list[Rendered | TemplateError]:
        """Render each conversation as text, with exact origins and turns; see `Renderer.render`."""
        return [self._render(conversation, prompt=prompt) for conversation in conversations]

    def _render(self, conversation: Conversation, *, prompt: bool) -> Rendered | TemplateError:
        if not conversation.messages:
            return TemplateError("the conversation has no messages")
        writer = Writer(prompt=prompt)
        try:
            if not self.has_tools:
                _refuse_tools(conversation)
            self.write(conversation, writer)
        except TemplateError as error:
            return error
        except RecursionError:
            return TemplateError("a tool or the arguments of a call are nested too deeply")
        return writer.finish()


def _refuse_tools(conversation: Conversation) -> None:
    if conversation.tools:
        raise refuse("tools", "this format does not support tools", hint=_OTHERS)
    for index, message in enumerate(conversation.messages):
        if isinstance(message, dict | Mapping) and message.get("tool_calls"):
            raise refuse(
                f"messages[{index}].tool_calls", "this format does not support tool calls", hint=_OTHERS
            )


_origin = lru_cache(maxsize=4096)(Origin)


class Writer:
    """A text under construction, with the origin of each piece.

    Attributes:
        prompt: whether the text is to end with the generation prompt.
        size: number of characters so far.

    >>> writer = Writer()
    >>> writer.template("<s>")
    >>> writer.content("Hi", 0, "content")
    >>> writer.finish().runs[1]
    Run(start=3, stop=5, origin=Origin(message=0, field='content'))
    """

    __slots__ = ("_last", "_opened", "_origins", "_ready", "_starts", "_texts", "_turns", "prompt", "size")

    def __init__(self, *, prompt: bool = False) -> None:
        self.prompt = prompt
        self.size = 0
        self._texts: list[str] = []
        self._starts: list[int] = []
        self._origins: list[Origin] = []
        self._turns: list[Turn] = []
        self._last: Origin | None = None
        self._opened = (0, 0)
        self._ready = False

    def _add(self, text: str, origin: Origin) -> None:
        if text:
            if origin is not self._last and origin != self._last:
                self._last = origin
                self._starts.append(self.size)
                self._origins.append(origin)
            self._texts.append(text)
            self.size += len(text)

    def template(self, text: str, message: int | None = None) -> None:
        """Append text of the format, which belongs to a message or to none."""
        self._add(text, TEMPLATE if message is None else _origin(message))

    def content(self, text: str, message: int | None, field: str | None) -> None:
        """Append content: a field of a message, or the value of a tool or variable; None for text of the format."""
        self._add(text, _origin(message, field))

    def begin_turn(self, message: int, header: str = "") -> None:
        """Begin the turn of a message, after a header."""
        if header:
            self._add(header, _origin(message))
        self._opened = (message, self.size)

    def begin_role(self, message: int, before: str, role: str, after: str) -> None:
        """Begin the turn of a message, after a header with its role, which is content unless it is a common one."""
        if role in ROLES:
            self.begin_turn(message, f"{before}{role}{after}")
        else:
            self.template(before, message)
            self.content(role, message, "role")
            self.begin_turn(message, after)

    def end_turn(self, token: str = "", after: str = "") -> None:
        """End the current turn, including the token that closes it; an empty turn is not recorded.

        Args:
            token: the token that ends the turn.
            after: text of the format after it.
        """
        message, start = self._opened
        stop = self.size + len(token)
        if token or after:
            self._add(token + after, _origin(message))
        if start < stop:
            self._turns.append(Turn(message, start, stop))

    def turn(self, message: int, header: str, text: str, *, token: str, after: str = "") -> None:
        """Append a whole turn: a header, the content of the message, the token that ends it, and text after that.

        This is a faster equivalent of `begin_turn`, `content` and `end_turn`, as most text is written this way.
        """
        own = _origin(message)
        if not (header and text and token) or own == self._last:
            self.begin_turn(message, header)
            self.content(text, message, "content")
            self.end_turn(token, after)
            return
        start = self.size + len(header)
        stop = start + len(text)
        self._texts += header, text, token + after
        self._starts += self.size, start, stop
        self._origins += own, _origin(message, "content"), own
        self._turns.append(Turn(message, start, stop + len(token)))
        self._last = own
        self.size = stop + len(token) + len(after)

    def end_ready(self, header: str = "") -> None:
        """If the text is to end with the generation prompt, write the header of the assistant's turn and mark it."""
        if self.prompt:
            self._add(header, TEMPLATE)
            self._ready = True

    def finish(self) -> Rendered:
        """Return the rendered text."""
        runs = Runs(self._starts, self._origins, self.size)
        return Rendered("".join(self._texts), runs, tuple(self._turns), None, self._ready)


def write_json(
    writer: Writer, value: Any, message: int | None, path: str, *, indent: int | None = None
) -> None:
    """Write a value like `json.dumps(value, ensure_ascii=False, indent=indent)`, as the filter `tojson` does.

    A key has the origin of its value; braces, commas and colons have that of their object or list.

    Args:
        writer: the writer to add the text to.
        value: a JSON value.
        message: index of its message; None for a tool.
        path: path of the value, such as `tools[0]`.
        indent: spaces per level; None for one line.

    Raises:
        TemplateError: the value contains something that JSON cannot represent.
    """
    _Json(writer, message, indent).write(value, path, 0)


@dataclass(frozen=True, slots=True)
class _Json:
    """The target of a JSON text: the writer, the message, and the indentation."""

    writer: Writer
    message: int | None
    indent: int | None

    def write(self, value: Any, path: str, level: int) -> None:
        if isinstance(value, str | int | float | None):
            self.writer.content(json.dumps(value, ensure_ascii=False), self.message, path)
            return
        if isinstance(value, Mapping):
            brackets = "{}"
            items = [(_key(key, path), f"{path}.{key}", value[key]) for key in value]
        elif isinstance(value, list | tuple):
            brackets = "[]"
            items = [("", f"{path}[{place}]", item) for place, item in enumerate(value)]
        else:
            raise refuse(path, f"JSON has no {kind_of(value)}")
        if not items:
            self.writer.content(brackets, self.message, path)
            return
        before, separator, after = "", ", ", ""
        if self.indent is not None:
            before, after = (f"\n{' ' * self.indent * deep}" for deep in (level + 1, level))
            separator = f",{before}"
        opening = brackets[0] + before
        for key, item_path, item in items:
            self.writer.content(opening, self.message, path)
            if key:
                self.writer.content(key, self.message, item_path)
                self.writer.content(": ", self.message, path)
            self.write(item, item_path, level + 1)
            opening = separator
        self.writer.content(f"{after}{brackets[1]}", self.message, path)


def _key(key: object, path: str) -> str:
    if not isinstance(key, str):
        raise refuse(path, f"a key is {kind_of(key)}, not a text")
    return json.dumps(key, ensure_ascii=False)
