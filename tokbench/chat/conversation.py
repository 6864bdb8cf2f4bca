"""A conversation: messages, and what else a template is given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
