"""Tests that word and character models on the compiled and the Python kernel give the library's ids."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from support.sentencepiece_models import assert_spans_equal_the_librarys, charsmap, unknown, written

import tokbench
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece import whole_pieces
from tokbench.libraries.sentencepiece.whole_pieces import library_reason, new_encoder
from tokbench.native.kernel_choice import is_installed

KERNELS = [
    "python",
    pytest.param(
        "native", marks=pytest.mark.skipif(not is_installed(whole_pieces.COMPILED), reason="not compiled")
    ),
]
LETTERS = "ab▁é中<\n"
PIECES = st.text(st.sampled_from(LETTERS), min_size=1, max_size=3) | st.sampled_from(
    ["▁a", "▁ab", "▁", "<s>", "▁<s>", "a", "b"]
)
TEXTS = st.text(st.sampled_from(LETTERS + "x \u3000\0ﬁ\u0301")) | st.lists(
    st.sampled_from(["a", "ab", " ", "  ", "<s>", "中x", "x y z", "é"])
).map("".join)


def model(model_type: ModelType, pieces: list[ModelPiece], **normalizer: object) -> bytes:
    return written([unknown(), *pieces], trainer={"model_type": model_type}, normalizer=normalizer)


@st.composite
def models(draw: st.DrawFn) -> bytes:
    types = st.sampled_from(
        [PieceType.NORMAL] * 6 + [PieceType.UNUSED, PieceType.USER_DEFINED, PieceType.CONTROL]
    )
    texts = draw(st.lists(PIECES, unique=True, max_size=12))
    return model(
        draw(st.sampled_from([ModelType.WORD, ModelType.CHAR])),
        [ModelPiece(text, 0.0, draw(types)) for text in texts],
        precompiled_charsmap=charsmap(draw(st.sampled_from(["identity", "nmt_nfkc"]))),
        add_dummy_prefix=draw(st.booleans()),
        remove_extra_whitespaces=draw(st.booleans()),
        escape_whitespaces=True,
    )


def check(proto: bytes, texts: list[str], kernel: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TOKBENCH_KERNEL", kernel)
        ours = new_encoder(parse_model(proto))
    expected = sentencepiece.SentencePieceProcessor(model_proto=proto).encode(texts)
    assert [ours.encode(text) for text in texts] == expected
    for threads in (1, 2):
        ids, offsets = ours.encode_batch(texts, threads)
        assert [ids[start:stop].tolist() for start, stop in pairwise(offsets)] == expected
        assert ours.count_batch(texts, threads).tolist() == list(map(len, expected))


@pytest.mark.parametrize("kernel", KERNELS)
@given(proto=models(), texts=st.lists(TEXTS, max_size=4))
def test_any_model_encodes_as_in_the_library(kernel: str, proto: bytes, texts: list[str]) -> None:
    if not library_reason(parse_model(proto)):
        check(proto, texts, kernel)


@pytest.mark.skipif(not is_installed(whole_pieces.COMPILED), reason="not compiled")
@given(proto=models(), texts=st.lists(TEXTS, max_size=4))
def test_spans_of_any_model_equal_the_librarys(proto: bytes, texts: list[str]) -> None:
    if not library_reason(parse_model(proto)):
        assert_spans_equal_the_librarys(proto, texts)


@pytest.mark.parametrize("kernel", KERNELS)
def test_worked_examples_encode_as_in_the_library(kernel: str) -> None:
    pieces = [ModelPiece(text, 0.0, PieceType.NORMAL) for text in ("▁a", "▁", "a")]
    of_words = model(ModelType.WORD, pieces, add_dummy_prefix=True, escape_whitespaces=True)
    check(of_words, ["a b c a", "", "  a "], kernel)
    peer = sentencepiece.SentencePieceProcessor(model_proto=of_words)
    assert peer.encode("a b c a") == [1, 0, 1]  # ▁b and ▁c together are one unknown token
    of_characters = model(ModelType.CHAR, [*pieces, ModelPiece("bb", 0.0, PieceType.USER_DEFINED)])
    assert sentencepiece.SentencePieceProcessor(model_proto=of_characters).encode("bbbxya")[-3:] == [4, 0, 3]
    check(of_characters, ["bbbxya", "x", "▁ a"], kernel)


@pytest.mark.parametrize("kind", [ModelType.WORD, ModelType.CHAR])
def test_opened_file_runs_on_the_kernel_or_the_library(kind: ModelType, tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "small.model"
    path.write_bytes(
        model(kind, [ModelPiece("▁a", 0.0, PieceType.NORMAL), ModelPiece("</s>", 0.0, PieceType.CONTROL)])
    )
    ours, library = tokbench.load(path), tokbench.load(path, engine="library")
    assert (ours.info.kernel == "native") is is_installed(whole_pieces.COMPILED)
    texts = ["a b a", "</s> a", "é" * 20_000]
    assert np.array_equal(ours.encode_batch(texts).ids, library.encode_batch(texts).ids)
    assert ours.segment("a b a") == library.segment("a b a")


def test_unsupported_models_are_left_to_the_library() -> None:
    control = [ModelPiece("</s>", 0.0, PieceType.CONTROL)]
    assert not library_reason(parse_model(model(ModelType.WORD, control, escape_whitespaces=True)))
    bare = model(ModelType.WORD, control, add_dummy_prefix=False, escape_whitespaces=True)
    assert library_reason(parse_model(bare)) == "a text may become a control token"
    spaces = model(ModelType.CHAR, [], escape_whitespaces=False)
    assert "do not begin with ▁" in library_reason(parse_model(spaces))
