"""Conversations: messages, and the other inputs of a chat template."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.chat.rendered import Rendered
    from tokbench.errors import TemplateError


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
