"""Mistral v1, v2, v3 and v7, for SentencePiece and for Tekken.

Source: Mistral AI, mistral-common 1.13.1, `tokens/tokenizers/instruct.py`. It encodes each text separately, so
SentencePiece puts a space before each; that space is written here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokbench.chat.formats.fields import refuse
from tokbench.chat.formats.format import Format, write_json
from tokbench.chat.formats.mistral_messages import (
    NO_ID,
    ContentPart,
    Rules,
    Speech,
    joined_parts,
    speeches_of,
    tools_of,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.chat.conversation import Conversation
    from tokbench.chat.formats.fields import Call
    from tokbench.chat.formats.format import Writer

BOS, EOS = "<s>", "</s>"
INST, INST_END = "[INST]", "[/INST]"
TOOLS, TOOLS_END = "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"
CALLS = "[TOOL_CALLS]"
RESULTS, RESULTS_END = "[TOOL_RESULTS]", "[/TOOL_RESULTS]"
RESULT_CONTENT = "[TOOL_CONTENT]"
SYSTEM, SYSTEM_END = "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"


@dataclass(frozen=True, slots=True)
class _Version:
    """A version of the format.

    Attributes:
        number: Mistral's version number: 1, 2, 3 or 7.
        space: written before each text after a control token: the space that SentencePiece inserts, empty for Tekken.
        rules: the constraints on messages.
    """

    number: int
    space: str
    rules: Rules

    @classmethod
    def of(cls, number: int, space: str) -> _Version:
        """Create a version with its rules."""
        rules = Rules(has_tools=number > 1, needs_ids=number >= 3, calls_with_text=number >= 7)
        return cls(number, space, rules)

    def write(self, conversation: Conversation, writer: Writer) -> None:
        """Write a conversation."""
        speeches = speeches_of(conversation, self.rules)
        if self.number < 7:
            speeches = _system_in_user(speeches, last=self.number > 1)
        last_user = max((place for place, speech in enumerate(speeches) if speech.role == "user"), default=-1)
        if self.number == 2:
            _check_results(speeches[max(last_user, 0) :])
        writer.template(BOS)
        before = self.space
        for place, speech in enumerate(speeches):
            if self.number == 2 and place < last_user and (speech.calls or speech.role == "tool"):
                continue
            if place == last_user and conversation.tools:
                self._write_tools(writer, conversation, speech.message)
            self._write_speech(writer, speech, before)
            before = self.space if self.number > 1 or speech.role == "assistant" else " "
        if speeches[-1].role in ("user", "tool"):
            writer.end_ready()

    def _write_tools(self, writer: Writer, conversation: Conversation, message: int) -> None:
        writer.template(f"{TOOLS}{self.space}", message)
        write_json(writer, tools_of(conversation), None, "tools")
        writer.template(TOOLS_END, message)

    def _write_speech(self, writer: Writer, speech: Speech, before: str) -> None:
        """Write a speech, with the space before it."""
        match speech.role:
            case "system":
                writer.begin_turn(speech.message, SYSTEM)
                _write_text(writer, speech.pieces, before)
                writer.end_turn(SYSTEM_END)
            case "user":
                self._write_user(writer, speech, before)
            case "tool":
                self._write_result(writer, speech)
            case _:
                self._write_assistant(writer, speech, before)

    def _write_user(self, writer: Writer, speech: Speech, before: str) -> None:
        first = speech.pieces[0].message if speech.pieces else speech.message
        if self.number > 1:
            writer.begin_turn(first, INST)
            _write_text(writer, speech.pieces, before)
            writer.end_turn(INST_END)
            return
        writer.begin_turn(first, f"{before}{INST}")
        if not speech.pieces:
            writer.template(" ", first)
        _write_text(writer, speech.pieces, " ")
        writer.end_turn(f" {INST_END}")

    def _write_assistant(self, writer: Writer, speech: Speech, before: str) -> None:
        writer.begin_turn(speech.pieces[0].message if speech.pieces else speech.message)
        _write_text(writer, speech.pieces if self.number == 1 else _trimmed(speech.pieces), before)
        if speech.calls:
            self._write_calls(writer, speech.calls)
        writer.end_turn("" if speech.prefix else EOS)

    def _write_calls(self, writer: Writer, calls: Sequence[tuple[int, Call]]) -> None:
        opening = f"{CALLS}{self.space}["
        for message, call in calls:
            writer.template(f'{opening}{{"name": "', message)
            writer.content(call.name, message, f"{call.path}.name")
            writer.template('", "arguments": ', message)
            path = f"{call.path}.arguments"
            if isinstance(call.arguments, str):
                value = value_of(call.arguments or "{}", f"messages[{message}].{path}")
                writer.content(json.dumps(value, ensure_ascii=False), message, path)
            else:
                write_json(writer, call.arguments, message, path)
            if self.number >= 3 and call.id is not None and call.id != NO_ID:
                writer.template(', "id": "', message)
                writer.content(call.id, message, f"{call.path.removesuffix('.function')}.id")
                writer.template('"', message)
            writer.template("}", message)
            opening = ", "
        writer.template("]", calls[-1][0])

    def _write_result(self, writer: Writer, speech: Speech) -> None:
        index = speech.message
        writer.begin_turn(index, RESULTS)
        if self.number >= 7:
            writer.template(self.space, index)
            writer.content(speech.call_id or "", index, "tool_call_id")
            writer.template(RESULT_CONTENT, index)
            _write_text(writer, speech.pieces, self.space)
            writer.end_turn(RESULTS_END)
            return
        value = value_of(speech.text or "{}", f"messages[{index}].content")
        if self.number == 2:
            writer.template(f'{self.space}[{{"name": ', index)
            writer.content(json.dumps(speech.name), index, "name")
            writer.template(', "content": ', index)
            writer.content(json.dumps(value, ensure_ascii=False), index, "content")
            writer.template("}]", index)
        else:
            writer.template(f'{self.space}{{"content": ', index)
            writer.content(json.dumps(value, ensure_ascii=False), index, "content")
            writer.template(', "call_id": "', index)
            writer.content(speech.call_id or "", index, "tool_call_id")
            writer.template('"}', index)
        writer.end_turn(RESULTS_END)


def _write_text(writer: Writer, pieces: Sequence[ContentPart], before: str) -> None:
    """Write the pieces of a text after a space, each message's pieces in a turn; the last turn is left open."""
    if pieces:
        writer.template(before, pieces[0].message)
    current = pieces[0].message if pieces else None
    for piece in pieces:
        if piece.message != current:
            writer.end_turn()
            writer.begin_turn(piece.message)
            current = piece.message
        writer.content(piece.text, piece.message, piece.field)


