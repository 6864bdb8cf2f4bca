"""Tests that Unigram on the compiled and the Python kernel gives the library's ids, for any scores and options."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sentencepiece
from hypothesis import assume, given
from hypothesis import strategies as st
from support.sentencepiece_models import (
    assert_spans_equal_the_librarys,
    charsmap,
    scored,
    training_text,
    unknown,
    variant,
    written,
)
from support.texts import characters_in_use, texts

from tokbench.explain.assembling import explain
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece import unigram
from tokbench.libraries.sentencepiece.models import open_model
from tokbench.libraries.sentencepiece.unigram_fallback import ScoredPieces, best_cuts
from tokbench.native.kernel_choice import is_installed

if TYPE_CHECKING:
    from tokbench.core.kernel_or_library import KernelEncoder

KERNELS = [
    "python",
    pytest.param(
        "native", marks=pytest.mark.skipif(not is_installed(unigram.COMPILED), reason="not compiled")
    ),
]
TRAINED = {
    "as t5": {"normalization_rule_name": "nmt_nfkc", "vocab_size": 500},
    "folded, with bytes": {
        "normalization_rule_name": "nmt_nfkc_cf",
        "vocab_size": 700,
        "byte_fallback": True,
    },
    "spaces kept": {
        "normalization_rule_name": "identity",
        "vocab_size": 600,
        "remove_extra_whitespaces": False,
        "byte_fallback": True,
        "allow_whitespace_only_pieces": True,
    },
    "spaces kept, no prefix": {
        "normalization_rule_name": "nfkc",
        "vocab_size": 500,
        "remove_extra_whitespaces": False,
        "add_dummy_prefix": False,
    },
    "symbols": {"vocab_size": 500, "user_defined_symbols": ["<sep>", "the", "ab", "▁▁"]},
    "spaces after": {"vocab_size": 500, "treat_whitespace_as_suffix": True},
    "across spaces": {"vocab_size": 500, "split_by_whitespace": False, "normalization_rule_name": "identity"},
    "no prefix": {"vocab_size": 500, "add_dummy_prefix": False},
}
CUTS = {
    "as t5": "at white space",
    "folded, with bytes": "at white space",
    "spaces kept": "before spaces",
    "spaces kept, no prefix": "before spaces",
    "spaces after": "nowhere",
    "across spaces": "nowhere",
    "no prefix": "nowhere",
}
FRAGMENTS = [
    *["the", "  ", "▁", "▁▁", "\n", "\t", "\u3000", "\u00a0", "\u200b"],
    *["<sep>", "ab", "日本", "ﷺ", "é", "e\u0301"],
]
any_text = st.one_of(texts, st.lists(st.sampled_from(FRAGMENTS) | texts, max_size=8).map("".join))


@cache
def trained(name: str) -> bytes:
    import io

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(training_text()),
        model_writer=model,
        model_type="unigram",
        hard_vocab_limit=False,
        minloglevel=2,
        **TRAINED[name],
    )
    return model.getvalue()


@lru_cache(maxsize=32)
def peer(proto: bytes) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=proto)


def new_encoder(proto: bytes, kernel: str) -> Any:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TOKBENCH_KERNEL", kernel)
        return unigram.new_encoder(parse_model(proto))


@lru_cache(maxsize=32)
def encoder(proto: bytes, kernel: str) -> KernelEncoder:
    return new_encoder(proto, kernel)


def check(proto: bytes, kernel: str, given_texts: list[str]) -> None:
    """Compare the ids of single texts and of a batch on two threads, and the batch's counts, with the library's."""
    expected = peer(proto).encode(given_texts)
    ours = encoder(proto, kernel)
    assert [ours.encode(text) for text in given_texts] == expected
    ids, offsets = ours.encode_batch(given_texts, 2)
    assert np.diff(offsets).tolist() == list(map(len, expected))
    assert ids.tolist() == [id for row in expected for id in row]
    assert ours.count_batch(given_texts, 2).tolist() == list(map(len, expected))


# --- by hand ----------------------------------------------------------------------------------


def test_highest_score_wins_and_ties_go_to_the_longer_piece() -> None:
    pieces = {b"a": (1, np.float32(-1)), b"b": (2, np.float32(-2)), b"ab": (3, np.float32(-3))}
    vocabulary = ScoredPieces(pieces, 0, np.float32(-13))
    assert [cut.id for cut in best_cuts(b"ab", vocabulary)] == [3]
    better = ScoredPieces({**pieces, b"b": (2, np.float32(-1.9))}, 0, np.float32(-13))
    assert [cut.id for cut in best_cuts(b"ab", better)] == [1, 2]


@pytest.mark.parametrize("kernel", KERNELS)
def test_preceding_words_can_change_the_segmentation_of_a_word(kernel: str) -> None:
    scores = {"▁": -20, "▁ab": -1, "▁a": -0.5, "b": -0.499, "▁x": -90.0}
    proto = written([unknown(), *scored(scores)], normalizer={"remove_extra_whitespaces": True})
    alone, after = peer(proto).encode("ab"), peer(proto).encode("x " * 500 + "ab")[-1:]
    assert (alone, after) == ([3, 4], [2])
    check(proto, kernel, ["ab", "x " * 500 + "ab", "ab " * 3 + "x " * 500 + "ab ab"])


@pytest.mark.parametrize("kernel", KERNELS)
def test_preceding_words_can_change_the_segmentation_before_an_unknown_character(kernel: str) -> None:
    scores = {"▁": 25, "▁x": 90.0, "cb": 29.9995}  # an unknown character scores 15
    proto = written([unknown(), *scored(scores)], normalizer={"remove_extra_whitespaces": True})
    alone, after = peer(proto).encode("cbd"), peer(proto).encode("x " * 500 + "cbd")[-3:]
    assert (alone, after) == ([1, 0], [1, 3, 0])
    check(proto, kernel, ["cbd", "cbd " + "x " * 500 + "cbd", "acbd " + "x " * 500 + "acbd"])


@pytest.mark.parametrize("kernel", KERNELS)
def test_preceding_characters_of_a_word_can_change_its_segmentation(kernel: str) -> None:
    scores = {"▁": -20, "▁x": -35_000, "y": -35_000, "ab": -1, "a": -0.5, "b": -0.4971}
    proto = written([unknown(), *scored(scores)], normalizer={"remove_extra_whitespaces": True})
    assert peer(proto).encode("xyab") == [2, 3, 4]
    assert peer(proto).encode("ab") == [1, 5, 6]
    check(proto, kernel, ["xyab", "ab xyab"])


@pytest.mark.parametrize("kernel", KERNELS)
def test_score_sums_restart_beyond_a_hundred_thousand(kernel: str) -> None:
    scores = {"▁": -20, "▁x": -900.5, "x": -901.25, "xx": -1801.74, "▁ab": -1, "▁a": -0.5, "b": -0.499}
    proto = written([unknown(), *scored(scores)], normalizer={"remove_extra_whitespaces": True})
    check(proto, kernel, [" ".join(["x"] * count + ["ab", "xxx"] * 3) for count in range(105, 116)])
    check(proto, kernel, ["x" * 300 + " ab", "q" * 120 + " ab ab"])


@pytest.mark.skipif(not is_installed(unigram.COMPILED), reason="not compiled")
def test_kernel_counts_words_decided_by_rounding() -> None:
    scores = {"▁": -20, "▁ab": -1, "▁a": -0.5, "b": -0.48, "▁x": -90.0}
    proto = written([unknown(), *scored(scores)], normalizer={"remove_extra_whitespaces": True})
    ours = new_encoder(proto, "native")
    ours.encode("ab x")
    assert (ours.words, ours.doubtful_words) == (2, 0)
    ours.encode("x " * 800 + "ab ab")
    assert (ours.words, ours.doubtful_words) == (804, 2)


def test_model_without_normal_pieces_is_left_to_the_library() -> None:
    proto = written([unknown(), ModelPiece("a", 0.0, PieceType.USER_DEFINED)])
    assert unigram.library_reason(parse_model(proto)) == "it has no normal pieces, or no unknown one"


@pytest.mark.parametrize("kernel", KERNELS)
def test_nul_encodes_as_in_the_library(kernel: str) -> None:
    check(trained("as t5"), kernel, ["the\0the", "the\0", "\0the", "a\0b", "th\0\0e"])


@pytest.mark.parametrize("kernel", KERNELS)
def test_adjacent_unknown_characters_of_one_replacement_are_one_piece(kernel: str) -> None:
    scores = {"▁": -2, "i": -1, "k": -3, "a": -1.5}
    proto = written([unknown(), *scored(scores)], normalizer={"precompiled_charsmap": charsmap("nmt_nfkc")})
    assert peer(proto).encode("ki\u0300i\u0301a") == [1, 3, 0, 4]
    check(proto, kernel, ["ki\u0300i\u0301a", "漢i\u0300", "i\u0300漢ki", "漢i"])


@pytest.mark.parametrize("kernel", KERNELS)
def test_words_are_split_only_where_no_piece_crosses(kernel: str) -> None:
    scores = {
        "▁": -2,
        "a": -3,
        "b": -3,
        "ab": -4,
        "▁ab": -5,
        ",": -2,
        "(": -2.5,
        "▁(": -3,
        ",,": -3.5,
        "'": -2,
        "'b": -4,
    }
    proto = written([unknown(), *scored(scores)])
    assert peer(proto).encode("(ab,,ab%%") == [8, 4, 9, 4, 0]  # '%%' is one unknown token
    check(
        proto,
        kernel,
        ["ab,ab (ab,,ab) a'b,a'b", "(ab,ab (ab", "ab%,%%(%ab", "%%ab", "ab,漢,漢漢(ab", "(" * 20 + "ab" * 20],
    )


# --- against the library ----------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", TRAINED)
@given(data=st.data())
def test_trained_models_encode_as_in_the_library(name: str, kernel: str, data: st.DataObject) -> None:
    check(trained(name), kernel, data.draw(st.lists(any_text, max_size=4)))


@pytest.mark.skipif(not is_installed(unigram.COMPILED), reason="not compiled")
@pytest.mark.parametrize("name", TRAINED)
@given(given_texts=st.lists(any_text, max_size=4))
def test_spans_of_the_kernel_equal_those_of_the_library(name: str, given_texts: list[str]) -> None:
    assert_spans_equal_the_librarys(trained(name), given_texts)


@pytest.mark.skipif(not is_installed(unigram.COMPILED), reason="not compiled")
@pytest.mark.parametrize("name", CUTS)
def test_cut_rule_follows_from_the_model(name: str) -> None:
    assert new_encoder(trained(name), "native").cut == CUTS[name]


@pytest.mark.skipif(not is_installed(unigram.COMPILED), reason="not compiled")
@pytest.mark.parametrize("name", TRAINED)
def test_long_texts_encode_as_in_the_library(name: str) -> None:
    text = "\n".join(training_text())
    check(
        trained(name),
        "native",
        [text, text * 8, text.replace(" ", ""), "a" * 20_000, "日本" * 5_000, " " * 9_000],
    )


EXACT = st.sampled_from([-1.0, -2.0, -3.0, -1.5, -4.0, -0.5, 0.0, -8.0])
SCORES = st.one_of(EXACT, st.floats(-12, 0, width=32), st.floats(-2000, 50, width=32))
TYPES = st.sampled_from([PieceType.NORMAL] * 6 + [PieceType.USER_DEFINED, PieceType.UNUSED])
ALPHABET = "ab▁日é"
OPTIONS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")


@st.composite
def models(draw: st.DrawFn) -> bytes:
    """Draw models over few letters, in which sums of scores are often equal."""
    spellings = draw(st.sets(st.text(ALPHABET, min_size=1, max_size=4), max_size=14))
    pieces = [ModelPiece(spelling, draw(SCORES), draw(TYPES)) for spelling in sorted(spellings | {"a"})]
    assume(any(piece.type is PieceType.NORMAL for piece in pieces))
    if draw(st.booleans()) and "▁" not in spellings:
        pieces.append(ModelPiece("▁", draw(SCORES), PieceType.NORMAL))
    has_bytes = draw(st.booleans())
    if has_bytes:
        pieces += [ModelPiece(f"<0x{byte:02X}>", 0.0, PieceType.BYTE) for byte in range(256)]
    options: dict[str, Any] = {
        name: draw(st.booleans())
        for name in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    }
    options["precompiled_charsmap"] = charsmap(draw(st.sampled_from(["identity", "nmt_nfkc"])))
    trainer = {"byte_fallback": has_bytes, "treat_whitespace_as_suffix": draw(st.integers(0, 5)) == 0}
    return written([unknown(), *pieces], trainer=trainer, normalizer=options)


@given(proto=models(), text=st.text(ALPHABET + " 漢", max_size=12))
def test_any_model_is_explained(proto: bytes, text: str) -> None:
    steps = explain(open_model(proto, name="mine"), text).steps
    assert [symbol.id for step in steps for symbol in step.trace.tokens] == peer(proto).encode(text)


@pytest.mark.parametrize("kernel", KERNELS)
@given(
    proto=models(),
    words=st.lists(
        st.text("ab日é", max_size=9)
        | st.text(ALPHABET + " \n漢", max_size=12)
        | st.text("abé漢字\u0301\u0300ﬁ\u00a0", max_size=9),
        max_size=6,
    ),
    repeats=st.sampled_from([1, 2, 40]),
)
def test_models_of_few_letters_encode_as_in_the_library(
    kernel: str, proto: bytes, words: list[str], repeats: int
) -> None:
    text = " ".join(words * (repeats if kernel == "native" else 2))
    check(proto, kernel, [text, *words])


@pytest.mark.skipif(not is_installed(unigram.COMPILED), reason="not compiled")
@pytest.mark.parametrize("cut", ["at spaces", "at white space", "before spaces", "nowhere"])
@given(text=st.text(" ab\t\n\r\v\0日", max_size=300).map(str.encode))
def test_every_simd_tier_cuts_at_the_same_places(cut: str, text: bytes) -> None:
    from tokbench.native import _unigram

    expected = _unigram.split(text, cut, "scalar").tolist()
    for tier in ("swar", "avx2", "avx512"):
        try:
            assert _unigram.split(text, cut, tier).tolist() == expected
        except ValueError as error:
            assert "processor" in str(error)


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(unigram.COMPILED), reason="not compiled")
@pytest.mark.parametrize("name", ["unigram", "unigram as t5"])
def test_every_character_encodes_as_in_the_library(name: str) -> None:
    proto = variant(name).proto
    characters = characters_in_use()
    step = 4096
    given_texts = [
        " ".join(f"a{character}b" for character in characters[start : start + step])
        for start in range(0, len(characters), step)
    ]
    check(proto, "native", given_texts)


def test_user_defined_symbols_are_scored_by_their_length_in_bytes() -> None:
    pieces = [ModelPiece("a", -1.5, PieceType.NORMAL), ModelPiece("äb", 0.0, PieceType.USER_DEFINED)]
    assert unigram.scores_in_text(pieces).tolist() == np.array([-1.5, 0.2], np.float32).tolist()
