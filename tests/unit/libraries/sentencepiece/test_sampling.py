"""Tests for samples and the best segmentations of SentencePiece tokenizers."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import pytest
import sentencepiece
from support.sentencepiece_models import scored, unknown, variant, written

from tokbench.errors import ConfigError
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece.models import SentencePieceBpeTokenizer, UnigramTokenizer, open_model
from tokbench.libraries.sentencepiece.sampling import Lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer


def library(tokenizer: SentencePieceTokenizer) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)


SCORES = {"▁": -1.5, "a": -2.0, "b": -2.5, "ab": -3.0, "▁a": -2.25, "aab": -4.0, "▁aa": -4.5}


def unigram_by_hand() -> UnigramTokenizer:
    tokenizer = open_model(written([unknown(), *scored(SCORES)]), name="mine")
    assert isinstance(tokenizer, UnigramTokenizer)
    return tokenizer


def ways(text: str) -> Iterator[tuple[str, ...]]:
    """Yield every segmentation of a text into pieces."""
    if not text:
        yield ()
    for piece in SCORES:
        if text.startswith(piece):
            for rest in ways(text[len(piece) :]):
                yield (piece, *rest)


def score_of(pieces: tuple[str, ...]) -> float:
    return sum(SCORES[piece] for piece in pieces)


def pieces_of(tokenizer: SentencePieceTokenizer, ids: list[int]) -> tuple[str, ...]:
    return tuple(tokenizer.model.pieces[id].text for id in ids)


def test_n_best_equals_the_best_of_all_segmentations() -> None:
    tokenizer = unigram_by_hand()
    expected = sorted(map(score_of, ways("▁aab")), reverse=True)
    assert len(expected) == 6
    best = tokenizer.n_best("aab", n=100)
    assert [candidate.score for candidate in best] == pytest.approx(expected)
    for each in best:
        assert each.score == pytest.approx(score_of(pieces_of(tokenizer, each.segmentation.ids)))
        assert each.segmentation.tokens[-1].span.stop == 3
    assert best[0].segmentation == tokenizer.segment("aab")
    for n in (1, 2, 3):
        assert [candidate.score for candidate in tokenizer.n_best("aab", n=n)] == pytest.approx(expected[:n])


def test_empty_text_has_one_segmentation() -> None:
    (only,) = unigram_by_hand().n_best("", n=3)
    assert only.segmentation.tokens == ()
    assert only.score == 0


def chances(alpha: float, among: list[tuple[str, ...]]) -> dict[tuple[str, ...], float]:
    weights = {pieces: math.exp(alpha * score_of(pieces)) for pieces in among}
    total = sum(weights.values())
    return {pieces: weight / total for pieces, weight in weights.items()}


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("nbest_size", [None, -1, 4])
def test_unigram_samples_follow_their_probabilities(alpha: float, nbest_size: int | None) -> None:
    tokenizer = unigram_by_hand()
    by_score = sorted(ways("▁aab"), key=score_of, reverse=True)
    expected = chances(alpha, by_score[:nbest_size] if nbest_size == 4 else by_score)
    draws = 3000
    drawn = Counter(
        pieces_of(tokenizer, tokenizer.sample("aab", seed=seed, alpha=alpha, nbest_size=nbest_size))
        for seed in range(draws)
    )
    assert set(drawn) == set(expected)
    for pieces, chance in expected.items():
        deviation = math.sqrt(draws * chance * (1 - chance))
        assert abs(drawn[pieces] - draws * chance) < 4.5 * deviation


def test_user_defined_symbols_have_the_scores_of_the_library_in_samples() -> None:
    symbols = [ModelPiece(text, 0.0, PieceType.USER_DEFINED) for text in ("ab", "ä", "yab")]
    pieces = [unknown(), *symbols, *scored({"▁": -1.0, "a": -1.0, "b": -2.0, "y": -1.0})]
    proto = written(pieces, trainer={"model_type": 1})
    lexicon = Lexicon.of(parse_model(proto))
    library = sentencepiece.SentencePieceProcessor(model_proto=proto)
    found = library.nbest_encode_as_proto("yabä", 4).nbests
    assert len(found) == 3
    for candidate in found:
        assert candidate.score == pytest.approx(
            sum(lexicon.scores[piece.piece] for piece in candidate.pieces)
        )


def test_candidates_are_all_pieces_at_a_position() -> None:
    usual = scored({"a": -1.0, "ab": -2.0, "abab": -3.0, "ba": -4.0, "▁": -5.0, "▁a": -6.0})
    unused = [ModelPiece("baba", 0.0, PieceType.UNUSED), ModelPiece("é", 0.0, PieceType.UNUSED)]
    lexicon = Lexicon.of(parse_model(written([unknown(), *usual, *unused], trainer={"model_type": 1})))
    text = "▁ababaé▁bab"
    for start, character in enumerate(text):
        matching = {piece.text: piece.score for piece in usual if text.startswith(piece.text, start)}
        expected = {character: lexicon.unknown_score} | matching
        found = {text[start:stop]: score for stop, score in lexicon.candidates(text, start)}
        assert found == expected
        assert lexicon.reach(text, start) == start + max(map(len, expected))


def test_bpe_dropout_drops_merges_with_the_given_probability() -> None:
    proto = written([unknown(), *scored({"ab": 0, "▁": -1, "a": -2, "b": -3})], trainer={"model_type": 2})
    tokenizer = open_model(proto, name="mine")
    assert isinstance(tokenizer, SentencePieceBpeTokenizer)
    draws = 2000
    merged = sum(len(tokenizer.sample("ab", seed=seed, alpha=0.3)) == 2 for seed in range(draws))
    assert abs(merged - 0.7 * draws) < 4.5 * math.sqrt(draws * 0.21)
    assert tokenizer.sample("ab", seed=1, alpha=0.0) == tokenizer.encode("ab")
    assert len(tokenizer.sample("abab", seed=1, alpha=1.0)) == 5


def test_unused_pieces_are_merged_through_but_never_returned() -> None:
    pieces = [
        unknown(),
        ModelPiece("ab", 0, PieceType.UNUSED),
        *scored({"abc": -1, "▁": -2, "a": -3, "b": -4, "c": -5}),
    ]
    tokenizer = open_model(written(pieces, trainer={"model_type": 2}), name="mine")
    assert isinstance(tokenizer, SentencePieceBpeTokenizer)
    for text, expected in ("abc", ("▁", "abc")), ("ab", ("▁", "a", "b")):
        assert pieces_of(tokenizer, tokenizer.encode(text)) == expected
        assert tokenizer.sample(text, seed=0, alpha=0.0) == tokenizer.encode(text)


@pytest.mark.parametrize(("model_type", "alpha"), [(ModelType.BPE, 0.0), (ModelType.UNIGRAM, 1.0)])
@pytest.mark.parametrize("has_bytes", [False, True])
def test_characters_of_unused_pieces_are_unknown(
    model_type: ModelType, alpha: float, *, has_bytes: bool
) -> None:
    unused = ModelPiece("b", -1.0, PieceType.UNUSED)
    byte_pieces = [ModelPiece(f"<0x{byte:02X}>", 0.0, PieceType.BYTE) for byte in range(256)]
    proto = written(
        [unknown(), *scored({"▁": -1.0, "a": -2.0}), unused, *(byte_pieces if has_bytes else [])],
        trainer={"model_type": model_type, "byte_fallback": has_bytes},
        normalizer={"add_dummy_prefix": False},
    )
    tokenizer = open_model(proto, name="mine")
    assert isinstance(tokenizer, SentencePieceBpeTokenizer | UnigramTokenizer)
    expected = [2, 4 + ord("b"), 4 + ord("b"), 2] if has_bytes else [2, 0, 2]
    assert tokenizer.encode("abba") == expected
    assert tokenizer.sample("abba", seed=0, alpha=alpha) == expected


def test_samples_repeat_with_their_seed() -> None:
    text = "the quick brown fox jumps over the lazy dog"
    for name in ("bpe", "unigram", "unigram as t5"):
        tokenizer = variant(name)
        samples = [tokenizer.sample(text, seed=seed) for seed in range(20)]
        assert samples == [tokenizer.sample(text, seed=seed) for seed in range(20)]
        assert len(set(map(tuple, samples))) > 5
        assert all(tokenizer.decode(ids) == text for ids in samples)


@pytest.mark.parametrize(
    "arguments", [{"alpha": -0.1}, {"alpha": math.nan}, {"nbest_size": 0}, {"nbest_size": -2}]
)
def test_invalid_sampling_options_are_refused(arguments: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        variant("unigram").sample("a", seed=1, **arguments)
    with pytest.raises(ConfigError):
        variant("bpe").sample("a", seed=1, alpha=1.5)
    with pytest.raises(ConfigError, match="nbest_size"):
        variant("bpe").sample("a", seed=1, nbest_size=3)
    with pytest.raises(ConfigError):
        variant("unigram").n_best("a", n=0)


@pytest.mark.real
def test_real_model_can_sample(shared: Path) -> None:
    proto = (shared / "vocab" / "t5-base" / "spiece.model").read_bytes()
    tokenizer = open_model(proto, name="t5")
    assert isinstance(tokenizer, UnigramTokenizer)
    text = "Studies have been shown that owning a dog is good for you"
    assert tokenizer.sample(text, seed=1, alpha=100.0) == tokenizer.encode(text)
    assert tokenizer.decode(tokenizer.sample(text, seed=1, alpha=0.1)) == text
    assert [candidate.segmentation.ids for candidate in tokenizer.n_best(text, n=5)] == library(
        tokenizer
    ).nbest_encode(text, nbest_size=5)
