"""The text of the session as a conversation, encoded as by `tokbench chat`."""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING

from tokbench.chat.conversation import Conversation
from tokbench.chat.conversation_files import ReadConversation, read_conversations
from tokbench.chat.formats.catalogue import recognized
from tokbench.chat.template import AUTO, ChatTemplate
from tokbench.core.guarded import control_tokens
from tokbench.errors import TemplateError
from tokbench.formats.tokenizer_config.fields import config_of
from tokbench.workbench.chat import encode_conversations

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer
    from tokbench.workbench.chat import ChatResult

LONGEST = 200_000
"""Maximum number of characters of a displayed conversation."""
_ROLE = re.compile(r"^(system|developer|user|assistant|tool):[ \t]?", re.MULTILINE)


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
