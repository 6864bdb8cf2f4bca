"""Streaming the decoders of tokenizer.json: known ones piece by piece, all others at the end, each exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.huggingface import added, document, dump

from tokbench import StreamingDecoder
from tokbench.core.capabilities import Decoding
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

PIECES = ["a", "##b", "▁", "▁c", "d</w>", "e", "<0xC3>", "<0xA9>", "<0x61>", ".", "n't", " ", "|", "▁▁", "é"]
BYTE_FALLBACK = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}]
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
KNOWN: dict[str, Any] = {
    "none": None,
    "wordpiece": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "metaspace": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    "suffix": {"type": "BPEDecoder", "suffix": "</w>"},
    "bytes": {"type": "Sequence", "decoders": [*BYTE_FALLBACK, {"type": "Fuse"}]},
    "bytes, stripped": {"type": "Sequence", "decoders": [*BYTE_FALLBACK, {"type": "Fuse"}, STRIP]},
}
OTHERS: dict[str, Any] = {
    "ctc": {"type": "CTC", "pad_token": "|", "word_delimiter_token": "▁", "cleanup": True},
    "replaced over pieces": {
        "type": "Sequence",
        "decoders": [{"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "ae"}, "content": "x"}],
    },
}
ids = st.lists(st.integers(0, len(PIECES)), max_size=10)


def tokenizer_with(decoder: Any) -> HuggingFaceTokenizer:
    vocab = {piece: id for id, piece in enumerate([*PIECES, "<s>"])}
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": "a"}
    data = dump(document(model, added_tokens=[added("<s>", len(PIECES))], decoder=decoder))
    return HuggingFaceTokenizer(data, name="tried", backend="wordlevel")


TOKENIZERS = {name: tokenizer_with(decoder) for name, decoder in (KNOWN | OTHERS).items()}


def streamed(decoder: StreamingDecoder, ids: Sequence[int], size: int) -> list[str]:
    parts = [decoder.feed(ids[start : start + size]) for start in range(0, len(ids), size)]
    return [*parts, decoder.finish()]


@pytest.mark.parametrize("name", TOKENIZERS)
@given(ids=ids, size=st.integers(1, 4))
def test_streaming_equals_decoding_at_once(name: str, ids: list[int], size: int) -> None:
    tokenizer = TOKENIZERS[name]
    decoder = StreamingDecoder(tokenizer)
    for _ in range(2):  # `finish` resets the decoder
        assert "".join(streamed(decoder, ids, size)) == tokenizer.decode(ids)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_known_decoders_stream_piece_by_piece(name: str) -> None:
    tokenizer = TOKENIZERS[name]
    shown = streamed(StreamingDecoder(tokenizer), [0, 5, 9], 1)
    if name in KNOWN:
        assert tokenizer.decoding is Decoding.FROM_LEFT
        assert all(shown[:-1])
        assert shown[-1] == ""
    else:
        assert tokenizer.decoding is Decoding.WHOLE
        assert shown[:-1] == ["", "", ""]
