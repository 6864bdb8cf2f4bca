"""Batches, truncated texts and chunks of every tokenizer: they contain the ids of a text in order and no others."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from support.subjects import sample_texts, texts_with_specials

from tokbench.formats.tokenizer_config.roles import with_roles

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer


def padding(tokenizer: Any) -> Any:
    return with_roles(copy(tokenizer), roles={"pad": "<pad>"})  # other tests share the tokenizer


def test_rows_are_ids_and_padding(tokenizer: Tokenizer) -> None:
    texts = list(sample_texts())
    batch = padding(tokenizer).batch(texts, template=False)
    pad = tokenizer.info.special_tokens["<pad>"]
    for text, ids, mask in zip(texts, batch.ids, batch.attention_mask, strict=True):
        size = mask.sum()
        assert ids[:size].tolist() == tokenizer.encode(text)
        assert (ids[size:] == pad).all()
        assert mask[:size].all()
        assert not mask[size:].any()
    left = padding(tokenizer).pad(tokenizer.encode_batch(texts), side="left")
    assert (left.attention_mask[:, ::-1] == batch.attention_mask).all()


def test_windows_cover_the_text(tokenizer: Tokenizer) -> None:
    texts = list(sample_texts())
    batch = padding(tokenizer).batch(texts, template=False, max_length=16, stride=5, overflow=True)
    rows = [row[mask == 1].tolist() for row, mask in zip(batch.ids, batch.attention_mask, strict=True)]
    for number, text in enumerate(texts):
        own = [row for row, document in zip(rows, batch.documents, strict=True) if document == number]
        assert own[0] + [id for row in own[1:] for id in row[5:]] == tokenizer.encode(text)


@given(text=texts_with_specials, most=st.integers(0, 8), side=st.sampled_from(["left", "right"]))
def test_truncated_text_is_a_prefix_or_suffix_within_the_limit(
    tokenizer: Any, text: str, most: int, side: str
) -> None:
    truncated = tokenizer.truncate(text, most, side=side)
    assert text.startswith(truncated) if side == "right" else text.endswith(truncated)
    assert len(tokenizer.encode(truncated)) <= most


@given(text=texts_with_specials, most=st.integers(8, 30), respect=st.sampled_from([None, "sentences"]))
def test_chunks_join_to_the_text(tokenizer: Any, text: str, most: int, respect: str | None) -> None:
    chunks = tokenizer.chunk(text, max_tokens=most, overlap=most // 4, respect=respect)
    assert b"".join(chunk.text.encode()[chunk.overlap :] for chunk in chunks) == text.encode()
    assert all(len(tokenizer.encode(chunk.text)) == chunk.num_tokens <= most for chunk in chunks)
