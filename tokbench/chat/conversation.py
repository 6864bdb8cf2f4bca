"""Conversations: messages, and the other inputs of a chat template; and conversations of all common shapes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.chat.rendered import Rendered
    from tokbench.errors import TemplateError

REASONING = ("reasoning_content", "thinking", "reasoning")
"""The names of a message's reasoning. Jinja templates find it under the first two, whichever name was used."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The input of a chat template.

    Attributes:
        messages: JSON objects, each with a `role`, and `content` (a text, None or a list of parts), `tool_calls`,
            `tool_call_id`, `name`, `reasoning_content` or other fields that a template reads.
        tools: JSON schemas of functions, as `{"type": "function", "function": {...}}`.
        documents: documents for retrieval templates.
        variables: further template variables by name, such as `enable_thinking`.
        is_unfinished: whether the last message is to be continued, so that the text ends with its content.
    """

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    documents: tuple[Mapping[str, Any], ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    is_unfinished: bool = False

    def completed(
        self, *, tools: Sequence[Mapping[str, Any]] = (), variables: Mapping[str, Any] | None = None
    ) -> Conversation:
        """Return a copy with these tools, unless the conversation has its own, and with further variables.

        >>> Conversation(({"role": "user"},), variables={"a": 1}).completed(variables={"a": 2}).variables
        {'a': 2}
        """
        return replace(
            self, tools=self.tools or tuple(tools), variables={**self.variables, **(variables or {})}
        )


class Renderer(Protocol):
    """A chat template, built-in or in Jinja."""

    @property
    def name(self) -> str:
        """The name that users know it by: `chatml`, or the name of its file."""

    def render(
        self, conversations: Sequence[Conversation], *, prompt: bool = False
    ) -> list[Rendered | TemplateError]:
        """Render each conversation as text.

        Args:
            conversations: the conversations to render.
            prompt: whether each text ends with the generation prompt (`add_generation_prompt`).

        Returns:
            For each conversation its text, or the error with which the template refuses it, so that one
                refusal does not stop the others.

        Raises:
            TemplateError: the template itself is invalid, or exceeds its limits.
        """


@runtime_checkable
class RendersBeginnings(Protocol):
    """A renderer that renders the first messages of a conversation faster than as a conversation of their own."""

    def render_beginnings(
        self, beginnings: Sequence[tuple[Conversation, int]], *, prompt: bool = False
    ) -> list[str | None]:
        """Render the first messages of conversations as text.

        Args:
            beginnings: conversations with a number of messages; those of one conversation follow each other.
            prompt: whether each text ends with the generation prompt.

        Returns:
            For each beginning its text; None if the template refuses it.

        Raises:
            TemplateError: as `Renderer.render`.
        """


SYSTEM, ASKED, ANSWERED = "Sysword be brief.", "Askword one?", "Answord one."
ASKED_AGAIN, ANSWERED_AGAIN = "Askword two?", "Answord two."
ARGUMENT, RESULT = "Argword", "Resword"

TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def _said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def _call(arguments: Any, *, content: Any = "") -> dict[str, Any]:
    function = {"name": "get_weather", "arguments": arguments}
    return {
        **_said("assistant", content),
        "tool_calls": [{"id": "abcdef123", "type": "function", "function": function}],
    }


_USER, _ASSISTANT = _said("user", ASKED), _said("assistant", ANSWERED)
_RESULT = {**_said("tool", RESULT), "name": "get_weather", "tool_call_id": "abcdef123"}


def _talk(*messages: dict[str, Any], tools: bool = False) -> Conversation:
    return Conversation(messages, tools=(TOOL,) if tools else ())


TURNS = _talk(_USER, _ASSISTANT, _said("user", ASKED_AGAIN), _said("assistant", ANSWERED_AGAIN))
"""Two exchanges, to test the rendering of history."""

SHAPES: Mapping[str, Conversation] = {
    "one exchange": _talk(_USER, _ASSISTANT),
    "two exchanges": TURNS,
    "a system message": _talk(_said("system", SYSTEM), _USER, _ASSISTANT),
    "content as a list of parts": _talk(_said("user", [{"type": "text", "text": ASKED}]), _ASSISTANT),
    "a call of a tool": _talk(_USER, _call({"city": ARGUMENT}), _RESULT, _ASSISTANT, tools=True),
    "a call with content null": _talk(
        _USER, _call({"city": ARGUMENT}, content=None), _RESULT, _ASSISTANT, tools=True
    ),
    "arguments as a JSON string": _talk(
        _USER, _call(f'{{"city": "{ARGUMENT}"}}'), _RESULT, _ASSISTANT, tools=True
    ),
    "a tool's result without its call": _talk(_USER, _RESULT, _ASSISTANT, tools=True),
    "an empty answer": _talk(_USER, _said("assistant", "")),
}
"""Name of a shape → a conversation of that shape."""
