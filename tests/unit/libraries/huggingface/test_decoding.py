"""Tests that any ids decode as in `tokenizers`, for every kind of decoder and added tokens that decoders rewrite."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from support.huggingface import added, byte_fallback, byte_level, document, dump

from tokbench import StreamingDecoder
from tokbench.core.tokens import SpecialPolicy
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.workbench.open import load

if TYPE_CHECKING:
    from pathlib import Path

PIECES = [
    "a", "b", "##b", "▁", "▁a", "a▁b", "b</w>", "é", "Ġ", "Ġa", "Ã", "©", "<0x61>", "<0xC3>", "<0xA9>", "<0xc3>",
    "<0x+9>", "<0x0G>", ".", "n't", " ", "|", "_", "_a", "aa",
]  # fmt: skip
ADDED = [
    added("<s>", 40),
    added("</s>", 41, normalized=True),
    added("<0x41>", 42),
    added("▁q", 43, special=False),
    added(" r", 44, special=False, normalized=True),
    added("Ġend", 45),
    added("«é»", 46),
    added("▁▁", 47),
    added("x</w>y", 48, normalized=True),
    added("##t", 49, special=False, normalized=True),
    added("S_T", 50, normalized=True),
    added("  ", 51, special=False),
    added("｜▁｜", 52),
]


def replaced(text: str, content: str, *, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: text}, "content": content}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "decoders": list(steps)}


FALLBACK: dict[str, Any] = {"type": "ByteFallback"}
FUSE: dict[str, Any] = {"type": "Fuse"}
SPACES = replaced("▁", " ")
STRIP: dict[str, Any] = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
METASPACE = {"type": "Metaspace", "replacement": "▁", "split": True}
WORDPIECE = {"type": "WordPiece", "prefix": "##"}
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
DECODERS: dict[str, Any] = {
    "none": None,
    "bytes": BYTES,
    "bytes, sequence": sequence(BYTES),
    "llama 2": sequence(SPACES, FALLBACK, FUSE, STRIP),
    "gemma": sequence(SPACES, FALLBACK, FUSE),
    "without fallback": sequence(SPACES, FUSE, STRIP),
    "strips many": sequence(SPACES, FALLBACK, FUSE, {**STRIP, "start": 9}),
    "strips after": sequence(SPACES, FALLBACK, FUSE, {**STRIP, "start": 0, "stop": 1}),
    "strips each": sequence(SPACES, FALLBACK, STRIP, FUSE),
    "strips twice": sequence(SPACES, FALLBACK, FUSE, STRIP, STRIP),
    "replaces after": sequence(FALLBACK, SPACES, FUSE, STRIP),
    "replaces the whole": sequence(FALLBACK, FUSE, SPACES, replaced("aa", "c"), STRIP),
    "replaces twice": sequence(SPACES, replaced(" a", "<0x62>"), FALLBACK, FUSE),
    "replaces by expression": sequence(replaced("[▁_]", " ", kind="Regex"), FALLBACK, FUSE, STRIP),
    "no replacement": sequence(FALLBACK, FUSE),
    "metaspace": {**METASPACE, "prepend_scheme": "always"},
    "metaspace, first": {**METASPACE, "prepend_scheme": "first"},
    "metaspace, never": {**METASPACE, "prepend_scheme": "never"},
    "wordpiece": {**WORDPIECE, "cleanup": False},
    "wordpiece, cleaned": {**WORDPIECE, "cleanup": True},
    "suffix": {"type": "BPEDecoder", "suffix": "</w>"},
    "ctc": {"type": "CTC", "pad_token": "|", "word_delimiter_token": "▁", "cleanup": True},
    "fuse": FUSE,
}
NORMALIZERS: dict[str, Any] = {
    "as they are": None,
    "llama 2": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, replaced(" ", "▁")]},
    "lower case": {"type": "Lowercase"},
    "decomposed": {"type": "NFD"},
}
VOCAB = {piece: id for id, piece in enumerate(PIECES)} | {token["content"]: token["id"] for token in ADDED}
ids = st.lists(st.sampled_from(list(VOCAB.values())), max_size=7)


def document_with(decoder: Any, *, normalizer: Any) -> bytes:
    """Return a `tokenizer.json` with every piece and every added token."""
    model = {"type": "BPE", "vocab": VOCAB, "merges": [], "byte_fallback": True}
    return dump(document(model, added_tokens=ADDED, decoder=decoder, normalizer=normalizer))


@cache
def opened(data: bytes) -> tuple[HuggingFaceTokenizer, tokenizers.Tokenizer]:
    return (HuggingFaceTokenizer(data, name="mine", backend="bpe"), tokenizers.Tokenizer.from_buffer(data))


@pytest.mark.parametrize("decoder", DECODERS)
@given(normalizer=st.sampled_from(list(NORMALIZERS)), ids=ids, size=st.integers(1, 3))
def test_any_ids_decode_as_in_the_library(decoder: str, normalizer: str, ids: list[int], size: int) -> None:
    tokenizer, peer = opened(document_with(DECODERS[decoder], normalizer=NORMALIZERS[normalizer]))
    data = tokenizer.decode_bytes(ids)
    expected = peer.decode(ids, skip_special_tokens=False) if ids else ""
    try:
        assert data.decode() == expected
    except UnicodeDecodeError:  # we keep the bytes of an incomplete character; the library replaces them
        assert "\ufffd" in expected
    streaming = StreamingDecoder(tokenizer)
    parts = [streaming.feed(ids[start : start + size]) for start in range(0, len(ids), size)]
    assert "".join([*parts, streaming.finish()]) == tokenizer.decode(ids)


@pytest.mark.parametrize("decoder", ["none", "wordpiece", "suffix"])
def test_text_of_words_is_joined_without_the_library(decoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = document_with(DECODERS[decoder], normalizer=None)
    tokenizer = HuggingFaceTokenizer(data, name="mine", backend="bpe")
    all_ids = list(VOCAB.values())
    expected = tokenizer.decode(all_ids)
    monkeypatch.setattr(tokenizer, "_engines", None)
    assert tokenizer.decode(all_ids) == expected


def test_special_token_of_spaces_is_streamed_completely() -> None:
    tokenizer, peer = opened(document_with(DECODERS["strips many"], normalizer=None))
    streaming = StreamingDecoder(tokenizer)
    ids = [VOCAB[piece] for piece in ("▁", "▁▁", "a", "▁▁", "▁▁", "b")]
    shown = [streaming.feed(id) for id in ids]
    assert shown == ["", "", "a", "  ", "  ", "b"]
    assert "".join(shown) == tokenizer.decode(ids) == peer.decode(ids, skip_special_tokens=False)


def test_normalized_special_token_keeps_its_space() -> None:
    """Llama 2's normalizer turns " <s>" into "▁<s>", which matches the token; tokenizers 0.22 loses the space."""
    document = json.loads(byte_fallback())
    for token in document["added_tokens"]:
        token["normalized"] = True
    tokenizer, peer = opened(dump(document))
    text = "a <s> b"
    ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
    assert 1 in ids
    assert tokenizer.decode(ids) == peer.decode(ids, skip_special_tokens=False)


def test_special_token_of_byte_alphabet_letters_decodes_as_bytes(tmp_path: Path) -> None:
    document = json.loads(byte_level())
    document["pre_tokenizer"]["add_prefix_space"] = False
    document["post_processor"] = None
    document["added_tokens"][0]["content"] = "Ġend"
    vocab = document["model"]["vocab"]
    document["model"]["vocab"] = {"Ġend" if piece == "<s>" else piece: id for piece, id in vocab.items()}
    path = tmp_path / "tokenizer.json"
    path.write_bytes(dump(document))
    assert load(path).decode([0]) == " end"
    assert load(path, engine="native").decode([0]) == " end"
