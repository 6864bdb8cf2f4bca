"""nanochat's own code gives the ids and the mask of tokbench's rendering; skipped where it cannot be imported."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import conversations, hostile_texts, plain_texts
from support.rendering import pieces, write
from support.texts import texts

from tokbench.chat.formats import named
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from tokbench.chat.rendered import Rendered

nanochat = pytest.importorskip("nanochat.tokenizer", reason="nanochat's code is not on the path")

NANOCHAT = named("nanochat")
TOKENS = NANOCHAT.control_tokens + NANOCHAT.optional_tokens

contents = plain_texts | texts | hostile_texts


def has_no_adjacent_texts(parts: list[dict[str, str]]) -> bool:
    """Whether no two texts are adjacent, because nanochat encodes each separately."""
    return all("text" not in {left["type"]} & {right["type"]} for left, right in pairwise(parts))


parts = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["text", "python", "python_output"]), "text": contents}),
    max_size=5,
).filter(has_no_adjacent_texts)


@cache
def tokenizer() -> Any:
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {
        pair: 256 + rank for rank, pair in enumerate([b"th", b"in", b"he", b" a", b"\n\n", b"||", b"st"])
    }
    specials = {token: len(ranks) + place for place, token in enumerate(TOKENS)}
    encoding = tiktoken.Encoding(
        "tiny", pat_str=nanochat.SPLIT_PATTERN, mergeable_ranks=ranks, special_tokens=specials
    )
    return nanochat.RustBPETokenizer(encoding, "<|bos|>")


def ids_and_mask(rendered: Rendered, messages: list[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """Encode each piece separately; the turns of the assistant are trained on."""
    trained = {
        position
        for message, start, stop in rendered.turns
        if messages[message]["role"] == "assistant"
        for position in range(start, stop)
    }
    ids: list[int] = []
    mask: list[int] = []
    for text, is_control, start in pieces(rendered, TOKENS):
        piece = tokenizer().encode_special(text) if is_control else tokenizer().encode(text)
        added = [piece] if isinstance(piece, int) else piece
        ids += added
        mask += [int(start in trained)] * len(added)
    return ids, mask


@given(st.data())
def test_ids_and_mask_equal_nanochats(data):
    drawn = data.draw(conversations(contents))
    messages = [
        message | {"content": data.draw(parts | contents)} if message["role"] == "assistant" else message
        for message in drawn.messages
    ]
    theirs = tokenizer().render_conversation({"messages": messages}, max_tokens=10**6)
    assert ids_and_mask(write("nanochat", messages), messages) == theirs


@given(conversations(contents, ends="assistant", most=2))
def test_prompt_ids_equal_nanochats(conversation):
    messages = list(conversation.messages)
    if messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": ""})
    theirs = tokenizer().render_for_completion({"messages": messages})
    assert ids_and_mask(write("nanochat", messages[:-1], prompt=True), messages)[0] == theirs


@pytest.mark.parametrize("roles", ["", "s", "a", "uu", "sa", "ss", "uau", "us", "t", "usa"])
def test_invalid_role_orders_are_refused_by_both(roles):
    names = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}
    messages = [{"role": names[role], "content": "x"} for role in roles]

    def refuses(render: Any, *errors: type[Exception]) -> bool:
        try:
            render()
        except errors:
            return True
        return False

    theirs = refuses(
        lambda: tokenizer().render_conversation({"messages": messages}), AssertionError, IndexError
    )
    ours = refuses(lambda: write("nanochat", messages), TemplateError)
    assert ours == theirs
