"""Models with user-defined symbols give the same ids in SentencePiece and, converted, in tokenizers, or are refused."""

from __future__ import annotations

from typing import Any

import sentencepiece
from hypothesis import assume, given
from hypothesis import strategies as st
from support.sentencepiece_models import charsmap, unknown, written
from tokenizers import Tokenizer

from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.formats.sentencepiece.tokenizer_json import dump_sentencepiece, normalization_in
from tokbench.formats.sentencepiece.unigram_scores import caused_by_rounding

ALPHABET = "ab<>\u2581\u00e9\u0301\uff1c\n"
PLAIN = "ab<>"  # no table changes them
TEXTS = st.lists(st.text(st.sampled_from(ALPHABET + " x"), max_size=14), min_size=1, max_size=12)


@st.composite
def models(draw: st.DrawFn) -> bytes:
    """Return a model of either algorithm over a few characters, with up to four symbols."""
    normal = draw(st.lists(st.sampled_from(ALPHABET), unique=True, min_size=3))
    for _ in range(draw(st.integers(0, 8))):
        normal.append(draw(st.sampled_from(normal)) + draw(st.sampled_from(normal)))
    alphabet = draw(st.sampled_from([PLAIN, PLAIN, ALPHABET]))
    symbols = draw(
        st.lists(
            st.text(st.sampled_from(alphabet), min_size=1, max_size=4), min_size=1, max_size=4, unique=True
        )
    )
    normal = [text for text in dict.fromkeys(normal) if text not in symbols]
    if is_bpe := draw(st.booleans()):  # no two of its pieces have the same score
        scores = [-float(rank) for rank in range(len(normal))]
    else:
        scores = [-draw(st.integers(1, 40)) / 4 for _ in normal]
    controls = [
        ModelPiece(text, 0.0, PieceType.CONTROL) for text in ("<a>", "xx") if text not in (*symbols, *normal)
    ]
    pieces = [
        unknown(),
        *controls,
        *(ModelPiece(text, 0.0, PieceType.USER_DEFINED) for text in symbols),
        *(ModelPiece(text, score, PieceType.NORMAL) for text, score in zip(normal, scores, strict=True)),
    ]
    normalizer: dict[str, Any] = {
        name: draw(st.booleans()) for name in ("add_dummy_prefix", "remove_extra_whitespaces")
    }
    normalizer["precompiled_charsmap"] = charsmap(
        draw(st.sampled_from([*["identity"] * 10, "nmt_nfkc", "nfkc_cf"]))
    )
    trainer = {"model_type": int(ModelType.BPE if is_bpe else ModelType.UNIGRAM)}
    return written(pieces, trainer=trainer, normalizer=normalizer)


@given(models(), TEXTS)
def test_converted_models_encode_the_same(proto: bytes, texts: list[str]) -> None:
    model = parse_model(proto)
    try:
        made = Tokenizer.from_buffer(dump_sentencepiece(model))
    except ConversionError:
        assume(False)
    made.encode_special_tokens = True
    excluded = set(normalization_in(model).excluded)
    library = sentencepiece.SentencePieceProcessor(model_proto=proto)
    symbols = [piece.text for piece in model.pieces if piece.type is PieceType.USER_DEFINED]
    for text in [
        *texts,
        *symbols,
        "<a>".join([*symbols, ""]),
        *("a" + symbol + text for symbol in symbols for text in texts),
    ]:
        if excluded.isdisjoint(text):
            expected, found = library.encode(text), made.encode(text, add_special_tokens=False).ids
            assert expected == found or caused_by_rounding(expected, found, model.pieces)
