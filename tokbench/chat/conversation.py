"""A conversation: messages, and what else a template is given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.chat.rendered import Rendered
    from tokbench.errors import TemplateError


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a template is given.

    Attributes:
        messages: each a JSON object with a `role`, and `content` (a text, None or a list of parts), `tool_calls`,
            `tool_call_id`, `name`, `reasoning_content` or what else a template asks for.
        tools: JSON schemas of functions, as `{"type": "function", "function": {...}}`.
        documents: for templates of retrieval.
        variables: what else the template may ask for by name, as `enable_thinking`.
        is_unfinished: whether the last message is the beginning of one, with whose content the text ends.
    """

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    documents: tuple[Mapping[str, Any], ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    is_unfinished: bool = False

    def completed(
        self, *, tools: Sequence[Mapping[str, Any]] = (), variables: Mapping[str, Any] | None = None
    ) -> Conversation:
        """The same conversation with tools, where it has none of its own, and with further variables.

        >>> Conversation(({"role": "user"},), variables={"a": 1}).completed(variables={"a": 2}).variables
        {'a': 2}
        """
        return replace(
            self, tools=self.tools or tuple(tools), variables={**self.variables, **(variables or {})}
        )


class Renderer(Protocol):
    """A chat template: a built-in one, or one in Jinja."""

    @property
    def name(self) -> str:
        """How the user calls it: `chatml`, or the name of its file."""

    def render(
        self, conversations: Sequence[Conversation], *, prompt: bool = False
    ) -> list[Rendered | TemplateError]:
        """Write each conversation as text.

        Args:
            conversations: what is written.
            prompt: whether each ends ready for the assistant (`add_generation_prompt`).

        Returns:
            For each conversation its text, or the error by which the template refuses it, so that one
            of many does not stop the others.

        Raises:
            TemplateError: the template itself is none, or exceeds its limits.
        """
