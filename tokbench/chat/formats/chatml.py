"""ChatML: each message between `<|im_start|>` and `<|im_end|>`, with any role.

Source: OpenAI, openai-python `chatml.md` (March 2023), in the form of the template that transformers gives
for it in its guide to chat templates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.chat.formats.fields import role_of, text_of
from tokbench.chat.formats.format import Format
from tokbench.chat.rendered import ROLES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tokbench.chat.conversation import Conversation
    from tokbench.chat.formats.format import Writer

START = "<|im_start|>"
END = "<|im_end|>"


def write_message(writer: Writer, message: Mapping[str, Any], index: int) -> None:
    """Write a message with a role and a text."""
    role, text = role_of(message, index), text_of(message, index)
    if role in ROLES:
        writer.turn(index, f"{START}{role}\n", text, token=END, after="\n")
    else:
        writer.begin_role(index, START, role, "\n")
        writer.content(text, index, "content")
        writer.end_turn(END, "\n")


def write(conversation: Conversation, writer: Writer) -> None:
    """Write all messages, each with a role and a text."""
    for index, message in enumerate(conversation.messages):
        write_message(writer, message, index)
    writer.end_ready(f"{START}assistant\n")


CHATML = Format(
    name="chatml",
    description="messages between <|im_start|> and <|im_end|>, with any role",
    source="OpenAI, chatml.md (2023-03)",
    write=write,
    control_tokens=(START, END),
    turn_end=(END,),
    has_tools=False,
)
