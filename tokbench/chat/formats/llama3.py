"""Llama 3 and 3.1 to 3.3: headers between `<|start_header_id|>` and `<|end_header_id|>`, tools from 3.1.

Source: Meta, the `chat_template` of meta-llama/Meta-Llama-3-8B-Instruct (2024-04), of Llama-3.1-8B-Instruct
(2024-09; that of Llama-3.3-70B-Instruct gives the same) and of Llama-3.2-3B-Instruct (2024-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.chat.formats.fields import calls_of, checked, kind_of, refuse, role_of, text_of, variable
from tokbench.chat.formats.format import Format, write_json
from tokbench.chat.rendered import COMPUTED, ROLES

if TYPE_CHECKING:
    from tokbench.chat.conversation import Conversation
    from tokbench.chat.formats.fields import Call
    from tokbench.chat.formats.format import Writer

BOS = "<|begin_of_text|>"
HEADER = "<|start_header_id|>"
HEADER_END = "<|end_header_id|>"
TURN_END = "<|eot_id|>"
MESSAGE_END = "<|eom_id|>"
PYTHON_TAG = "<|python_tag|>"

_REPLY_FORM = (
    'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.'
    "Do not use variables.\n\n"
)
_TOOLS_IN_SYSTEM = (
    "You have access to the following functions. To call a function, please respond with JSON for a function call."
    + _REPLY_FORM
)
_TOOLS_IN_USER = (
    "Given the following functions, please respond with a JSON for a function call "
    "with its proper arguments that best answers the given prompt.\n\n" + _REPLY_FORM
)


def _write_text(writer: Writer, message: Mapping[str, Any], index: int) -> None:
    role, text = role_of(message, index), text_of(message, index).strip()
    if role in ROLES:
        writer.turn(index, f"{HEADER}{role}{HEADER_END}\n\n", text, token=TURN_END)
    else:
        writer.begin_role(index, HEADER, role, f"{HEADER_END}\n\n")
        writer.content(text, index, "content")
        writer.end_turn(TURN_END)


def _write_3(conversation: Conversation, writer: Writer) -> None:
    writer.template(BOS)
    for index, message in enumerate(conversation.messages):
        _write_text(writer, message, index)
    writer.end_ready(f"{HEADER}assistant{HEADER_END}\n\n")


@dataclass(frozen=True, slots=True)
class _Settings:
    """The settings of Llama 3.1 that the variables of a conversation determine.

    Attributes:
        date: today's date, such as `26 Jul 2024`.
        date_field: the field that it comes from; None if it is the format's own.
        builtin_tools: tools that run in Python; None if there is no environment for them.
        tools_in_user_message: whether tools are in the first user message rather than the system message.
    """

    date: str
    date_field: str | None
    builtin_tools: tuple[str, ...] | None
    tools_in_user_message: bool

    @classmethod
    def of(cls, conversation: Conversation, *, date: str, date_field: str | None) -> _Settings:
        """Read the settings of a conversation; the given date is used if it sets none."""
        given = variable(conversation, "date_string", str)
        builtin = variable(conversation, "builtin_tools", (list, tuple))
        for place, tool in enumerate(builtin or ()):
            checked(tool, str, "a string", f"builtin_tools[{place}]")
        if "custom_tools" in conversation.variables:
            raise refuse(
                "custom_tools", "this format does not use this variable", hint="pass the functions as `tools`"
            )
        return cls(
            date=date if given is None else given,
            date_field=date_field if given is None else "date_string",
            builtin_tools=None if builtin is None else tuple(builtin),
            tools_in_user_message=variable(conversation, "tools_in_user_message", bool, default=True),
        )


def _write_31(conversation: Conversation, writer: Writer) -> None:
    _write_with_tools(conversation, writer, _Settings.of(conversation, date="26 Jul 2024", date_field=None))


def _write_32(conversation: Conversation, writer: Writer) -> None:
    from datetime import datetime

    if "builtin_tools" in conversation.variables:
        raise refuse("builtin_tools", "Llama 3.2 has none", hint="use the format llama3.1")
    today = datetime.now().astimezone().strftime("%d %b %Y")
    settings = _Settings.of(conversation, date=today, date_field=COMPUTED.field)
    _write_with_tools(conversation, writer, settings)


def _write_with_tools(conversation: Conversation, writer: Writer, settings: _Settings) -> None:
    messages = conversation.messages
    writer.template(BOS)
    next = 1 if role_of(messages[0], 0) == "system" else 0
    _write_system(conversation, writer, settings, 0 if next else None)
    if conversation.tools and settings.tools_in_user_message:
        _write_first_user(conversation, writer, next)
        next += 1
    for index in range(next, len(messages)):
        _write_message(writer, messages[index], index, settings)
    writer.end_ready(f"{HEADER}assistant{HEADER_END}\n\n")


def _write_system(conversation: Conversation, writer: Writer, settings: _Settings, index: int | None) -> None:
    writer.template(f"{HEADER}system{HEADER_END}\n\n", index)
    if index is not None:
        writer.begin_turn(index)
    if conversation.tools or settings.builtin_tools is not None:
        writer.template("Environment: ipython\n", index)
    if settings.builtin_tools is not None:
        writer.template("Tools: ", index)
        shown = [item for item in enumerate(settings.builtin_tools) if item[1] != "code_interpreter"]
        for place, tool in shown:
            writer.content(tool, None, f"builtin_tools[{place}]")
            writer.template(", " if place != shown[-1][0] else "", index)
        writer.template("\n\n", index)
    writer.template("Cutting Knowledge Date: December 2023\nToday Date: ", index)
    if settings.date_field is None:
        writer.template(settings.date, index)
    else:
        writer.content(settings.date, None, settings.date_field)
    writer.template("\n\n", index)
    if conversation.tools and not settings.tools_in_user_message:
        writer.template(_TOOLS_IN_SYSTEM, index)
        _write_tools(conversation, writer, index)
    if index is None:
        writer.template(TURN_END)
    else:
        writer.content(text_of(conversation.messages[index], index).strip(), index, "content")
        writer.end_turn(TURN_END)


def _write_tools(conversation: Conversation, writer: Writer, index: int | None) -> None:
    for place, tool in enumerate(conversation.tools):
        write_json(writer, tool, None, f"tools[{place}]", indent=4)
        writer.template("\n\n", index)


def _write_first_user(conversation: Conversation, writer: Writer, index: int) -> None:
    if len(conversation.messages) <= index or role_of(conversation.messages[index], index) != "user":
        raise refuse(
            f"messages[{index}]",
            "tools are written into the first user message, which must come here",
            hint='set the variable "tools_in_user_message" to false to write them into the system message',
        )
    writer.begin_turn(index, f"{HEADER}user{HEADER_END}\n\n")
    writer.template(_TOOLS_IN_USER, index)
    _write_tools(conversation, writer, index)
    writer.content(text_of(conversation.messages[index], index).strip(), index, "content")
    writer.end_turn(TURN_END)


def _write_message(writer: Writer, message: Mapping[str, Any], index: int, settings: _Settings) -> None:
    role = role_of(message, index)
    if "tool_calls" in message:
        calls = calls_of(message, index)
        if len(calls) != 1 or not calls[0].path.endswith(".function"):
            raise refuse(
                f"messages[{index}].tool_calls",
                f"Llama calls one function per message, found {len(calls)} calls with a `function`",
                hint="leave tool_calls out of messages without calls; make each call a message",
            )
        if role != "assistant":
            raise refuse(f"messages[{index}]", f"a {role} message calls no functions")
        _write_call(writer, calls[0], index, settings)
    elif role in ("tool", "ipython"):
        writer.begin_turn(index, f"{HEADER}ipython{HEADER_END}\n\n")
        content = message.get("content")
        checked(content, str | list | tuple | Mapping, "a string or an object", f"messages[{index}].content")
        write_json(writer, content, index, "content")
        writer.end_turn(TURN_END)
    else:
        _write_text(writer, message, index)


def _write_call(writer: Writer, call: Call, index: int, settings: _Settings) -> None:
    writer.begin_turn(index, f"{HEADER}assistant{HEADER_END}\n\n")
    if settings.builtin_tools is not None and call.name in settings.builtin_tools:
        _write_builtin_call(writer, call, index)
    else:
        writer.template('{"name": "', index)
        writer.content(call.name, index, f"{call.path}.name")
        writer.template('", "parameters": ', index)
        write_json(writer, call.arguments, index, f"{call.path}.arguments")
        writer.template("}", index)
    writer.end_turn(TURN_END if settings.builtin_tools is None else MESSAGE_END)


def _write_builtin_call(writer: Writer, call: Call, index: int) -> None:
    writer.template(PYTHON_TAG, index)
    writer.content(call.name, index, f"{call.path}.name")
    writer.template(".call(", index)
    path = f"{call.path}.arguments"
    between = ""
    for name, value in checked(call.arguments, Mapping, "an object", f"messages[{index}].{path}").items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise refuse(f"messages[{index}].{path}.{name}", f"expected a string, found {kind_of(value)}")
        writer.template(between, index)
        writer.content(name, index, path)
        writer.template('="', index)
        writer.content(value, index, f"{path}.{name}")
        writer.template('"', index)
        between = ", "
    writer.template(")", index)


_TOKENS = (BOS, HEADER, HEADER_END, TURN_END)

_VARIABLES = {
    "date_string": "today's date in the system message",
    "tools_in_user_message": "false: tools are in the system message",
}

LLAMA_3 = (
    Format(
        name="llama3.1",
        description="Llama 3.1 and 3.3: a system message with a date, tools, ipython",
        source="Meta, Llama-3.1-8B-Instruct (2024-09)",
        write=_write_31,
        control_tokens=_TOKENS,
        turn_end=(TURN_END, MESSAGE_END),
        optional_tokens=(MESSAGE_END, PYTHON_TAG),
        variables=_VARIABLES
        | {"builtin_tools": "tools that the model calls in Python, such as brave_search"},
    ),
    Format(
        name="llama3.2",
        description="Llama 3.2: as 3.1 with today's date, without built-in tools",
        source="Meta, Llama-3.2-3B-Instruct (2024-10)",
        write=_write_32,
        control_tokens=_TOKENS,
        turn_end=(TURN_END,),
        plain_tags=(MESSAGE_END, PYTHON_TAG),
        variables=_VARIABLES,
    ),
    Format(
        name="llama3",
        description="Llama 3: headers with any role, no tools",
        source="Meta, Meta-Llama-3-8B-Instruct (2024-04)",
        write=_write_3,
        control_tokens=_TOKENS,
        turn_end=(TURN_END,),
        has_tools=False,
    ),
)
