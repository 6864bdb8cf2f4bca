"""A built-in chat template: how it is called, where it is from, and the tokens it needs."""

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
    """A built-in chat template, exact to its maker's; a `Renderer`.

    Attributes:
        name: how the user calls it.
        description: in a few words, what it is for.
        source: whose definition it follows, of which version.
        write: writes a conversation that has messages.
        control_tokens: the tokens that it needs a vocabulary to have.
        turn_end: those among them that end what the assistant says.
        optional_tokens: those that it writes only in some conversations, as for tools.
        has_tools: whether it has a place for tools and their calls; a conversation with them is refused if not.
        plain_tags: what it writes that is a token of its own in the vocabularies made for it, and may be text in
            others, as `<think>`.
        text_marks: what tells speakers apart and is ordinary text to the vocabulary, so that content that
            holds it looks the same.
        with_dummy_prefix: the same without the space that SentencePiece puts before a text, where it is
            written; for a tokenizer that puts it there by itself.
        merges_bytes: whether the vocabularies made for it merge bytes rather than characters, where that tells it
            from a template with the same tokens.
        variables: what a conversation may set, each with what it does.
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
        """Every token that it writes where the vocabulary has it."""
        return frozenset((*self.control_tokens, *self.optional_tokens, *self.plain_tags))

    def render(
        self, conversations: Sequence[Conversation], *, prompt: bool = False
    ) -> list[Rendered | TemplateError]:
        """Write each conversation as text, with exact origins and turns.

        Args:
            conversations: what is written.
            prompt: whether each ends ready for the assistant (`add_generation_prompt`).

        Returns:
            For each conversation its text, or the error that says what is wrong with it.
        """
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
