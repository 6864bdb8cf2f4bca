"""Ids and masks of benign conversations equal those of `apply_chat_template`, for real and trained tokenizers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import jinja2
import pytest
from hypothesis import assume, example, given, reject
from hypothesis import strategies as st
from support.conversations import benign_texts, conversations, hostile_texts, plain_texts
from support.huggingface import DOCUMENTS
from support.places import SHARED

import tokbench
from tokbench.chat.conversation import Conversation
from tokbench.core.guarded import control_tokens
from tokbench.errors import TemplateError

transformers = pytest.importorskip("transformers")

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}"
    "{% else %}{{ m.content }}<|im_end|>{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
WITHOUT_GENERATION = CHATML.replace("{% generation %}", "").replace("{% endgeneration %}", "")
LLAMA = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content | trim }} [/INST]"
    "{% elif m.role == 'assistant' %} {% generation %}{{ m.content | trim }}{{ eos_token }}{% endgeneration %}"
    "{% else %}<tool_call>{{ m.content }}</tool_call>{% endif %}{% endfor %}"
)
REAL = ("gpt2", "phi-2", "falcon", "roberta-base", "bert-base-uncased", "t5-small", "clip")
TOKENS = ("<|im_start|>", "<|im_end|>", "<s>", "</s>")


def document_of(name: str) -> bytes:
    if name in DOCUMENTS:
        return DOCUMENTS[name]()
    path = SHARED / "vocab" / name / "tokenizer.json"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path.read_bytes()


@cache
def both(name: str) -> tuple[Any, Any]:
    """Add control tokens to a tokenizer in transformers, and open the result in transformers and here."""
    folder = Path(mkdtemp())
    (folder / "tokenizer.json").write_bytes(document_of(name))
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    theirs.add_special_tokens({"bos_token": "<s>", "eos_token": "</s>"})
    theirs.add_special_tokens({"additional_special_tokens": list(TOKENS[:2])})
    theirs.add_tokens(["<tool_call>", "</tool_call>"])
    theirs.save_pretrained(folder)
    return theirs, tokbench.load(folder)


@given(
    conversation=conversations(benign_texts, tools=False),
    template=st.sampled_from([CHATML, LLAMA]),
    prompt=st.booleans(),
)
@pytest.mark.parametrize(
    "name", [*DOCUMENTS, *(pytest.param(name, marks=[pytest.mark.real, pytest.mark.slow]) for name in REAL)]
)
def test_benign_conversations_have_the_ids_and_masks_of_transformers(
    name: str, conversation: Conversation, template: str, prompt: bool
) -> None:
    theirs, ours = both(name)
    messages = [dict(message) for message in conversation.messages]
    try:
        expected = theirs.apply_chat_template(
            messages,
            chat_template=template,
            add_generation_prompt=prompt,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
    except jinja2.TemplateError:
        return
    rendered = jinja(template).render(messages, tokenizer=ours, prompt=prompt)
    assume(
        not any(
            token in message.get("content", "")
            for message in messages
            for token in control_tokens(ours)
            if isinstance(message.get("content"), str)
        )
    )
    found = jinja(template).encode(ours, messages, prompt=prompt)
    assert found.rendered.text == rendered.text
    assert found.findings == ()
    assert found.ids.tolist() == expected["input_ids"]
    encoded = theirs(found.rendered.text, add_special_tokens=False)
    ends = (place for start, stop in found.rendered.generated or () for place in (start, stop - 1))
    # transformers loses a range whose first or last character is in none of its tokens.
    if all(encoded.char_to_token(place) is not None for place in ends):
        assert found.loss_mask.tolist() == expected["assistant_masks"]


@given(conversation=conversations(plain_texts), template=st.sampled_from([CHATML, LLAMA]))
def test_continued_last_message_ends_as_in_transformers(conversation: Conversation, template: str) -> None:
    theirs, ours = both("byte-level")
    messages = [dict(message) for message in conversation.messages]
    try:
        expected = theirs.apply_chat_template(
            messages, chat_template=template, continue_final_message=True, return_dict=False
        )
    except jinja2.TemplateError:
        reject()
    found = jinja(template).encode(ours, messages, continue_final=True)
    assert found.ids.tolist() == expected
    if messages[-1]["role"] == "assistant":
        assert found.rendered.text.endswith(messages[-1]["content"].strip())
        assert found.loss_mask[-1] == 1


@cache
def jinja(template: str) -> tokbench.ChatTemplate:
    return tokbench.ChatTemplate.from_text(template)


@given(conversation=conversations(benign_texts, tools=False))
def test_inferred_masks_equal_those_of_generation_blocks(conversation: Conversation) -> None:
    theirs, ours = both("byte-level")
    del theirs
    messages = conversation.messages
    try:
        marked = jinja(CHATML).encode(ours, messages)
    except TemplateError:
        reject()
    inferred = jinja(WITHOUT_GENERATION).encode(ours, messages)
    assert inferred.ids.tolist() == marked.ids.tolist()
    assert inferred.loss_mask.tolist() == marked.loss_mask.tolist()


SPACE_AT_END = tuple({"role": role, "content": "trailing "} for role in ("system", "user", "assistant"))


@given(conversation=conversations(hostile_texts, tools=False), template=st.sampled_from([CHATML, LLAMA]))
@example(conversation=Conversation(SPACE_AT_END), template=LLAMA)  # a control token takes the space before it
@pytest.mark.parametrize("name", ["byte-level", "byte-fallback", "unigram"])
def test_content_never_becomes_a_control_token(name: str, conversation: Conversation, template: str) -> None:
    _, ours = both(name)
    try:
        chat = jinja(template).encode(ours, conversation.messages)
    except TemplateError:
        reject()
    data = chat.rendered.text.encode()
    controls = {id: text for text, id in control_tokens(ours).items() if text != "<unk>"}
    for id, start, stop in zip(chat.ids, chat.starts, chat.stops, strict=True):
        if int(id) in controls:
            written = data[start:stop].decode()
            assert written.strip() == controls[int(id)].strip()
            first = len(data[:start].decode()) + written.index(controls[int(id)])
            assert all(run.origin.is_template for run in chat.rendered.runs if run.start <= first < run.stop)
