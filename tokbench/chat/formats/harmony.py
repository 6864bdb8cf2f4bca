"""Harmony, the format of gpt-oss: messages with a role, a channel and a recipient.

Source: OpenAI, openai-harmony 0.0.8 (ec7606d, 2025-11): `render_conversation_for_training`, and with a prompt
`render_conversation_for_completion`; which message goes to which channel is from its `docs/format.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.chat.formats.fields import refuse, variable
from tokbench.chat.formats.format import Format, write_json
from tokbench.chat.formats.harmony_messages import CONSTRAIN, Said, said_in, without_old_analysis
from tokbench.chat.formats.harmony_types import Function, Namespace, Part, functions_of, tools_section

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.chat.conversation import Conversation
    from tokbench.chat.formats.format import Writer


_NUMBER = {"type": "number", "default": -1}

BROWSER = Namespace(
    "browser",
    "Tool for browsing.\n"
    "The `cursor` appears in brackets before each browsing display: `[{cursor}]`.\n"
    "Cite information from the tool using the following format:\n"
    "`【{cursor}†L{line_start}(-L{line_end})?】`, for example: `【6†L9-L11】` or `【8†L3】`.\n"
    "Do not quote more than 10 words directly from the tool output.\n"
    "sources=web (default: web)",
    (
        Function(
            "search",
            "Searches for information related to `query` and displays `topn` results.",
            {
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "topn": {"type": "number", "default": 10},
                    "source": {"type": "string"},
                },
                "required": ["query"],
            },
            None,
        ),
        Function(
            "open",
            "Opens the link `id` from the page indicated by `cursor` starting at line number `loc`, showing "
            "`num_lines` lines.\n"
            "Valid link ids are displayed with the formatting: `【{id}†.*】`.\n"
            "If `cursor` is not provided, the most recent page is implied.\n"
            "If `id` is a string, it is treated as a fully qualified URL associated with `source`.\n"
            "If `loc` is not provided, the viewport will be positioned at the beginning of the document or centered "
            "on the most relevant passage, if available.\n"
            "Use this function without `id` to scroll to a new location of an opened page.",
            {
                "type": "object",
                "properties": {
                    "id": {"type": ["number", "string"], "default": -1},
                    "cursor": _NUMBER,
                    "loc": _NUMBER,
                    "num_lines": _NUMBER,
                    "view_source": {"type": "boolean", "default": False},
                    "source": {"type": "string"},
                },
            },
            None,
        ),
        Function(
            "find",
            "Finds exact matches of `pattern` in the current page, or the page given by `cursor`.",
            {
                "type": "object",
                "properties": {"pattern": {"type": "string"}, "cursor": _NUMBER},
                "required": ["pattern"],
            },
            None,
        ),
    ),
)

PYTHON = Namespace(
    "python",
    "Use this tool to execute Python code in your chain of thought. The code will not be shown to the user. This "
    "tool should be used for internal reasoning, but not for code that is intended to be visible to the user (e.g. "
    "when creating plots, tables, or files).\n\n"
    "When you send a message containing Python code to python, it will be executed in a stateful Jupyter notebook "
    "environment. python will respond with the output of the execution or time out after 120.0 seconds. The drive "
    "at '/mnt/data' can be used to save and persist user files. Internet access for this session is UNKNOWN. Depends "
    "on the cluster.",
    (),
)


START, MESSAGE, CHANNEL = "<|start|>", "<|message|>", "<|channel|>"
END, RETURN, CALL = "<|end|>", "<|return|>", "<|call|>"

_BUILTIN = {"browser": BROWSER, "python": PYTHON}
_EFFORTS = ("low", "medium", "high")
_IDENTITY = "You are ChatGPT, a large language model trained by OpenAI."
_CUTOFF = "2024-06"
_CHANNELS = "# Valid channels: analysis, commentary, final. Channel must be included for every message."
_SYSTEM = (
    f"{START}system{MESSAGE}{_IDENTITY}\nKnowledge cutoff: {_CUTOFF}\n\nReasoning: medium\n\n{_CHANNELS}{END}"
)


def _write(conversation: Conversation, writer: Writer) -> None:
    builtin = _builtin_tools(conversation)
    said = said_in(conversation, builtin)
    if variable(conversation, "auto_drop_analysis", bool, default=True):
        said = without_old_analysis(said)
    functions: list[Part] = []
    if conversation.tools:
        functions = tools_section([Namespace("functions", "", functions_of(conversation.tools))])
    _write_system(conversation, writer, builtin)
    is_developers = conversation.messages[0]["role"] in ("system", "developer")
    if conversation.tools and not is_developers:
        writer.template(f"{START}developer{MESSAGE}")
        _write_tools(writer, functions, None)
        writer.template(END)
    previous: int | None = None
    for place, message in enumerate(said):
        continued = message.message == previous
        is_last = place + 1 == len(said)
        _write_header(writer, message, continued=continued)
        if message.role in ("system", "developer"):
            writer.template("# Instructions\n\n", message.message)
        _write_content(writer, message)
        if conversation.tools and message.message == 0 and is_developers:
            writer.template("\n\n", 0)
            _write_tools(writer, functions, 0)
        end = _end_of(message, is_answer=is_last and not writer.prompt)
        if is_last or said[place + 1].message != message.message:
            writer.end_turn(end)
        else:
            writer.template(end, message.message)
        previous = message.message
    writer.end_ready(f"{START}assistant")


def _end_of(said: Said, *, is_answer: bool) -> str:
    """Return the token that ends a message; the final answer ends with the token that the model itself writes."""
    if said.role != "assistant":
        return END
    if is_answer and said.channel.text == "final":
        return RETURN
    return CALL if said.recipient else END


def _write_header(writer: Writer, said: Said, *, continued: bool) -> None:
    """Write the header; in an assistant turn everything after the role is written by the model."""
    index = said.message
    role = {"tool": "", "system": "developer"}.get(said.role, said.role)
    if said.role == "assistant" and not said.name and not continued:
        writer.begin_turn(index, f"{START}assistant")
    else:
        writer.template(f"{START}{role}", index)
        _write_parts(writer, said.name, index)
        if said.role == "assistant" and not continued:
            writer.begin_turn(index)
    if said.recipient and said.recipient[0].text != "all":
        writer.template(" to=", index)
        _write_parts(writer, said.recipient, index)
    if said.channel.text:
        writer.template(CHANNEL, index)
        _write_parts(writer, (said.channel,), index)
    if said.content_type.text:
        type = said.content_type.text
        writer.template(f" {CONSTRAIN}" if type.startswith(CONSTRAIN) else " ", index)
        _write_parts(writer, [Part(type.removeprefix(CONSTRAIN), said.content_type.path)], index)
    if said.role == "assistant":
        writer.template(MESSAGE, index)
    else:
        writer.begin_turn(index, MESSAGE)


def _write_parts(writer: Writer, parts: Iterable[Part], index: int) -> None:
    for text, path in parts:
        writer.content(text, index, path)


def _write_content(writer: Writer, said: Said) -> None:
    if said.arguments is None:
        _write_parts(writer, said.texts, said.message)
    else:
        call = said.arguments
        write_json(writer, call.arguments, said.message, f"{call.path}.arguments")


def _write_tools(writer: Writer, parts: Iterable[Part], index: int | None) -> None:
    for text, path in parts:
        writer.content(text, index if path is None else None, path)


def _builtin_tools(conversation: Conversation) -> list[str]:
    names = variable(conversation, "builtin_tools", (list, tuple), default=())
    for name in names:
        if name not in _BUILTIN:
            raise refuse("builtin_tools", f"expected browser or python, found {name!r}")
    return sorted(set(names))


def _write_system(conversation: Conversation, writer: Writer, builtin: list[str]) -> None:
    """Write the system message with the model description, which is not a message of the conversation."""
    if not conversation.variables and not conversation.tools:
        writer.template(_SYSTEM)
        return
    writer.template(f"{START}system{MESSAGE}")
    _write_variable(conversation, writer, "model_identity", _IDENTITY)
    writer.template("\nKnowledge cutoff: ")
    _write_variable(conversation, writer, "knowledge_cutoff", _CUTOFF)
    if variable(conversation, "conversation_start_date", str) is not None:
        writer.template("\nCurrent date: ")
        _write_variable(conversation, writer, "conversation_start_date", "")
    effort = variable(conversation, "reasoning_effort", str, default="medium")
    if effort not in _EFFORTS:
        raise refuse("reasoning_effort", f"expected low, medium or high, found {effort!r}")
    writer.template(f"\n\nReasoning: {effort}\n\n")
    if builtin:
        _write_tools(writer, tools_section([_BUILTIN[name] for name in builtin]), None)
        writer.template("\n\n")
    writer.template(_CHANNELS)
    if conversation.tools:
        writer.template("\nCalls to these tools must go to the commentary channel: 'functions'.")
    writer.template(END)


def _write_variable(conversation: Conversation, writer: Writer, name: str, default: str) -> None:
    value = variable(conversation, name, str)
    if value is None:
        writer.template(default)
    else:
        writer.content(value, None, name)


HARMONY = Format(
    name="harmony",
    description="harmony of gpt-oss: channels, recipients, tools as TypeScript types",
    source="OpenAI, openai-harmony 0.0.8 (2025-11)",
    write=_write,
    control_tokens=(START, MESSAGE, CHANNEL, END, RETURN),
    turn_end=(RETURN, CALL),
    optional_tokens=(CALL, CONSTRAIN),
    variables={
        "reasoning_effort": "low, medium (the default) or high",
        "model_identity": "the first line of the system message",
        "knowledge_cutoff": "default: 2024-06",
        "conversation_start_date": "today's date; left out by default",
        "builtin_tools": "browser and python",
        "auto_drop_analysis": "false: analysis before the first final answer is kept",
    },
)
