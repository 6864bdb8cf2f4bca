"""Tests for byte tokens listed as special tokens in a `tokenizer.json`, as the library's trainers require."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson
import pytest
import tokenizers
from support import huggingface
from support.huggingface import added, dump

import tokbench
from tokbench.core.tokens import SpecialPolicy, TokenKind
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
LETTERS = list("abcx041<>▁")


@cache
def document(kind: str) -> bytes:
    pieces = ["<unk>", "<s>", *BYTES, *LETTERS]
    model: dict[str, Any] = {"type": "Unigram", "unk_id": 0, "vocab": [[piece, -1.0] for piece in pieces]}
    if kind == "BPE":
        vocab = {piece: id for id, piece in enumerate(pieces)}
        model = {"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": []}
    parts = {
        "added_tokens": [added(text, id) for id, text in enumerate(pieces[:258])],
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
    }
    return dump(huggingface.document({**model, "byte_fallback": True}, **parts))


@pytest.mark.parametrize("kind", ["BPE", "Unigram"])
def test_characters_without_a_token_become_byte_tokens(kind: str) -> None:
    tokenizer = HuggingFaceTokenizer(document(kind), name="mine", backend="bpe")
    peer = tokenizers.Tokenizer.from_buffer(document(kind))
    expected = peer.encode("a漢\n", add_special_tokens=False).ids
    assert tokenizer.encode("a漢\n") == tokenizer.encode("a漢\n", special=SpecialPolicy.ENCODE) == expected
    assert tokenizer.decode(expected) == "a漢\n"
    assert [token.kind for token in tokenizer.segment("漢").tokens] == [TokenKind.BYTE] * 3
    assert list(tokenizer.info.special_tokens) == ["<s>"]


def test_spelling_of_a_byte_token_is_text_unless_special_tokens_are_encoded(tmp_path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(document("BPE"))
    texts = ["<0x41>", "a<0x41>漢"]
    for engine in ("native", "library"):
        tokenizer = tokbench.load(path, engine=engine)
        peer = tokenizers.Tokenizer.from_buffer(document("BPE"))
        peer_ids = [peer.encode(text, add_special_tokens=False).ids for text in texts]
        assert [tokenizer.encode(text, special=SpecialPolicy.ENCODE) for text in texts] == peer_ids
        assert [tokenizer.decode(tokenizer.encode(text)) for text in texts] == texts
        assert (
            tokenizer.encode_batch(["a<0x41>漢" * 4000])[0].tolist() == tokenizer.encode("a<0x41>漢") * 4000
        )


def test_bytes_of_an_end_of_word_suffix_have_empty_spans() -> None:
    """The library spells the suffix in bytes, too, and says that they are after the text."""
    with_suffix = orjson.loads(document("BPE"))
    with_suffix["model"]["end_of_word_suffix"] = "</w>"
    tokenizer = HuggingFaceTokenizer(orjson.dumps(with_suffix), name="mine", backend="bpe")
    texts = ["é", "ab", "漢é"]
    assert max(tokenizer._engines.plain.encode("é").offsets) > (1, 1)
    segmented = [tokenizer.segment(text).tokens for text in texts]
    assert [token.span.stop for token in segmented[0]][-1] == 2
    spans = tokenizer.encode_spans(texts)
    flat = [token for tokens in segmented for token in tokens]
    assert spans.starts.tolist() == [token.span.start for token in flat]
    assert spans.stops.tolist() == [token.span.stop for token in flat]
