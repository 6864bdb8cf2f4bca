"""Compare the page's conversations with `tokbench chat`: text, ids, masks, messages and findings of several hundred."""

from __future__ import annotations

import random
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.chat.rendered import Rendered
from tokbench.chat.token_places import NO_MESSAGE
from tokbench.convert.proof_texts import generated_texts
from tokbench.core.wording import quoted
from tokbench.play_page.chat_data import ChatData, NoChat
from tokbench.play_page.chat_form import LETTERS, Domain
from tokbench.play_page.chat_inference import Talk
from tokbench.play_page.check import PageEncoder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.chat.encoding import EncodedChat
    from tokbench.play_page.tokenizer_data import TokenizerData

_TALKS = 600
_MOST_MESSAGES = 9
_MOST_CHARACTERS = 300
_SPACES = ("", " ", "\n", "  \n\t", "\x1c", "\x85\u2003", " \u3000 ")
_UNKNOWN = ("a message is blank", "the marks of a character are not in")
"""Beginnings of the messages with which `chat.js` refuses conversations that the table does not cover."""
_PLAIN = (
    *("Hi", "What is 2+2?", "four", "{}", "né", "你好", "e\u0301", "\u0301", "🙂", "a\n\nb"),
    *("[INST]", "user\n", "</think>"),
)


@dataclass(frozen=True, slots=True)
class ChatCheck:
    """The extent of a check.

    Attributes:
        conversations: number of conversations.
        written: number of conversations that the template accepts.
    """

    conversations: int
    written: int


def check_chat(data: TokenizerData) -> ChatCheck | NoChat:
    """Render and encode several hundred conversations both ways.

    Args:
        data: a tokenizer with a chat template, and the page's data of both.

    Returns:
        The extent of the check, or the first difference as the reason why the page shows no conversations.

    Raises:
        BackendUnavailableError: no JavaScript engine is installed.
    """
    assert isinstance(data.chat, ChatData)
    chat = data.chat
    talks = list(_draw_talks(chat))
    given = [{"messages": list(talk.conversation.messages), "prompt": talk.prompt} for talk in talks]
    page_results = PageEncoder(data.to_json()).encode_chats(given)
    expected_results = _expected(data, chat, talks)
    for talk, page_result, expected in zip(talks, page_results, expected_results, strict=True):
        if _is_not_covered(talk, page_result, chat):
            continue
        if _comparable(expected, chat) != _comparable(
            None if "refused" in page_result else page_result, chat
        ):
            said = ", ".join(
                f"{role} {quoted(content)}" for role, content in zip(talk.roles, talk.said, strict=True)
            )
            return NoChat(f"the page would show different tokens than tokbench chat for {said}")
    return ChatCheck(len(talks), sum(facts is not None for facts in expected_results))


def _comparable(facts: dict[str, Any] | None, chat: ChatData) -> dict[str, Any] | None:
    """Return the facts that must be equal; without owners of template text if the table does not have them."""
    return facts if facts is None or chat.form.has_owners else {**facts, "owners": None}


def _draw_talks(chat: ChatData) -> Iterator[Talk]:
    source = random.Random(0)  # noqa: S311 -- test texts, not secrets
    controls = sorted(chat.controls)
    texts = [text[:_MOST_CHARACTERS] for text in generated_texts(controls[:50], seed=0)]
    for _ in range(_TALKS):
        roles = _draw_roles(source, chat.form.domain)
        yield Talk(roles, tuple(_draw_content(source, texts, controls) for _ in roles), source.random() < 0.3)


def _draw_roles(source: random.Random, domain: Domain) -> tuple[str, ...]:
    """Draw alternating roles, as most templates require, or sometimes any roles of the domain."""
    size = source.randint(1, _MOST_MESSAGES)
    if source.random() < 0.2:
        while not domain.has(roles := tuple(source.choices(list(LETTERS), k=size))):
            size = max(1, size - 1)
        return roles
    system = ("system",) if source.random() < 0.4 else ()
    return (*system, *(("user", "assistant")[place % 2] for place in range(size)))


def _draw_content(source: random.Random, texts: Sequence[str], controls: Sequence[str]) -> str:
    if source.random() < 0.08:
        return source.choice(_SPACES)
    parts = [source.choice(_PLAIN if source.random() < 0.5 else texts) for _ in range(source.randint(1, 2))]
    if controls and source.random() < 0.4:
        token = source.choice(controls)
        start, stop = sorted(source.choices([0, len(token), source.randint(0, len(token))], k=2))
        parts.insert(source.randint(0, len(parts)), token if source.random() < 0.5 else token[start:stop])
    return source.choice(_SPACES) + "".join(parts) + source.choice(_SPACES)


def _is_not_covered(talk: Talk, found: Mapping[str, Any], chat: ChatData) -> bool:
    """Whether the page refuses a conversation that its table does not cover."""
    if "refused" not in found:
        return False
    limited = any(
        role == whose and text in said
        for role, said in zip(talk.roles, talk.said, strict=True)
        for whose, text in chat.form.limits
    )
    return limited or found["refused"].startswith(_UNKNOWN)


def _expected(data: TokenizerData, chat: ChatData, talks: Sequence[Talk]) -> list[dict[str, Any] | None]:
    """Return the facts of each conversation from `tokbench chat`; None if the template refuses it."""
    tokenizer, is_composed = data.opened.tokenizer, data.fields.get("nfc", False)
    wanted: dict[int, dict[str, Any] | None] = {}
    for prompt in (False, True):
        own = [number for number, talk in enumerate(talks) if talk.prompt == prompt]
        given = [talks[number].conversation for number in own]
        rendered = chat.template.render_many(given, prompt=prompt, tokenizer=tokenizer)
        taken = [place for place, result in enumerate(rendered) if isinstance(result, Rendered)]
        encoded = chat.template.encode_rendered(
            tokenizer,
            [given[place] for place in taken],
            [result for result in rendered if isinstance(result, Rendered)],
        )
        wanted |= dict.fromkeys(own)
        wanted |= {
            own[place]: _facts(encoded_chat, is_composed=is_composed)
            for place, encoded_chat in zip(taken, encoded, strict=True)
        }
    return [wanted[number] for number in range(len(talks))]


def _facts(chat: EncodedChat, *, is_composed: bool) -> dict[str, Any]:
    """Return the facts as the page reports them; positions are those of the NFC text if the tokenizer applies NFC."""
    text = chat.rendered.text

    def composed(text: str) -> str:
        return unicodedata.normalize("NFC", text) if is_composed else text

    return {
        "text": composed(text),
        "ids": chat.ids.tolist(),
        "learned": [bool(is_learned) for is_learned in chat.loss_mask.tolist()],
        "owners": [None if message == NO_MESSAGE else message for message in chat.message_index.tolist()],
        "found": [
            [_units(composed(text[: finding.start])), _units(composed(text[: finding.stop])), finding.token]
            for finding in chat.findings
            if text[finding.start : finding.stop] == finding.token
        ],
    }


def _units(text: str) -> int:
    """Return the length of a text in UTF-16 code units, as JavaScript counts."""
    return len(text.encode("utf-16-le")) // 2
