"""Tests for SentencePiece on the page: hand-made models, and trained models on any text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.page_tokenizers import assert_same_ids, opened
from support.segmentations import HARD_TEXTS
from support.sentencepiece_models import VARIANTS, charsmap, scored, training_text, unknown, variant, written

from tokbench.convert.proof_texts import generated_texts
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import PageError
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.play_page.tokenizer_data import tokenizer_data

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from support.page_engine import Engine

    from tokbench.opening.request import Opened

MODELS = [name for name in VARIANTS if not name.startswith(("word", "char"))]
SPACES = st.text(" \u2581\u3000\u00a0\t\nab.Ａﬁ", max_size=12)


def kept(engine: Engine, path: Path, proto: bytes) -> Opened:
    """Write and open a model, and register it with the engine as "mine"."""
    path.write_bytes(proto)
    mine = opened(path)
    engine.call("keep", "mine", tokenizer_data(mine, name="mine").to_json())
    return mine


@pytest.fixture(scope="module", params=MODELS)
def tokenizer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine
) -> Opened:
    path = tmp_path_factory.mktemp("sentencepiece") / "spiece.model"
    return kept(engine, path, variant(request.param).proto)


def hand_made(
    engine: Engine, folder: Path, pieces: Sequence[ModelPiece], *, type: int, **options: bool
) -> Opened:
    normalizer = {"add_dummy_prefix": True, **options}
    proto = written(pieces, trainer={"model_type": type}, normalizer=normalizer)
    return kept(engine, folder / "hand.model", proto)


def test_best_segmentation_has_the_highest_score(engine: Engine, tmp_path: Path) -> None:
    scores = {"▁": -2.0, "a": -3.0, "b": -3.0, "▁a": -4.0, "ab": -1.5}
    hand_made(engine, tmp_path, [unknown(), *scored(scores)], type=1)
    encoded = engine.call("encode", "mine", "ab a", "text")
    assert encoded == {"ids": [1, 5, 4], "spans": [[0, 0], [0, 2], [2, 4]]}
    shown = engine.call("steps", "mine", "▁ab".encode().decode("latin-1"), [1, 5])
    assert [label for label, _ in shown] == ["the best segmentation: -3.500", "-2.000", "-1.500"]
    assert engine.call("steps", "mine", "xy", [0])[1:] == [
        ["-14.000, no piece", "x"],
        ["-14.000, no piece", "y"],
    ]
    assert engine.call("steps", "mine", "ab", [2, 3]) == [["split together with the words around it", "a|b"]]


def test_adjacent_unknown_characters_are_one_token(engine: Engine, tmp_path: Path) -> None:
    for type in (1, 2):
        mine = hand_made(engine, tmp_path, [unknown(), *scored({"▁": -1.0, "a": -2.0})], type=type)
        encoded = engine.call("encode", "mine", "xyéa x", "text")
        assert encoded["ids"] == mine.tokenizer.encode("xyéa x") == [1, 0, 2, 1, 0]
        assert encoded["spans"] == [list(token.span) for token in mine.tokenizer.segment("xyéa x").tokens]


def test_best_pair_is_merged_first_and_symbols_never(engine: Engine, tmp_path: Path) -> None:
    pieces = [
        *(
            unknown(),
            *scored({"▁": -9.0, "a": -8.0, "b": -7.0, "ab": -1.0, "ba": -0.5, "aab": -0.1, "baa": -0.2}),
        ),
        ModelPiece("aa", 0.0, PieceType.USER_DEFINED),
    ]
    mine = hand_made(engine, tmp_path, pieces, type=2, add_dummy_prefix=False)
    for text in ("abab", "aaab", "baab", "aabaa ba"):
        assert engine.call("encode", "mine", text, "text")["ids"] == mine.tokenizer.encode(text)
    assert engine.call("encode", "mine", "abab", "text")["ids"] == [2, 5, 3]
    assert engine.call("steps", "mine", "aba") == [["its characters", "a|b|a"], ["rank 2", "a|ba"]]


def test_unused_piece_is_split_again(engine: Engine, tmp_path: Path) -> None:
    pieces = [unknown(), *scored({"▁": -9.0, "a": -8.0, "b": -7.0}), ModelPiece("ab", -1.0, PieceType.UNUSED)]
    mine = hand_made(engine, tmp_path, pieces, type=2)
    assert engine.call("encode", "mine", "ab", "text")["ids"] == mine.tokenizer.encode("ab") == [1, 2, 3]
    assert engine.call("steps", "mine", "ab")[-1] == ["unused pieces, split again", "a|b"]


@pytest.mark.parametrize("rule", ["identity", "nfkc", "nmt_nfkc", "nmt_nfkc_cf"])
@pytest.mark.parametrize("removes", [True, False])
def test_texts_are_normalized_by_the_table(engine: Engine, tmp_path: Path, rule: str, removes: bool) -> None:
    letters = dict.fromkeys("▁aAbfi.é", -1.0)
    proto = written(
        [unknown(), *scored(letters)],
        trainer={"model_type": 1},
        normalizer={"precompiled_charsmap": charsmap(rule), "remove_extra_whitespaces": removes},
    )
    mine = kept(engine, tmp_path / "table.model", proto)
    texts = ["", " ", "  a  b ", "\u3000a\u00a0 ", "ﬁＡ\u200b", "e\u0301 ▁", "a\n\tb", "ﾊﾞ", "\x00a\x01"]
    for text in texts:
        assert engine.call("encode", "mine", text, "text")["ids"] == mine.tokenizer.encode(text)


@given(
    text=st.one_of(HARD_TEXTS, SPACES, st.text("the <s>cat</s> 1 안é", max_size=30)),
    policy=st.sampled_from([SpecialPolicy.TEXT, SpecialPolicy.ENCODE]),
)
def test_ids_and_spans_equal_the_tokenizers(
    engine: Engine, tokenizer: Opened, text: str, policy: SpecialPolicy
) -> None:
    encoded = engine.call("encode", "mine", text, policy.value)
    wanted = tokenizer.tokenizer.segment(text, special=policy)
    assert encoded["ids"] == wanted.ids
    assert encoded["spans"] == [list(token.span) for token in wanted.tokens]


@pytest.mark.parametrize("text", ["a" * 20_000, " " * 20_000, "the cat " * 20_000, "안" * 10_000])
def test_long_texts_round_as_in_the_library(engine: Engine, tokenizer: Opened, text: str) -> None:
    assert engine.call("encode", "mine", text, "text")["ids"] == tokenizer.tokenizer.encode(text)


def test_score_sums_restart_as_in_the_library(engine: Engine, tokenizer: Opened) -> None:
    text = "\n".join(training_text()) * (8 if tokenizer.tokenizer.info.backend == "unigram" else 1)
    assert engine.call("encode", "mine", text, "text")["ids"] == tokenizer.tokenizer.encode(text)


def test_word_model_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "word.model"
    path.write_bytes(written([unknown(), *scored({"▁a": -1.0})], trainer={"model_type": 3}))
    with pytest.raises(PageError, match="this SentencePiece model: its pieces are words"):
        tokenizer_data(opened(path), name="mine")


@pytest.mark.slow
def test_ten_thousand_generated_texts_have_the_same_ids(engine: Engine, tokenizer: Opened) -> None:
    specials = sorted(tokenizer.tokenizer.info.special_tokens)
    texts = [text for seed in range(4) for text in generated_texts(specials, seed=100 + seed)]
    assert len(texts) >= 10_000
    assert_same_ids(engine, tokenizer, texts)
