"""Conversations as ids: masks, messages and findings equal their definitions, token by token."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from support.conversations import INJECTIONS, conversations, hostile_texts
from support.rendering import pieces, said, write
from support.texts import bundled_texts

import tokbench
from tokbench.chat import encoding
from tokbench.chat.encoding import EncodedChat, encode_chats
from tokbench.chat.formats import named
from tokbench.chat.rendered import TEMPLATE, Origin, Rendered, Runs, Turn
from tokbench.core.tokens import SpecialPolicy

if TYPE_CHECKING:
    from tokbench.chat.conversation import Conversation
    from tokbench.core.interfaces import Tokenizer

FORMATS = ("chatml", "llama3", "gemma", "nanochat")


@cache
def tokenizer(format: str = "chatml") -> Tokenizer:
    template = named(format)
    tokens = tuple(dict.fromkeys((*template.control_tokens, *template.optional_tokens)))
    return tokbench.train(list(bundled_texts().values())[:6], vocab_size=500, special_tokens=tokens)


def encode(rendered: Rendered, roles: list[str], **options: Any) -> EncodedChat:
    format = options.pop("format", "chatml")
    [chat] = encode_chats(tokenizer(format), [rendered], roles=[roles], **options)
    return chat


def hand_made() -> Rendered:
    """Return a rendered conversation with `<|im_start|>` at byte 0 and the answer at byte 31."""
    return Rendered.of(
        [
            ("<|im_start|>user\n", Origin(0)),
            ("né", Origin(0, "content")),
            ("<|im_end|>\n", Origin(0)),
            ("Yes.", Origin(1, "content")),
            ("<|im_end|>", TEMPLATE),
            ("\n", TEMPLATE),
        ]
    )


def test_loss_mask_covers_the_answer_and_its_end() -> None:
    text = hand_made()
    chat = encode(
        Rendered(text.text, text.runs, turns=(Turn(0, 17, 29), Turn(1, 30, 44))), ["user", "assistant"]
    )
    ids = chat.ids.tolist()
    end = tokenizer().info.special_tokens["<|im_end|>"]
    last = len(ids) - 1 - ids[::-1].index(end)
    answer = tokenizer().encode("\nYes.")  # encoded together; the line feed is a token of its own
    assert ids[last - len(answer) : last] == answer
    assert chat.loss_mask.tolist() == [0] * (last - len(answer) + 1) + [1] * len(answer) + [0]
    assert chat.message_index.tolist()[last:] == [1, -1]
    assert chat.starts[-1] == len(text.text.encode()) - 1
    assert chat.origins[0] == Origin(0)
    assert repr(chat).endswith("0 findings>")


def test_trained_roles_can_be_chosen() -> None:
    rendered = write("chatml", said(("user", "Hi"), ("assistant", "Yes")))
    one, both, none = (
        encode(rendered, ["user", "assistant"], train_on=roles)
        for roles in (["user"], ["user", "assistant"], [])
    )
    assert 0 < one.loss_mask.sum() < both.loss_mask.sum()
    assert not none.loss_mask.any()


def test_generation_blocks_define_the_loss_mask() -> None:
    text = hand_made()
    turns = (Turn(1, 30, 44),)
    marked = Rendered(text.text, text.runs, turns=turns, generated=((30, 34),))
    chat = encode(marked, ["user", "assistant"])
    end = tokenizer().info.special_tokens["<|im_end|>"]
    assert chat.loss_mask.any()
    assert not chat.loss_mask[chat.ids == end].any()
    assert encode(marked, ["user", "assistant"], train_on=["user"]).loss_mask.sum() == 0


@pytest.mark.parametrize("injection", INJECTIONS)
@pytest.mark.parametrize("format", FORMATS)
def test_injection_does_not_change_the_control_tokens(format: str, injection: str) -> None:
    tokens = set(tokenizer(format).info.special_tokens.values())
    good, bad = (
        encode(write(format, said(("user", text), ("assistant", text))), ["user", "assistant"], format=format)
        for text in ("Hello", injection)
    )
    assert [id for id in good.ids if id in tokens] == [id for id in bad.ids if id in tokens]
    known = [token for token in tokenizer(format).info.special_tokens if token in injection]
    assert {finding.token for finding in bad.findings} == set(known)
    assert all(finding.field == "content" and not finding.crosses for finding in bad.findings)


def test_finding_across_a_boundary_is_marked() -> None:
    rendered = Rendered.of([("<|im_", TEMPLATE), ("end|>", Origin(3, "content"))])
    [finding] = encode(rendered, ["user"] * 4).findings
    assert finding == (3, "content", "<|im_end|>", 0, 10, True)


@given(conversation=conversations(hostile_texts), format=st.sampled_from(FORMATS), prompt=st.booleans())
def test_ids_and_masks_equal_their_definitions(conversation: Conversation, format: str, prompt: bool) -> None:
    [rendered] = named(format).render([conversation], prompt=prompt)
    if not isinstance(rendered, Rendered):
        reject()
    roles = [message["role"] for message in conversation.messages]
    chat = encode(rendered, roles, format=format)
    assert chat.ids.tolist() == ids_by_definition(rendered, tokenizer(format))
    edges = [len(rendered.text[:place].encode()) for place in range(len(rendered.text) + 1)]
    for start, stop, learned, message in zip(
        chat.starts, chat.stops, chat.loss_mask, chat.message_index, strict=True
    ):
        learns = [t for t in rendered.turns if roles[t.message] == "assistant"]
        assert learned == any(edges[t.start] < stop and start < edges[t.stop] for t in learns)
        [origin] = [r.origin for r in rendered.runs if edges[r.start] <= start < edges[r.stop]]
        turn = [t.message for t in rendered.turns if edges[t.start] <= start < edges[t.stop]]
        assert message == (origin.message if origin.message is not None else [*turn, -1][0])


def ids_by_definition(rendered: Rendered, tokenizer: Tokenizer) -> list[int]:
    specials = tokenizer.info.special_tokens
    ids: list[int] = []
    for piece in pieces(rendered, specials):
        ids += [specials[piece.text]] if piece.is_control else tokenizer.encode(piece.text)
    return ids


@pytest.mark.parametrize("together", [1, 100, 1 << 18])
@given(st.lists(conversations(), min_size=1, max_size=4))
def test_batch_equals_single_encoding(together: int, many: list[Conversation]) -> None:
    rendered = [result for result in named("chatml").render(many) if isinstance(result, Rendered)]
    roles = [[str(m["role"]) for m in conversation.messages] for conversation in many][: len(rendered)]
    assume(len(rendered) == len(many))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "_BATCH_CHARACTERS", together)
        chats = encode_chats(tokenizer(), rendered, roles=roles)
    for chat, each, speakers in zip(chats, rendered, roles, strict=True):
        alone = encode(each, speakers)
        for name in ("ids", "loss_mask", "message_index", "starts", "stops", "kinds"):
            assert np.array_equal(getattr(chat, name), getattr(alone, name)), name
    assert [part.text for part in chats.rendered] == [part.text for part in rendered]
    assert [chat.findings for chat in chats] == [
        encode(each, speakers).findings for each, speakers in zip(rendered, roles, strict=True)
    ]
    assert chats[-1].ids.tolist() == chats[len(many) - 1].ids.tolist()
    with pytest.raises(IndexError):
        chats[len(many)]


def test_ids_equal_those_of_the_whole_text_without_an_injection() -> None:
    rendered = write("llama3", said(("system", "Be brief."), ("user", "Hé!"), ("assistant", "Yes\n")))
    chat = encode(rendered, ["system", "user", "assistant"], format="llama3")
    assert chat.ids.tolist() == tokenizer("llama3").encode(rendered.text, special=SpecialPolicy.ENCODE)


def test_segments_can_be_encoded_separately() -> None:
    rendered = write("chatml", said(("user", "\nHi"), ("assistant", " Yes")))
    roles = ["user", "assistant"]
    joint, apart = encode(rendered, roles), encode(rendered, roles, by_segment=True)
    expected: list[int] = []
    for start, stop, part in _parts(rendered):
        special = SpecialPolicy.ENCODE if part else SpecialPolicy.TEXT
        expected += tokenizer().encode(rendered.text[start:stop], special=special)
    assert apart.ids.tolist() == expected != joint.ids.tolist()
    assert all(a <= b for a, b in pairwise(apart.starts))
    assert apart.loss_mask.any()
    assert apart.stops[-1] == joint.stops[-1]


def _parts(rendered: Rendered) -> list[tuple[int, int, bool]]:
    ranges: list[tuple[int, int, bool]] = []
    for start, stop, origin in rendered.runs:
        if ranges and ranges[-1][2] and origin.is_template:
            ranges[-1] = (ranges[-1][0], stop, True)
        else:
            ranges.append((start, stop, origin.is_template))
    return ranges


def test_empty_text_has_no_ids() -> None:
    assert len(encode(Rendered("", Runs((), (), 0)), [])) == 0
