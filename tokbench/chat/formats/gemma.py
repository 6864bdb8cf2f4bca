"""Gemma: the assistant's role is `model`, and the system message begins the first user turn.

Source: Google, the `chat_template` of google/gemma-3-1b-it (2025-03); without a system message those of Gemma 1 and 2
give the same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokbench.chat.formats.fields import alternating_role, checked, refuse, require_user, role_of
from tokbench.chat.formats.format import Format

if TYPE_CHECKING:
    from tokbench.chat.conversation import Conversation
    from tokbench.chat.formats.format import Writer

BOS = "<bos>"
START = "<start_of_turn>"
END = "<end_of_turn>"
IMAGE = "<start_of_image>"


def _write(conversation: Conversation, writer: Writer) -> None:
    messages = conversation.messages
    writer.template(BOS)
    first = 1 if role_of(messages[0], 0) == "system" else 0
    require_user(messages, first)
    for index in range(first, len(messages)):
        message = messages[index]
        if role_of(message, index) == "model":
            message = {**message, "role": "assistant"}
        role = alternating_role(message, index, first)
        writer.template(f"{START}{'user' if role == 'user' else 'model'}\n", index)
        if index == 1 and first:
            _write_system(writer, messages[0])
        writer.begin_turn(index)
        _write_content(writer, message, index)
        writer.end_turn(END, "\n")
    writer.end_ready(f"{START}model\n")


def _write_system(writer: Writer, message: Mapping[str, Any]) -> None:
    content, field = message.get("content"), "content"
    if isinstance(content, list | tuple) and len(content) == 1 and isinstance(content[0], Mapping):
        content, field = content[0].get("text"), "content[0].text"
    text = checked(content, str, "a string", f"messages[0].{field}")
    writer.begin_turn(0)
    writer.content(text, 0, field)
    writer.template("\n\n", 0)
    writer.end_turn()


def _write_content(writer: Writer, message: Mapping[str, Any], index: int) -> None:
    content = message.get("content")
    if isinstance(content, str):
        writer.content(content.strip(), index, "content")
        return
    where = f"messages[{index}].content"
    for place, part in enumerate(checked(content, list | tuple, "a string or a list of parts", where)):
        field = f"content[{place}]"
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "image":
            writer.template(IMAGE, index)
        elif kind == "text" and isinstance(part.get("text"), str):
            writer.content(part["text"].strip(), index, f"{field}.text")
        else:
            raise refuse(
                f"messages[{index}].{field}", 'expected {"type": "text", "text": …} or {"type": "image"}'
            )


GEMMA = Format(
    name="gemma",
    description="Gemma 1 to 3: roles user and model, the system in the first user turn",
    source="Google, gemma-3-1b-it (2025-03)",
    write=_write,
    control_tokens=(BOS, START, END),
    turn_end=(END,),
    has_tools=False,
    optional_tokens=(IMAGE,),
)
