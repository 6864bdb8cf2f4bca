"""A built-in chat template: its name, its source, and the tokens that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokbench.chat.formats.fields import refuse
from tokbench.chat.formats.writer import Writer
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.chat.conversation import Conversation
    from tokbench.chat.rendered import Rendered

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
