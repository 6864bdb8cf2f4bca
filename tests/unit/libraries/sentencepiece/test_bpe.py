"""Tests that BPE models on the compiled and the Python kernel give the library's ids for every text."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from support.sentencepiece_models import (
    VARIANTS,
    assert_spans_equal_the_librarys,
    charsmap,
    opened_for_spans,
    unknown,
    variant,
    written,
)
from support.texts import bundled_texts

from tokbench.explain.assembling import explain
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece import bpe
from tokbench.libraries.sentencepiece.bpe import library_reason, new_encoder
from tokbench.libraries.sentencepiece.models import open_model
from tokbench.native.kernel_choice import is_installed

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.kernel_or_library import KernelEncoder

KERNELS = [
    "python",
    pytest.param("native", marks=pytest.mark.skipif(not is_installed(bpe.COMPILED), reason="not compiled")),
]
BPE_VARIANTS = [name for name, (backend, _) in VARIANTS.items() if backend == "sentencepiece"]
SMALL = "ab▁ é中\t\u0301¨"
TEXTS = st.one_of(
    st.text(st.sampled_from(SMALL + "x\u3000\0ﬁ\n"), max_size=60),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(
        st.sampled_from(["the ", "▁", " and", "ing", "  ", "<sep>", "ab", "Größe ", "привет", "x" * 40])
    ).map("".join),
)
SCORES = st.sampled_from([0.0, -0.0, -1.0, -1.0, -2.0, -2.5, -3.0, 1.5, -40.0])


@lru_cache(maxsize=32)
def encoder(proto: bytes, kernel: str) -> KernelEncoder:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TOKBENCH_KERNEL", kernel)
        return new_encoder(parse_model(proto))


@lru_cache(maxsize=32)
def peer(proto: bytes) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=proto)


def check(proto: bytes, texts: list[str], kernel: str) -> None:
    ours = encoder(proto, kernel)
    expected = [peer(proto).encode(text) for text in texts]
    assert [ours.encode(text) for text in texts] == expected
    for threads in (1, 2):
        ids, offsets = ours.encode_batch(texts, threads)
        assert [ids[start:stop].tolist() for start, stop in pairwise(offsets)] == expected
        assert ours.count_batch(texts, threads).tolist() == list(map(len, expected))


@st.composite
def models(draw: st.DrawFn) -> bytes:
    """Draw models over a few characters with all piece types and options that a model can have."""
    texts = draw(st.lists(st.text(st.sampled_from(SMALL), min_size=1, max_size=5), unique=True, max_size=25))
    types = st.sampled_from(
        [PieceType.NORMAL] * 8 + [PieceType.UNUSED, PieceType.USER_DEFINED, PieceType.CONTROL]
    )
    pieces = [unknown(), *(ModelPiece(text, draw(SCORES), draw(types)) for text in texts)]
    byte_fallback = draw(st.booleans())
    if byte_fallback:
        pieces += [ModelPiece(f"<0x{byte:02X}>", 0.0, PieceType.BYTE) for byte in range(256)]
    names = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    return written(
        pieces,
        trainer={
            "model_type": ModelType.BPE,
            "byte_fallback": byte_fallback,
            "treat_whitespace_as_suffix": draw(st.booleans()),
        },
        normalizer={
            "precompiled_charsmap": charsmap(draw(st.sampled_from(["identity", "nmt_nfkc", "nmt_nfkc_cf"]))),
            **{name: draw(st.booleans()) for name in names},
        },
    )


@pytest.mark.parametrize("kernel", KERNELS)
@given(proto=models(), texts=st.lists(TEXTS, max_size=4))
def test_any_model_encodes_as_in_the_library(kernel: str, proto: bytes, texts: list[str]) -> None:
    if not library_reason(parse_model(proto)):
        check(proto, texts, kernel)


@given(proto=models(), text=TEXTS)
def test_any_model_is_explained(proto: bytes, text: str) -> None:
    steps = explain(open_model(proto, name="mine"), text).steps
    assert [symbol.id for step in steps for symbol in step.trace.tokens] == peer(proto).encode(text)


@pytest.mark.skipif(not is_installed(bpe.COMPILED), reason="not compiled")
@given(proto=models(), texts=st.lists(TEXTS, max_size=4))
def test_spans_of_any_model_equal_the_librarys(proto: bytes, texts: list[str]) -> None:
    if not library_reason(parse_model(proto)):
        assert_spans_equal_the_librarys(proto, texts)


@pytest.mark.skipif(not is_installed(bpe.COMPILED), reason="not compiled")
def test_unknown_characters_before_a_piece_of_an_unknown_character_have_the_librarys_spans() -> None:
    # The kernel cannot tell where the run ends: 中 alone is unknown, too, but 中a is a piece.
    pieces = [unknown(), *(ModelPiece(text, 0.0, PieceType.NORMAL) for text in ("▁", "a", "中a"))]
    proto = written(pieces, trainer={"model_type": ModelType.BPE}, normalizer={"add_dummy_prefix": True})
    text = "é中中a 中"
    assert peer(proto).encode(text) == [1, 0, 3, 1, 0]
    tokens = opened_for_spans(proto, "auto").segment(text).tokens
    assert [(token.span.start, token.span.stop) for token in tokens] == [
        (0, 0),
        (0, 5),
        (5, 9),
        (9, 10),
        (10, 13),
    ]
    assert_spans_equal_the_librarys(proto, [text, "a中中a", "中a中"])


@pytest.mark.skipif(not is_installed(bpe.COMPILED), reason="not compiled")
def test_characters_of_unused_pieces_are_unknown_in_spans() -> None:
    pieces = [unknown(), *(ModelPiece(text, 0.0, PieceType.NORMAL) for text in ("a", "a日"))]
    pieces.append(ModelPiece("é", 0.0, PieceType.UNUSED))
    proto = written(pieces, trainer={"model_type": ModelType.BPE}, normalizer={"add_dummy_prefix": False})
    tokens = opened_for_spans(proto, "auto").segment("éa日中").tokens
    assert [(token.id, token.span.start, token.span.stop) for token in tokens] == [
        (0, 0, 2),
        (2, 2, 6),
        (0, 6, 9),
    ]
    assert_spans_equal_the_librarys(proto, ["éa日中"])


@pytest.mark.parametrize("kernel", KERNELS)
def test_adjacent_unknown_characters_of_one_replacement_are_one_piece(kernel: str) -> None:
    pieces = [unknown(), *(ModelPiece(text, 0.0, PieceType.NORMAL) for text in ("▁", "i", "k", "a"))]
    normalizer = {"precompiled_charsmap": charsmap("nmt_nfkc")}
    proto = written(pieces, trainer={"model_type": ModelType.BPE}, normalizer=normalizer)
    assert peer(proto).encode("ki\u0300i\u0301a") == [1, 3, 0, 4]
    check(proto, ["ki\u0300i\u0301a", "漢i\u0300", "i\u0300漢ki", "漢i"], kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", BPE_VARIANTS)
@given(texts=st.lists(TEXTS, max_size=4))
def test_trained_models_encode_as_in_the_library(kernel: str, name: str, texts: list[str]) -> None:
    check(variant(name).proto, texts, kernel)


@pytest.mark.skipif(not is_installed(bpe.COMPILED), reason="not compiled")
@pytest.mark.parametrize("name", BPE_VARIANTS)
@given(texts=st.lists(TEXTS, max_size=4))
def test_spans_of_trained_models_equal_the_librarys(name: str, texts: list[str]) -> None:
    assert_spans_equal_the_librarys(variant(name).proto, texts)


@pytest.mark.parametrize("name", BPE_VARIANTS)
@pytest.mark.skipif(not is_installed(bpe.COMPILED), reason="takes long in Python")
def test_bundled_texts_and_every_code_point_encode_as_in_the_library(name: str) -> None:
    points = [chr(point) for point in range(1, 0x110000) if not 0xD800 <= point < 0xE000]
    blocks = ["".join(points[start : start + 4096]) for start in range(0, len(points), 4096 * 16)]
    assigned = " a".join(points[:0x3000])
    check(variant(name).proto, [*bundled_texts().values(), *blocks, assigned], "native")


HOSTILE = {
    "one character": lambda: "a" * 1_000_000,
    "letters": lambda: "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000)),
    "spaces": lambda: " " * 1_000_000,
    "an ideograph": lambda: "中" * 300_000,
    "marks": lambda: "é\u0301" * 200_000,
    "words, then spaces": lambda: "the cat " * 100_000 + " " * 100_000,
}


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(bpe.COMPILED), reason="takes long in Python")
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("name", ["bpe", "bpe folded"])
def test_megabyte_of_repeated_text_encodes_as_in_the_library(kind: str, name: str) -> None:
    check(variant(name).proto, [HOSTILE[kind]()], "native")


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.skipif(not is_installed(bpe.COMPILED), reason="takes long in Python")
def test_real_model_encodes_long_documents_as_in_the_library(shared: Path) -> None:
    proto = (shared / "vocab" / "mistral" / "tokenizer.model.v1").read_bytes()
    files = sorted(shared.glob("corpora/code/*.txt")) + sorted(shared.glob("corpora/parallel_ntrex/*.txt"))
    texts = [
        path.read_text(encoding="utf-8", errors="replace")[:50_000] for path in files if path.stem != "SOURCE"
    ]
    assert len(texts) > 40
    check(proto, [*texts, "".join(texts)[:1_100_000]], "native")


def normal(texts: dict[str, float], type: PieceType = PieceType.NORMAL) -> list[ModelPiece]:
    return [ModelPiece(text, score, type) for text, score in texts.items()]


def bpe_model(*pieces: ModelPiece, **options: Any) -> bytes:
    return written([unknown(), *pieces], trainer={"model_type": ModelType.BPE, **options})


@pytest.mark.parametrize("kernel", KERNELS)
def test_equal_scores_merge_from_the_left(kernel: str) -> None:
    proto = bpe_model(*normal({"▁": 0, "a": 0, "b": 0, "ab": -1, "ba": -1, "aba": -1, "▁ab": -1}))
    check(proto, ["ab", "aba", "abab", "bab", "babab" * 20], kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_unused_piece_is_split_again(kernel: str) -> None:
    unused = normal({"abc": -2, "abcabc": -3}, PieceType.UNUSED)
    proto = bpe_model(*normal({"▁": 0, "a": 0, "b": 0, "c": 0, "ab": -1}), *unused)
    assert not library_reason(parse_model(proto))
    check(proto, ["abc", "abcabc", "cabcabcabc"], kernel)


def test_unused_piece_with_two_merges_is_left_to_the_library() -> None:
    unused = normal({"abc": -3}, PieceType.UNUSED)
    proto = bpe_model(*normal({"a": 0, "b": 0, "c": 0, "ab": -1, "bc": -2}), *unused)
    assert "two ways" in library_reason(parse_model(proto))
    if is_installed(bpe.COMPILED):
        with pytest.raises(ValueError, match="two ways"):
            encoder(proto, "native")


@pytest.mark.parametrize("kernel", KERNELS)
def test_piece_of_characters_without_pieces_encodes_as_in_the_library(kernel: str) -> None:
    check(bpe_model(*normal({"▁": 0, "xy": -1, "xyz": -2})), ["xyz", "xyzx yx zz", "z xy z", "  "], kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_adjacent_unknown_characters_are_one_piece(kernel: str) -> None:
    check(bpe_model(*normal({"a": 0})), ["x y", "xx  yy a zz", "a", " ", "x" * 70 + " " + "y" * 70], kernel)


@pytest.mark.skipif(not is_installed(bpe.COMPILED), reason="not compiled")
def test_invalid_arguments_are_refused() -> None:
    from tokbench.native._character_bpe import Encoder

    flags = (
        "add_dummy_prefix",
        "remove_extra_whitespaces",
        "escape_whitespaces",
        "treat_whitespace_as_suffix",
    )

    def make(pieces: list[bytes], kinds: list[int], *, unknown: int = 0, byte_ids: Any = None) -> None:
        scores = np.zeros(len(kinds), np.float32)
        options = dict.fromkeys(flags, False)
        Encoder(
            pieces,
            scores,
            np.array(kinds, np.uint8),
            unknown=unknown,
            byte_ids=byte_ids,
            charsmap=b"",
            **options,
        )

    make([b"<unk>"], [2])
    for pieces, kinds, more in (
        ([b"a", b"b"], [2], {}),
        ([b""], [2], {}),
        ([b"a"], [7], {}),
        ([b"a"], [0], {}),
        ([b"a"], [1], {"unknown": 1}),
        ([b"\xff\xfe"], [1], {}),
        ([b"a"], [1], {"byte_ids": np.zeros(3, np.uint32)}),
    ):
        with pytest.raises(ValueError, match=r"."):
            make(pieces, kinds, **more)
