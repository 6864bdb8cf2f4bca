"""mistral-common gives the ids of tokbench's rendering; skipped without it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import contents_of, conversations, hostile_texts, plain_texts, tool_calls
from support.rendering import pieces
from support.texts import texts

import tokbench
from tokbench.chat.conversation import Conversation
from tokbench.chat.formats import named
from tokbench.chat.rendered import Rendered

if TYPE_CHECKING:
    from tokbench.chat.formats import Format

pytest.importorskip("mistral_common")
pytestmark = pytest.mark.slow  # each tokenizer takes a second to load

FORMATS = ["mistral-v1", "mistral-v2", "mistral-v3", "mistral-v3-tekken", "mistral-v7", "mistral-v7-tekken"]

contents = plain_texts | texts | hostile_texts


@cache
def tokenizer(name: str) -> Any:
    """Return Mistral's tokenizer of that version, in the mode that accepts any last role."""
    from mistral_common.protocol.instruct.validator import ValidationMode
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    folder = Path(MistralTokenizer._data_path())
    files = {
        "mistral-v1": "tokenizer.model.v1",
        "mistral-v2": "mistral_instruct_tokenizer_240216.model.v2",
        "mistral-v3": "mistral_instruct_tokenizer_240323.model.v3",
        "mistral-v3-tekken": "tekken_240718.json",
        "mistral-v7": "mistral_instruct_tokenizer_241114.model.v7",
    }
    return MistralTokenizer.from_file(str(folder / files[name]), mode=ValidationMode.agnostic)


def mistral_tokenizer(name: str, folder: Path) -> Any:
    """Return Mistral's tokenizer; v7 with Tekken is not shipped, so it is built from the vocabulary of v3."""
    if name != "mistral-v7-tekken":
        return tokenizer(name)
    return tekken_of_the_seventh_version(folder)


@cache
def tekken_of_the_seventh_version(folder: Path) -> Any:
    from mistral_common.protocol.instruct.validator import ValidationMode
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    document = json.loads((Path(MistralTokenizer._data_path()) / "tekken_240911.json").read_text("utf-8"))
    document["config"]["version"] = "v7"
    document.pop("multimodal", None)
    path = folder / "tekken.json"
    path.write_text(json.dumps(document), "utf-8")
    return MistralTokenizer.from_file(str(path), mode=ValidationMode.agnostic)


def their_ids(mistral: Any, conversation: Conversation) -> list[int] | None:
    """Return the ids of mistral-common, or None if it refuses the conversation."""
    from mistral_common.protocol.instruct.request import ChatCompletionRequest

    try:
        request = ChatCompletionRequest.from_openai(
            json.loads(json.dumps(conversation.messages)), tools=list(conversation.tools) or None
        )
        return list(mistral.encode_chat_completion(request).tokens)
    except Exception:  # any exception is a refusal
        return None


def our_ids(mistral: Any, format: Format, rendered: Rendered) -> list[int]:
    """Encode each piece separately."""
    encoder = mistral.instruct_tokenizer.tokenizer
    ids: list[int] = []
    for text, is_control, _ in pieces(rendered, format.control_tokens + format.optional_tokens):
        if is_control:
            ids.append(
                encoder.get_special_token(text) if text not in ("<s>", "</s>") else special(encoder, text)
            )
        else:
            ids += encoder.encode(text, bos=False, eos=False)
    return ids


def special(encoder: Any, token: str) -> int:
    return encoder.bos_id if token == "<s>" else encoder.eos_id


@st.composite
def mistral_conversations(draw: Any) -> Conversation:
    """Draw good conversations, and others with repeated roles, system messages anywhere and calls of any form."""
    if draw(st.booleans()):
        conversation = draw(
            conversations(contents, tools=True, parts=draw(st.booleans()), arguments="either", system=True)
        )
        results = [message for message in conversation.messages if message["role"] == "tool"]
        for message in results:
            message["content"] = draw(
                st.sampled_from(['{"a": [1, 2.50]}', "", "null", "tué", "{"]) | contents
            )
        return conversation
    messages: list[dict[str, Any]] = []
    for role in draw(st.lists(st.sampled_from(["system", "user", "assistant", "tool", "call"]), max_size=6)):
        message = {"role": role, "content": draw(contents_of(contents, parts=True))}
        if role == "call":
            message = {"role": "assistant", "tool_calls": [draw(tool_calls(contents, "either"))]}
        if role == "tool":
            message["tool_call_id"] = "abcdefghi"
        messages.append(message)
    return Conversation(tuple(messages))


@pytest.mark.parametrize("name", FORMATS)
@given(conversation=mistral_conversations())
def test_ids_of_the_rendered_text_equal_mistral_commons(name, conversation, tmp_path_factory):
    format = named(name)
    mistral = mistral_tokenizer(name, tmp_path_factory.getbasetemp())
    (written,) = format.render([conversation])
    # The template contains the space that SentencePiece adds only for tokenizers that do not add it.
    (rendered,) = (format.with_dummy_prefix or format).render([conversation])
    if isinstance(written, Rendered) and isinstance(rendered, Rendered):
        assert written.text.replace(" ", "") == rendered.text.replace(" ", "")
    theirs = their_ids(mistral, conversation)
    ours = our_ids(mistral, format, rendered) if isinstance(rendered, Rendered) else None
    if ours is not None or not is_refused_by_tokbench_only(name, conversation):
        assert ours == theirs


def is_refused_by_tokbench_only(name: str, conversation: Conversation) -> bool:
    """Whether mistral-common drops tools, or accepts a result without its call or a system message of empty parts."""
    first = conversation.messages[0]["role"] if conversation.messages else None
    return (
        (name == "mistral-v1" and bool(conversation.tools))
        or first == "tool"
        or any(
            message["role"] == "system"
            and isinstance(message["content"], list)
            and not any(part["text"] for part in message["content"])
            for message in conversation.messages
        )
    )


@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v3"])
def test_encoded_ids_equal_mistral_commons(name):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": " Hi  there\n"},
        {"role": "assistant", "content": "Hello, you. "},
        {"role": "user", "content": "[INST] né 你好 </s>"},
    ]
    mistral = tokenizer(name)
    model = tokbench.load(mistral.instruct_tokenizer.tokenizer.file_path)
    chat = tokbench.ChatTemplate(name).encode(model, messages)
    assert chat.ids.tolist() == their_ids(mistral, Conversation(tuple(messages)))
