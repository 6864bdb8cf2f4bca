"""Tests for inferring a table from a chat template: it reproduces the template's output, or is refused."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.conversations import hostile_texts

from tokbench.chat.formats import all_formats
from tokbench.chat.formats.format import Writer
from tokbench.chat.rendered import Rendered
from tokbench.play_page.chat_form import LETTERS, Domain, Order
from tokbench.play_page.chat_inference import NoFormError, Talk, infer_form, literals_of, write_talks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.chat.conversation import Conversation
    from tokbench.play_page.chat_form import ChatForm

FORMATS = {format.name: format for format in all_formats()}
contents = hostile_texts | st.sampled_from(["Hi", " a ", "\n\n", "", "  ", "x\n", "\x1cé\u2003", "你好"])
SHAPES = (
    *("chatml", "qwen3", "qwen2.5", "llama3.1", "llama2", "mistral-v7", "mistral-v3", "mistral-v1"),
    *("gemma", "nanochat", "harmony"),
)
"""One format of each group of formats that differ only in their texts."""
TAGS = ["<think>", "</think>", "<tool_response>", "[INST]"]


def of_format(name: str) -> Callable[[Sequence[Conversation], bool], list[Rendered | None]]:
    def render(conversations: Sequence[Conversation], prompt: bool) -> list[Rendered | None]:
        results = FORMATS[name].render(conversations, prompt=prompt)
        return [result if isinstance(result, Rendered) else None for result in results]

    return render


def of_function(write: Callable[[Sequence[Any], Writer], None]) -> Any:
    """Return a template that renders conversations with the given function."""

    def render(conversations: Sequence[Conversation], prompt: bool) -> list[Rendered | None]:
        texts = []
        for conversation in conversations:
            writer = Writer(prompt=prompt)
            write(conversation.messages, writer)
            texts.append(writer.finish())
        return texts

    return render


@cache
def form_of(name: str) -> ChatForm:
    return infer_form(of_format(name), literals=TAGS)


def test_table_by_hand_writes_a_conversation() -> None:
    form = infer_form(of_format("chatml"))
    atoms = form.write(["user", "assistant"], [" Hi\n", "Yes"])
    assert atoms is not None
    assert "".join(atom.text for atom in atoms) == (
        "<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\nYes<|im_end|>\n"
    )
    assert [atom.text for atom in atoms if atom.is_learned] == ["Yes", "<|im_end|>"]
    assert [atom.text for atom in atoms if not atom.is_trusted] == [" Hi\n", "Yes"]
    assert form.gaps["ua$"][0].text == "<|im_end|>\n"
    assert (form.domain, form.order, form.limits) == (Domain.ANY, Order.AS_SAID, ())


@pytest.mark.parametrize("name", SHAPES)
def test_every_table_writes_an_exchange(name: str) -> None:
    roles, said = ("user", "assistant"), ("Hi", "Yes.")
    [wanted] = write_talks(of_format(name), [Talk(roles, said, False)])
    assert wanted is not None
    assert form_of(name).write(roles, said, prompt=False) == wanted


@pytest.mark.parametrize("name", SHAPES)
@given(
    messages=st.lists(st.tuples(st.sampled_from([*LETTERS]), contents), min_size=1, max_size=7),
    by_turns=st.booleans(),
    prompt=st.booleans(),
)
@example(
    messages=[("user", "Hi"), ("assistant", "\n\n")], by_turns=True, prompt=False
)  # the whole message is trimmed
@settings(max_examples=40)
def test_every_built_in_template_equals_its_table(
    name: str, messages: list[tuple[str, str]], by_turns: bool, prompt: bool
) -> None:
    roles, said = zip(*messages, strict=True)
    if by_turns:
        first = 1 if roles[0] == "system" else 0
        roles = (*roles[:first], *(("user", "assistant")[n % 2] for n in range(len(roles) - first)))
    talk, form = Talk(roles, said, prompt), form_of(name)
    [wanted] = write_talks(of_format(name), [talk])
    by_table = form.write(roles, said, prompt=prompt)
    is_limited = any(
        role == own and text in words
        for own, words in zip(roles, said, strict=True)
        for role, text in form.limits
    )
    if by_table is not None and not is_limited:
        assert by_table == wanted
    elif form.domain.has(roles) and all(words.strip() for words in said) and not is_limited:
        assert wanted is None  # the template refuses what the table has no place for


def test_content_that_a_template_inspects_is_a_limit() -> None:
    assert ("assistant", "</think>") in form_of("qwen3").limits
    assert ("user", "<tool_response>") in form_of("qwen3").limits
    assert form_of("qwen3-instruct").limits == ()
    assert literals_of(["{{ x.split('</a>')[0] }} {% if \"it's\" in y %}"]) == {"</a>", "it's"}


def test_system_message_may_be_written_last() -> None:
    atoms = form_of("mistral-v3-tekken").write(
        ["system", "user", "assistant", "user"], ["Short.", "One?", "1", "Two?"]
    )
    assert atoms is not None
    assert "".join(atom.text for atom in atoms) == "<s>[INST]One?[/INST]1</s>[INST]Short.\n\nTwo?[/INST]"


def first_alone(messages: Sequence[Any], writer: Writer) -> None:
    writer.content(messages[0]["content"], 0, "content")


def in_capitals(messages: Sequence[Any], writer: Writer) -> None:
    for number, message in enumerate(messages):
        writer.content(message["content"].upper(), number, "content")


def numbered(messages: Sequence[Any], writer: Writer) -> None:
    for number, message in enumerate(messages):
        writer.template(f"{number}:", number)
        writer.content(message["content"], number, "content")


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (first_alone, "content of all messages"),
        (in_capitals, "other than by trimming"),
        (numbered, "depends on more"),
    ],
)
def test_template_without_a_table_is_refused(write: Any, reason: str) -> None:
    with pytest.raises(NoFormError, match=reason):
        infer_form(of_function(write))
