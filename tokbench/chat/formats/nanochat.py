"""nanochat: alternating user and assistant messages, with Python code that the assistant runs and its output.

Source: Andrej Karpathy, nanochat, `render_conversation` and `render_for_completion` in `nanochat/tokenizer.py`
(92d63d4, 2026-07). The output of Python is not part of the assistant's turn, as models are not trained on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokbench.chat.formats.fields import alternating_role, checked, refuse, require_user, role_of, text_of
from tokbench.chat.formats.format import Format

if TYPE_CHECKING:
    from tokbench.chat.conversation import Conversation
    from tokbench.chat.formats.format import Writer

BOS = "<|bos|>"
USER, USER_END = "<|user_start|>", "<|user_end|>"
ASSISTANT, ASSISTANT_END = "<|assistant_start|>", "<|assistant_end|>"
PYTHON, PYTHON_END = "<|python_start|>", "<|python_end|>"
OUTPUT, OUTPUT_END = "<|output_start|>", "<|output_end|>"


def _write(conversation: Conversation, writer: Writer) -> None:
    messages = conversation.messages
    writer.template(BOS)
    first = 1 if role_of(messages[0], 0) == "system" else 0
    require_user(messages, first)
    for index in range(first, len(messages)):
        message = messages[index]
        role = alternating_role(message, index, first)
        if role == "user":
            _write_user(writer, message, index, messages[0] if index == 1 and first else None)
        else:
            _write_assistant(writer, message, index)
    if writer.prompt:
        if role != "user":
            raise refuse(
                f"messages[{len(messages) - 1}]",
                "the assistant answers the user, so the last message must be the user's",
            )
        writer.end_ready(ASSISTANT)


def _write_user(
    writer: Writer, message: Mapping[str, Any], index: int, system: Mapping[str, Any] | None
) -> None:
    writer.template(USER, index)
    if system is not None:
        writer.begin_turn(0)
        writer.content(text_of(system, 0), 0, "content")
        writer.template("\n\n", 0)
        writer.end_turn()
    writer.begin_turn(index)
    writer.content(text_of(message, index), index, "content")
    writer.end_turn(USER_END)


def _write_assistant(writer: Writer, message: Mapping[str, Any], index: int) -> None:
    writer.begin_turn(index, ASSISTANT)
    content = message.get("content")
    if isinstance(content, str):
        writer.content(content, index, "content")
    else:
        where = f"messages[{index}].content"
        for place, part in enumerate(checked(content, list | tuple, "a string or a list of parts", where)):
            _write_part(writer, part, index, f"content[{place}]")
    writer.end_turn(ASSISTANT_END)


def _write_part(writer: Writer, part: Any, index: int, field: str) -> None:
    where = f"messages[{index}].{field}"
    checked(part, Mapping, "an object with type and text", where)
    text = checked(part.get("text"), str, "a string", f"{where}.text")
    kind = part.get("type")
    match kind:
        case "text":
            writer.content(text, index, f"{field}.text")
        case "python":
            writer.template(PYTHON, index)
            writer.content(text, index, f"{field}.text")
            writer.template(PYTHON_END, index)
        case "python_output":
            writer.end_turn()
            writer.template(OUTPUT, index)
            writer.content(text, index, f"{field}.text")
            writer.template(OUTPUT_END, index)
            writer.begin_turn(index)
        case _:
            raise refuse(f"{where}.type", f"expected text, python or python_output, found {kind!r}")


NANOCHAT = Format(
    name="nanochat",
    description="nanochat: alternating user and assistant, Python and its output",
    source="nanochat, render_conversation (92d63d4, 2026-07)",
    write=_write,
    control_tokens=(BOS, USER, USER_END, ASSISTANT, ASSISTANT_END),
    turn_end=(ASSISTANT_END,),
    has_tools=False,
    optional_tokens=(PYTHON, PYTHON_END, OUTPUT, OUTPUT_END),
)
