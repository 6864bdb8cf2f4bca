"""Templates by name, by file, and from a tokenizer's own files; and conversations shortened to fit."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from support.rendering import said
from support.texts import bundled_texts

import tokbench
from tokbench.chat.conversation import Conversation
from tokbench.chat.shortening import shortened
from tokbench.errors import ConfigError, ModelFormatError, TemplateError
from tokbench.formats.tokenizer_config.fields import TokenizerConfig

if TYPE_CHECKING:
    from pathlib import Path

JINJA = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
HI = said(("user", "Hi"), ("assistant", "Yes"))


def trained(*specials: str) -> Any:
    return _trained(specials)


@cache
def _trained(specials: tuple[str, ...]) -> Any:
    return tokbench.train(list(bundled_texts().values())[:3], vocab_size=400, special_tokens=specials)


@pytest.fixture
def tokenizer() -> Any:
    trained = _trained.__wrapped__(("<|im_start|>", "<|im_end|>", "<s>"))
    trained.tokenizer_config = TokenizerConfig(roles={"bos": "<s>"})
    return trained


def test_built_in_template_is_found_by_name() -> None:
    template = tokbench.ChatTemplate("chatml")
    assert not template.sources
    assert repr(template) == "<chat template 'chatml'>"
    with pytest.raises(TemplateError, match="no built-in chat template 'chatlm'"):
        tokbench.ChatTemplate("chatlm")


def test_template_file_gets_the_tokenizers_special_tokens(tmp_path: Path, tokenizer: Any) -> None:
    path = tmp_path / "mine.jinja"
    path.write_text(JINJA, encoding="utf-8")
    template = tokbench.ChatTemplate.from_file(path)
    assert template.render(HI, tokenizer=tokenizer).text.startswith("<s><|im_start|>user\nHi")
    chat = template.encode(tokenizer, HI, prompt=True)
    specials = tokenizer.info.special_tokens
    assert [id for id in chat.ids if id in specials.values()] == [
        specials[text] for text in ("<s>", *("<|im_start|>", "<|im_end|>") * 2, "<|im_start|>")
    ]
    learned = b"".join(tokenizer.token_bytes(id) for id in chat.ids[chat.loss_mask == 1])
    assert learned == b"Yes<|im_end|>"


def test_a_template_file_that_is_a_git_lfs_pointer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "chat.jinja"
    path.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 17953\n")
    with pytest.raises(TemplateError, match="a Git LFS pointer") as refused:
        tokbench.ChatTemplate.from_file(path)
    assert "git lfs pull" in (refused.value.hint or "")


def test_auto_prefers_the_tokenizers_own_template(tokenizer: Any) -> None:
    of = tokbench.ChatTemplate.of
    assert of(tokenizer).name == "chatml"
    assert of(trained("<bos>", "<start_of_turn>", "<end_of_turn>")).name == "gemma"
    with pytest.raises(TemplateError, match="has no chat template"):
        of(trained())
    tokenizer.tokenizer_config = replace(
        tokenizer.tokenizer_config, chat_templates={"default": "D{{ messages[0].content }}", "rag": "R"}
    )
    own = of(tokenizer)
    assert own.sources
    assert own.render(HI).text == "DHi"
    assert of(tokenizer, "rag").render(HI).text == "R"
    assert of(tokenizer) is own
    assert not of(tokenizer, "gemma").sources
    with pytest.raises(TemplateError, match="there is no chat template 'rga'") as error:
        of(tokenizer, "rga")
    assert "rag" in str(error.value.hint)


def test_unreadable_or_invalid_template_file_is_refused(tmp_path: Path, tokenizer: Any) -> None:
    with pytest.raises(TemplateError, match=r"none\.jinja: No such file"):
        tokbench.ChatTemplate.of(tokenizer, str(tmp_path / "none.jinja"))
    (tmp_path / "bad.jinja").write_bytes(b"\xff")
    with pytest.raises(TemplateError, match="expected UTF-8"):
        tokbench.ChatTemplate.of(tokenizer, str(tmp_path / "bad.jinja"))
    (tmp_path / "broken.jinja").write_text("{% if %}", encoding="utf-8")
    with pytest.raises(TemplateError, match="does not compile"):
        tokbench.ChatTemplate.of(tokenizer, str(tmp_path / "broken.jinja")).render(HI)


def test_date_can_be_set() -> None:
    day = datetime(2020, 2, 3).astimezone()
    assert "03 Feb 2020" in tokbench.ChatTemplate("llama3.2", date=day).render(HI).text
    dated = tokbench.ChatTemplate.from_text("{{ strftime_now('%Y') }}", date=day)
    assert dated.render(HI).text == "2020"


def test_every_tokenizer_has_a_render_method(tokenizer: Any) -> None:
    template = tokbench.ChatTemplate("chatml")
    expected = template.encode(tokenizer, HI, prompt=True).ids.tolist()
    assert tokenizer.render(HI, prompt=True).ids.tolist() == expected
    assert tokenizer.render(HI, template=template, prompt=True).ids.tolist() == expected
    with pytest.raises(ModelFormatError, match=r"the conversation, messages\[0\].role"):
        tokenizer.render([{"content": "Hi"}])


def test_error_names_the_conversation(tokenizer: Any) -> None:
    template = tokbench.ChatTemplate.from_text("{{ raise_exception('no') if messages|length > 1 }}")
    with pytest.raises(TemplateError, match=r"conversation 1: .*no"):
        template.encode_many(tokenizer, [Conversation(tuple(HI[:1])), Conversation(tuple(HI))])


# --- shortened to fit -------------------------------------------------------------------------

CALLS = said(("user", "two"), ("assistant", "calls"), ("tool", "answer"), ("assistant", "2"))
LONG = Conversation((*said(("system", "S"), ("user", "one"), ("assistant", "1")), *CALLS))


def size(conversation: Conversation, tokenizer: Any) -> int:
    return len(tokbench.ChatTemplate("chatml").encode(tokenizer, conversation.messages))


MARKED = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<e>{% endfor %}"
ASKING = MARKED + "{% if add_generation_prompt %}[assistant]{% endif %}"


@pytest.mark.parametrize(
    ("source", "ending", "learned"),
    [
        (MARKED, "", "[assistant]Yes<e>"),
        (MARKED, "prompt", "[assistant]Yes<e>"),
        (MARKED, "continue_final", "Yes"),
        (ASKING, "", "Yes<e>"),
        (ASKING, "prompt", "Yes<e>"),
        (ASKING, "continue_final", "Yes"),
    ],
)
def test_last_turn_is_found_however_the_text_ends(
    tokenizer: Any, source: str, ending: str, learned: str
) -> None:
    """The whole text is one of the beginnings that turns are found by, unless it is longer or shorter."""
    template = tokbench.ChatTemplate.from_text(source)
    encoded = template.encode(tokenizer, HI, **({ending: True} if ending else {}))
    assert tokenizer.decode(encoded.ids[encoded.loss_mask == 1].tolist()) == learned


@pytest.mark.parametrize("kept", [(0, 1, 2, 3, 4, 5, 6), (0, 3, 4, 5, 6), (0, 3, 6)])
def test_oldest_turns_are_dropped_first(kept: tuple[int, ...], tokenizer: Any) -> None:
    template = tokbench.ChatTemplate("chatml")
    wanted = replace(LONG, messages=tuple(LONG.messages[n] for n in kept))
    shorter, dropped = shortened(template, tokenizer, LONG, max_tokens=size(wanted, tokenizer))
    assert shorter == wanted
    assert dropped == 7 - len(kept)


def test_shortening_below_the_required_messages_is_refused(tokenizer: Any) -> None:
    template = tokbench.ChatTemplate("chatml")
    least = size(replace(LONG, messages=tuple(LONG.messages[n] for n in (0, 3, 6))), tokenizer)
    with pytest.raises(TemplateError, match=f"the messages that are always kept take {least}"):
        shortened(template, tokenizer, LONG, max_tokens=least - 1)
    with pytest.raises(ConfigError, match="max_tokens is 0"):
        shortened(template, tokenizer, LONG, max_tokens=0)
    chat = template.encode(tokenizer, LONG.messages, max_tokens=least)
    assert len(chat) == least


@pytest.mark.parametrize(
    "name", ["chatml", "llama3", "llama2", "gemma", "nanochat", "mistral-v3", "harmony", "qwen3"]
)
def test_last_message_can_be_continued(name: str) -> None:
    template = tokbench.ChatTemplate(name)
    whole, begun = (template.render(HI, continue_final=choice) for choice in (False, True))
    assert begun.text == whole.text[: whole.text.rindex("Yes") + 3]
    assert all(turn.stop <= len(begun.text) for turn in begun.turns)
    with pytest.raises(TemplateError, match="cannot both end with the assistant's prompt and continue"):
        template.render(HI, continue_final=True, prompt=True)


def test_message_that_is_not_written_cannot_be_continued(tokenizer: Any) -> None:
    first = tokbench.ChatTemplate.from_text("{{ messages[0].content }}")
    with pytest.raises(TemplateError, match="does not write the content of the last message"):
        first.render(HI, continue_final=True)
    marked = tokbench.ChatTemplate.from_text(
        "{% for m in messages %}{% generation %}{{ m.content }}.{% endgeneration %}{% endfor %}"
    )
    encoded = marked.encode(tokenizer, HI, continue_final=True)
    assert encoded.rendered.text == "Hi.Yes"
    assert encoded.rendered.generated == ((0, 3), (3, 6))
    parts = said(("user", "Hi"), ("assistant", "Yes"))
    parts[1]["content"] = [{"type": "text", "text": "Y"}, {"type": "text", "text": "es"}]
    joins = tokbench.ChatTemplate.from_text(
        "{% for part in messages[-1].content %}{{ part.text }}{% endfor %}!"
    )
    assert joins.render(parts, continue_final=True).text == "Yes"


def of_headers(after_answer: str, answer: str) -> tokbench.ChatTemplate:
    """Return a template in which no token ends an answer, as in those of GLM.

    Args:
        after_answer: the header of a message after an answer.
        answer: the content of an answer.
    """
    return tokbench.ChatTemplate.from_text(
        "{% for m in messages %}"
        f"{{% if loop.index0 and loop.previtem.role == 'assistant' %}}{after_answer}{{% else %}}<|{{{{ m.role }}}}|>"
        f"{{% endif %}}\n{{% if m.role == 'assistant' %}}{answer}{{% else %}}{{{{ m.content }}}}{{% endif %}}"
        "{% endfor %}{{ '<|assistant|>\n' if add_generation_prompt }}"
    )


def test_header_after_an_answer_is_learned_if_it_is_marked() -> None:
    """The way that docs/chat.md describes to teach a model to stop with the header of the next message."""
    tokenizer = trained("<|user|>", "<|assistant|>")
    plain = of_headers("<|{{ m.role }}|>", "{{ m.content }}")
    marked = of_headers(
        "{% generation %}<|{{ m.role }}|>{% endgeneration %}",
        "{% generation %}{{ m.content }}{{ '<|user|>' if loop.last }}{% endgeneration %}",
    )
    for template, expected in ((plain, "YesYes"), (marked, "Yes<|user|>Yes<|user|>")):
        chat = template.encode(tokenizer, [*HI, *HI])
        assert tokenizer.decode(chat.ids[chat.loss_mask == 1].tolist()) == expected
