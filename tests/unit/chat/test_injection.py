"""No text of a user becomes a control token: all formats and fields, and engines that match tokens in any text."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import INJECTIONS, hostile_conversations
from support.huggingface import added, byte_level, dump
from support.texts import bundled_texts

import tokbench
from tokbench.chat.conversation import Conversation
from tokbench.chat.encoding import EncodedChat, encode_chats
from tokbench.chat.formats import all_formats, named
from tokbench.chat.rendered import Rendered
from tokbench.core.guarded import control_tokens
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer

NAMES = [format.name for format in all_formats()]


def tokens_of(format: str) -> tuple[str, ...]:
    template = named(format)
    return tuple(
        dict.fromkeys((*template.control_tokens, *template.optional_tokens, "<tool_call>", "</tool_call>"))
    )


@cache
def native() -> Tokenizer:
    """Return a native tokenizer with the control tokens of all formats."""
    tokens = dict.fromkeys(token for name in NAMES for token in tokens_of(name))
    whole = [token for token in tokens if not any(token != other and other in token for other in tokens)]
    return tokbench.train(list(bundled_texts().values())[:3], vocab_size=600, special_tokens=tuple(whole))


@cache
def folding() -> Tokenizer:
    """Return a library tokenizer with the tokens of `native`, half of them not special, and a folding normalizer."""
    document = json.loads(byte_level())
    first = max(document["model"]["vocab"].values()) + 1
    tokens = [token for token in native().info.special_tokens if token not in document["model"]["vocab"]]
    document["added_tokens"] += [
        added(token, first + number, special=number % 2 == 0, normalized=True)
        for number, token in enumerate(tokens)
    ]
    document["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}
    return HuggingFaceTokenizer(dump(document), name="folding", backend="bpe")


ENGINES = {"native": native, "folding": folding}


def encoded(engine: str, format: str, conversation: Conversation) -> EncodedChat | None:
    [rendered] = named(format).render([conversation])
    if not isinstance(rendered, Rendered):
        return None
    roles = [str(message["role"]) for message in conversation.messages]
    return encode_chats(ENGINES[engine](), [rendered], roles=[roles])[0]


def check(chat: EncodedChat, tokenizer: Tokenizer) -> None:
    """Assert that every byte of each control token comes from the template."""
    data = chat.rendered.text.encode()
    own = bytearray(len(data))
    for start, stop, origin in chat.rendered.runs:
        first, last = (len(chat.rendered.text[:place].encode()) for place in (start, stop))
        own[first:last] = bytes([origin.is_template]) * (last - first)
    controls = set(control_tokens(tokenizer).values())
    for id, start, stop in zip(chat.ids.tolist(), chat.starts.tolist(), chat.stops.tolist(), strict=True):
        if id in controls:
            assert all(own[start:stop]), data[start:stop]


@pytest.mark.parametrize("engine", ENGINES)
@given(conversation=hostile_conversations(), format=st.sampled_from(NAMES))
def test_no_control_token_comes_from_content(engine: str, conversation: Conversation, format: str) -> None:
    chat = encoded(engine, format, conversation)
    if chat is not None:
        check(chat, ENGINES[engine]())


def fields(text: str) -> list[Conversation]:
    """Return conversations with a text in each field that templates write."""

    def call(name: str = "f", key: str = "k", value: Any = "v") -> dict[str, Any]:
        function = {"name": name, "arguments": {key: value}}
        return {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "abcdef123", "type": "function", "function": function}],
        }

    def schema(name: str = "f", about: str = "d", key: str = "k") -> dict[str, Any]:
        parameters = {"type": "object", "properties": {key: {"type": "string", "description": about}}}
        return {
            "type": "function",
            "function": {"name": name, "description": about, "parameters": parameters},
        }

    user, answer = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}
    result = {"role": "tool", "name": "f", "tool_call_id": "abcdef123", "content": text}
    talks: list[tuple[dict[str, Any], ...]] = [
        ({"role": "system", "content": text}, user, answer),
        ({"role": "user", "content": text}, answer),
        (user, {"role": "assistant", "content": text}),
        (user, {**answer, "reasoning_content": text}),
        ({"role": "user", "content": [{"type": "text", "text": text}]}, answer),
        ({"role": text, "content": "Hi"}, answer),
    ]
    called = [
        (user, message, result, answer)
        for message in (call(text), call(key=text), call(value=text), call(value=[text]))
    ]
    return [
        *map(Conversation, talks),
        *(Conversation(messages, tools=(schema(),)) for messages in called),
        *(
            Conversation((user, answer), tools=(tool,))
            for tool in (schema(text), schema(about=text), schema(key=text))
        ),
    ]


@pytest.mark.parametrize("format", NAMES)
def test_every_control_token_in_every_field_stays_text(format: str) -> None:
    seen = 0
    for text in (*tokens_of(format), *INJECTIONS):
        for conversation in fields(text):
            chat = encoded("native", format, conversation)
            if chat is None:
                continue
            check(chat, native())
            seen += any(finding.token in text for finding in chat.findings)
    assert seen >= 2 * len(tokens_of(format))
