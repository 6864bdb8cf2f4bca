"""Llama 2: each exchange is a sequence of its own, with the user message between `[INST]` and `[/INST]`.

Source: Meta, `chat_completion` in llama's `generation.py` (2023-07) and the `chat_template` of
meta-llama/Llama-2-7b-chat-hf, which give the same. The marks are ordinary text to the vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.chat.formats.fields import alternating_role, require_user, role_of, text_of
from tokbench.chat.formats.format import Format

if TYPE_CHECKING:
    from tokbench.chat.conversation import Conversation
    from tokbench.chat.formats.format import Writer

BOS, EOS = "<s>", "</s>"
INST, INST_END = "[INST]", "[/INST]"
SYSTEM, SYSTEM_END = "<<SYS>>", "<</SYS>>"


def _write(conversation: Conversation, writer: Writer) -> None:
    messages = conversation.messages
    first = 1 if role_of(messages[0], 0) == "system" else 0
    require_user(messages, first)
    for index in range(first, len(messages)):
        role = alternating_role(messages[index], index, first)
        text = text_of(messages[index], index)
        if role == "assistant":
            writer.begin_turn(index)
            writer.template(" ", index)
            writer.content(text.strip(), index, "content")
            writer.end_turn(f" {EOS}")
            continue
        writer.template(f"{BOS}{INST} ", index)
        if first and index == 1:
            _write_system(writer, text_of(messages[0], 0), "\n\n" if text.strip() else "")
            text = text.rstrip()
        else:
            text = text.strip()
        writer.begin_turn(index)
        writer.content(text, index, "content")
        writer.end_turn(f" {INST_END}")
    if role == "user":
        writer.end_ready()


def _write_system(writer: Writer, text: str, after: str) -> None:
    writer.template(f"{SYSTEM}\n", 0)
    writer.begin_turn(0)
    writer.content(text, 0, "content")
    writer.end_turn(f"\n{SYSTEM_END}", after)


LLAMA_2 = Format(
    name="llama2",
    description="Llama 2: [INST] and <<SYS>>, which are ordinary text",
    source="Meta, llama generation.py and Llama-2-7b-chat-hf (2023-07)",
    write=_write,
    control_tokens=(BOS, EOS),
    turn_end=(EOS,),
    has_tools=False,
    text_marks=(INST, INST_END, SYSTEM, SYSTEM_END),
)