def _system_in_user(speeches: Sequence[Speech], *, last: bool) -> list[Speech]:
    """Merge system texts into the first or the last user speech, where they come first."""
    system = joined_parts([speech.pieces for speech in speeches if speech.role == "system"])
    others = [speech for speech in speeches if speech.role != "system"]
    if not others or others[0].role != "user":
        others.insert(0, Speech("user", others[0].message if others else 0))
    if not system:
        return others
    users = [place for place, speech in enumerate(others) if speech.role == "user"]
    place = users[-1 if last else 0]
    between = ContentPart("\n\n", system[-1].message, None)
    others[place] = others[place]._replace(pieces=(*system, between, *others[place].pieces))
    return others


def _check_results(speeches: Sequence[Speech]) -> None:
    """Refuse several results for one message's calls, which version 2 cannot represent."""
    results = 0
    for speech in speeches:
        results = results + 1 if speech.role == "tool" else 0
        if results > 1:
            raise refuse(
                f"messages[{speech.message}]",
                "this format supports one tool result per call",
                hint="mistral-v3 supports several",
            )


def _trimmed(pieces: Sequence[ContentPart]) -> Sequence[ContentPart]:
    """Strip the spaces at the end of a text."""
    if not pieces:
        return pieces
    last = pieces[-1]
    trimmed = last._replace(text=last.text.rstrip(" "))
    return [*pieces[:-1], trimmed] if trimmed.text else pieces[:-1]


def _format(name: str, version: _Version, description: str, *, models: str) -> Format:
    tokens: tuple[str, ...] = (BOS, EOS)
    tools: tuple[str, ...] = ()
    if version.number > 1:
        tokens += (INST, INST_END)
        tools = (TOOLS, TOOLS_END, CALLS, RESULTS, RESULTS_END)
    if version.number >= 7:
        tokens += (SYSTEM, SYSTEM_END)
        tools += (RESULT_CONTENT,)
    template = Format(
        name=name,
        description=description,
        source=f"Mistral AI, mistral-common 1.13.1 ({models})",
        write=version.write,
        control_tokens=tokens,
        turn_end=(EOS,),
        optional_tokens=tools,
        has_tools=version.number > 1,
        text_marks=(INST, INST_END) if version.number == 1 else (),
        merges_bytes=not version.space,
    )
    if not version.space:
        return template
    return replace(template, with_dummy_prefix=replace(template, write=_Version.of(version.number, "").write))


MISTRAL = (
    _format("mistral-v7", _Version.of(7, " "), "Mistral v7: [SYSTEM_PROMPT]", models="Mistral Large 2411"),
    _format("mistral-v7-tekken", _Version.of(7, ""), "Mistral v7 with Tekken", models="Mistral Small 2501"),
    _format("mistral-v3", _Version.of(3, " "), "Mistral v3: tools with ids", models="Mistral 7B v0.3"),
    _format("mistral-v3-tekken", _Version.of(3, ""), "Mistral v3 with Tekken", models="Mistral Nemo 2407"),
    _format(
        "mistral-v2", _Version.of(2, " "), "Mistral v2: [INST] as token, tools", models="Mistral Small 2402"
    ),
    _format(
        "mistral-v1",
        _Version.of(1, " "),
        "Mistral v1: [INST] as ordinary text",
        models="Mistral 7B v0.1, v0.2",
    ),
)
