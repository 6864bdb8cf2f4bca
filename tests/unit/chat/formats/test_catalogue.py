"""The built-in templates by name, their descriptions, and what holds for all of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import conversations, hostile_conversations, wrong_conversations
from support.rendering import said
from support.sentencepiece_models import training_text

import tokbench
from tokbench.chat.conversation import Conversation
from tokbench.chat.formats import all_formats, named, recognized
from tokbench.chat.formats.catalogue import fitted
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from tokbench.chat.rendered import Rendered


FORMATS = [format.name for format in all_formats()]


def test_unknown_format_suggests_the_nearest_name():
    with pytest.raises(TemplateError, match="no built-in chat template 'chat-ml'") as raised:
        named("chat-ml")
    assert raised.value.hint == "did you mean 'chatml'?"


@pytest.mark.parametrize("name", FORMATS)
def test_format_description_is_complete(name):
    format = named(name)
    assert format.name == name
    assert format.description
    assert format.source
    assert set(format.turn_end) <= {*format.control_tokens, *format.optional_tokens}
    assert not set(format.control_tokens) & set(format.optional_tokens)
    assert len({*format.control_tokens, *format.optional_tokens}) == len(
        format.control_tokens + format.optional_tokens
    )


@pytest.mark.parametrize("name", FORMATS)
def test_vocabulary_with_all_control_tokens_is_recognized(name):
    format = named(name)
    assert (format in recognized(format.known_tokens)) == (not format.text_marks)


@pytest.mark.parametrize(
    ("tokens", "name"),
    [
        (["<|im_start|>", "<|im_end|>"], "chatml"),
        (["<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"], "qwen2.5"),
        (["<|im_start|>", "<|im_end|>", *named("qwen3").known_tokens], "qwen3"),
        ([*named("mistral-v3").known_tokens, "<unk>"], "mistral-v3"),
        ([*named("mistral-v7").known_tokens, "<unk>"], "mistral-v7"),
        ([*named("llama3").known_tokens, "<|reserved_special_token_0|>"], "llama3"),
        ([*named("llama3.1").known_tokens, "<|reserved_special_token_0|>"], "llama3.1"),
    ],
)
def test_format_with_the_most_known_tokens_comes_first(tokens, name):
    assert recognized(tokens)[0].name == name


@pytest.mark.parametrize(("merges_bytes", "name"), [(True, "mistral-v3-tekken"), (False, "mistral-v3")])
def test_model_type_distinguishes_formats_with_the_same_tokens(merges_bytes: bool, name: str) -> None:
    assert recognized(named("mistral-v3").known_tokens, merges_bytes=merges_bytes)[0].name == name


def test_vocabulary_without_control_tokens_is_not_recognized():
    assert recognized(["<s>", "[CLS]"]) == []


def rendered_by_all(conversation: Conversation, *, prompt: bool) -> list[Rendered]:
    """Return the results of all formats that do not refuse the conversation."""
    results = [format.render([conversation], prompt=prompt)[0] for format in all_formats()]
    return [result for result in results if not isinstance(result, TemplateError)]


@given(conversations(tools=True, reasoning=True) | hostile_conversations(), st.booleans())
def test_runs_hold_the_text_of_their_origin_and_turns_are_ordered(conversation, prompt):
    """All in one test, because drawing a conversation takes longer than what is tested."""
    for rendered in rendered_by_all(conversation, prompt=prompt):
        own = ""
        for start, stop, origin in rendered.runs:
            if origin.is_template:
                own += rendered.text[start:stop]
            elif origin.field == "content":
                message = conversation.messages[origin.message]
                assert message["role"] == "tool" or rendered.text[start:stop] in message["content"]
        assert "Obey me" not in own
        ends = [end for _, start, stop in rendered.turns for end in (start, stop)]
        assert [0, *ends, len(rendered.text)] == sorted([0, *ends, len(rendered.text)])


@given(wrong_conversations, st.booleans())
def test_invalid_conversations_are_rendered_or_refused(conversation, prompt):
    """No other exception is raised, and no message is invented."""
    for rendered in rendered_by_all(conversation, prompt=prompt):
        named = {origin.message for _, _, origin in rendered.runs if origin.message is not None}
        assert named <= set(range(len(conversation.messages)))


@pytest.mark.parametrize("name", [format.name for format in all_formats() if not format.has_tools])
def test_a_format_without_tools_refuses_them(name):
    question, call = {"role": "user", "content": "Hi"}, {"function": {"name": "f", "arguments": {}}}
    answer = {"role": "assistant", "content": "So:", "tool_calls": [call]}
    for conversation, problem in [
        (Conversation((question,), ({"type": "function"},)), "tools: this format does not support tools"),
        (Conversation((question, answer)), "messages[1].tool_calls: this format does not support tool calls"),
    ]:
        (rendered,) = named(name).render([conversation])
        assert isinstance(rendered, TemplateError)
        assert rendered.message == problem


@pytest.mark.parametrize("name", FORMATS)
def test_invalid_conversation_does_not_affect_the_others(name):
    good = Conversation(({"role": "user", "content": "Hi"},))
    wrong = Conversation(({"role": "user", "content": 1},))
    first, second, third = named(name).render([good, wrong, good])
    assert not isinstance(first, TemplateError)
    assert isinstance(second, TemplateError)
    assert third == first


@pytest.mark.parametrize("name", FORMATS)
def test_circular_arguments_are_refused(name):
    value: dict[str, object] = {}
    value["again"] = value
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": value}}
    messages = ({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [call]})
    (rendered,) = named(name).render([Conversation(messages)])
    assert isinstance(rendered, TemplateError) or "again" not in rendered.text


TALK = said(("user", "a b"), ("assistant", "b a"))
PYTHON = said(("user", "a"), ("assistant", [{"type": "python", "text": "1"}]))


@cache
def byte_level(*specials: str) -> Any:
    return tokbench.train(training_text(), vocab_size=300, special_tokens=specials)


@cache
def sentencepiece() -> Any:
    return tokbench.train(
        training_text(), backend="sentencepiece", vocab_size=500, special_tokens=("[INST]", "[/INST]")
    )


def test_prefix_space_is_omitted_if_the_tokenizer_adds_it():
    template = tokbench.ChatTemplate("mistral-v3")
    tokenizer = sentencepiece()
    chat = template.encode(tokenizer, TALK)
    assert chat.rendered.text == "<s>[INST]a b[/INST]b a</s>"
    assert b"".join(tokenizer.token_bytes(id) for id in chat.ids.tolist()) == b"<s>[INST] a b[/INST] b a</s>"
    assert tokenizer.token_bytes(chat.ids[2]).startswith(b" a")


def test_prefix_space_is_written_if_the_tokenizer_does_not_add_it():
    tokenizer = byte_level("<s>", "</s>", "[INST]", "[/INST]")
    chat = tokbench.ChatTemplate("mistral-v3").encode(tokenizer, TALK)
    assert chat.rendered.text == "<s>[INST] a b[/INST] b a</s>"


def test_version_1_omits_spaces_after_tokens_only():
    assert fitted(named("mistral-v1"), sentencepiece()).render([Conversation((*TALK, *TALK))])[0].text == (
        "<s>[INST] a b [/INST] b a</s>[INST] a b [/INST] b a</s>"
    )


def test_formats_without_that_space_are_unchanged():
    assert fitted(named("chatml"), sentencepiece()) is named("chatml")


def test_missing_control_tokens_are_named():
    with pytest.raises(TemplateError, match=r"does not have <\|im_end\|>, which chatml needs") as raised:
        tokbench.ChatTemplate("chatml").encode(byte_level("<|im_start|>"), TALK)
    assert "by `tokbench extend` to other vocabularies" in str(raised.value.hint)
    with pytest.raises(
        TemplateError, match=r"does not have <\|bos\|>, <\|user_start\|>, .* and <\|assistant_end"
    ):
        tokbench.ChatTemplate("nanochat").encode(byte_level("<|im_start|>"), TALK)


def test_tool_tokens_are_required_by_conversations_with_tools_only():
    tokenizer = byte_level(*named("nanochat").control_tokens)
    template = tokbench.ChatTemplate("nanochat")
    assert len(template.encode(tokenizer, said(("user", "<|python_start|>"), ("assistant", "b")))) > 0
    with pytest.raises(
        TemplateError, match=r"does not have <\|python_start\|> and <\|python_end\|>, which nano"
    ):
        template.encode(tokenizer, PYTHON)
