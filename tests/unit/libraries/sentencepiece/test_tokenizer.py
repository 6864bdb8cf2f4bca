"""Tests for SentencePiece tokenizers: bytes, spans, kinds, special tokens, scores and samples."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import sentencepiece
from support.sentencepiece_models import VARIANTS, scored, unknown, variant, written
from support.texts import bundled_texts

from tokbench.core.capabilities import SupportsSampling
from tokbench.core.descriptions import DescribesItself, SentencePieceModel
from tokbench.core.tokens import Span, SpecialPolicy, TokenKind
from tokbench.errors import ConfigError, ModelFormatError, SpecialTokenError, TextError, UnknownIdError
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece.models import SentencePieceBpeTokenizer, UnigramTokenizer, open_model
from tokbench.libraries.sentencepiece.sampling import Lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer


def library(tokenizer: SentencePieceTokenizer) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)


def shown(tokenizer: SentencePieceTokenizer, text: str) -> list[tuple[bytes, str]]:
    """Return each token's piece and the text that its span covers."""
    data = text.encode()
    return [
        (token.piece, data[token.span.start : token.span.stop].decode(errors="backslashreplace"))
        for token in tokenizer.segment(text).tokens
    ]


# --- parity with the library ------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_ids_and_text_equal_the_librarys(name: str) -> None:
    tokenizer = variant(name)
    peer = library(tokenizer)
    lines = [line for text in bundled_texts().values() for line in text.splitlines()[:12]]
    batch = tokenizer.encode_batch(lines, threads=2)
    for line, row in zip(lines, batch, strict=True):
        ids = peer.encode(line)
        assert tokenizer.encode(line) == row.tolist() == ids
        assert tokenizer.decode(ids) == peer.decode(ids)


@pytest.mark.parametrize("name", ["bpe", "unigram as t5"])
def test_any_ids_decode_as_in_the_library(name: str) -> None:
    tokenizer = variant(name)
    peer = library(tokenizer)
    ordinary = sorted(set(range(tokenizer.info.vocab_size)) - set(tokenizer.info.special_tokens.values()))
    compared = 0
    for size in range(1, 6):
        for start in range(0, len(ordinary) - size, 7):
            ids = ordinary[start : start + size]
            expected = tokenizer.decode_bytes(ids)
            if "\ufffd" not in expected.decode(errors="replace"):  # the two differ on incomplete characters
                assert expected.decode() == peer.decode(ids)
                compared += 1
    assert compared > 50


# --- spans, pieces and kinds ------------------------------------------------------------------


def test_dummy_prefix_joins_a_piece_or_has_an_empty_span() -> None:
    tokenizer = open_model(written([unknown(), *scored({"▁": -4, "▁a": -1, "b": -2})]), name="mine")
    assert shown(tokenizer, "ab") == [(b" a", "a"), (b"b", "b")]
    assert shown(tokenizer, "b") == [(b" ", ""), (b"b", "b")]
    assert shown(tokenizer, " b") == [(b" ", ""), (b" ", " "), (b"b", "b")]


def test_each_byte_of_a_byte_fallback_has_its_own_span() -> None:
    tokens = variant("bpe").segment("a😀b").tokens
    fallback = [token for token in tokens if token.kind is TokenKind.BYTE]
    assert [(token.piece, token.span) for token in fallback] == [
        (b"\xf0", Span(1, 2)),
        (b"\x9f", Span(2, 3)),
        (b"\x98", Span(3, 4)),
        (b"\x80", Span(4, 5)),
    ]


def test_bytes_of_a_normalized_character_share_its_span() -> None:
    tokenizer = variant("bpe folded")
    # NFKC turns U+337F into four characters, which share one place in the text.
    tokens = [token for token in tokenizer.segment("a㍿b").tokens if token.kind is TokenKind.BYTE]
    assert b"".join(token.piece for token in tokens) == "株式会社".encode()
    assert {token.span for token in tokens} == {Span(1, 1), Span(1, 4)}
    assert tokens[-1].span == Span(1, 4)


def test_adjacent_unknown_characters_are_one_token() -> None:
    tokenizer = variant("unigram without bytes")
    (token,) = [each for each in tokenizer.segment("a日本語b").tokens if each.kind is TokenKind.UNKNOWN]
    assert token.span == Span(1, 10)
    assert token.piece == tokenizer.token_bytes(token.id) == " ⁇ ".encode()


def test_removed_white_space_is_in_the_span_of_the_kept_space() -> None:
    tokenizer = open_model(
        written(
            [unknown(), *scored({"▁": -4, "▁a": -1, "▁b": -2})], normalizer={"remove_extra_whitespaces": True}
        ),
        name="mine",
    )
    assert shown(tokenizer, "  a   b ") == [(b" a", "a"), (b" b", "   b")]
    assert tokenizer.decode(tokenizer.encode("  a   b ")) == "a b"


def test_user_defined_symbols_have_kind_special_and_match_in_every_text() -> None:
    tokenizer = variant("bpe with symbols")
    tokens = tokenizer.segment("x<sep>y").tokens
    assert [(token.piece, token.kind) for token in tokens if token.kind is TokenKind.SPECIAL] == [
        (b"<sep>", TokenKind.SPECIAL)
    ]
    assert "<sep>" not in tokenizer.info.special_tokens


def test_spelling_of_a_byte_piece_is_text() -> None:
    tokenizer = variant("bpe")
    assert all(token.kind is TokenKind.NORMAL for token in tokenizer.segment("<0x0A><unk>").tokens)
    assert tokenizer.decode(tokenizer.encode("<0x0A><unk>")) == "<0x0A><unk>"


# --- special tokens ---------------------------------------------------------------------------


def test_control_symbols_are_ordinary_text_by_default() -> None:
    tokenizer = variant("bpe")
    assert tokenizer.info.special_tokens == {"<s>": 1, "</s>": 2}
    assert {1, 2}.isdisjoint(tokenizer.encode("<s>hi</s>"))
    assert tokenizer.decode(tokenizer.encode("<s>hi</s>")) == "<s>hi</s>"


def test_control_symbols_are_encoded_if_requested() -> None:
    tokenizer = variant("bpe as llama")
    text = "<s>hello<|a|> world[X]</s>"
    ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
    assert [id for id in ids if id in (1, 2, 3, 4)] == [1, 3, 4, 2]
    assert tokenizer.decode(ids) == text  # each part is decoded without its dummy prefix
    with pytest.raises(SpecialTokenError):
        tokenizer.encode(text, special=SpecialPolicy.RAISE)


# --- tokens ----------------------------------------------------------------------------------


def test_tokens_are_found_by_their_bytes() -> None:
    tokenizer = variant("bpe")
    assert tokenizer.token_id(b"er") == library(tokenizer).piece_to_id("er") > 0
    assert tokenizer.token_id(b" the") == library(tokenizer).piece_to_id("▁the")
    assert tokenizer.token_id(b"\xe2") == 3 + 0xE2
    assert tokenizer.token_id(b"a") == library(tokenizer).piece_to_id("a") != 3 + ord("a")
    assert tokenizer.token_id(b"<s>") == 1
    assert tokenizer.token_id("▁the".encode()) is None
    with pytest.raises(UnknownIdError):
        tokenizer.token_bytes(700)


def test_only_normal_pieces_have_scores() -> None:
    tokenizer = variant("unigram")
    peer = library(tokenizer)
    id = peer.piece_to_id("▁")
    assert tokenizer.score(id) == peer.get_score(id)
    assert tokenizer.score(0) is None
    assert tokenizer.score(3) is None
    with pytest.raises(UnknownIdError):
        tokenizer.score(700)


def test_capabilities_depend_on_the_algorithm() -> None:
    bpe, unigram = variant("bpe"), variant("unigram")
    assert isinstance(bpe, SentencePieceBpeTokenizer)
    assert isinstance(unigram, UnigramTokenizer)
    for tokenizer in (bpe, unigram):
        assert isinstance(tokenizer, SupportsSampling)
        assert isinstance(tokenizer, DescribesItself)
        assert tokenizer.description() == SentencePieceModel(tokenizer.proto, {"<s>": 1, "</s>": 2})


def test_word_and_character_models_open() -> None:
    for model_type in (3, 4):
        proto = written(
            [unknown(), *scored({"▁a": -1, "▁": -2, "b": -3})], trainer={"model_type": model_type}
        )
        tokenizer = open_model(proto, name="mine")
        assert tokenizer.info.backend == "sentencepiece"
        assert not isinstance(tokenizer, SupportsSampling)
        assert tokenizer.encode("a b") == library(tokenizer).encode("a b")


def test_model_that_only_the_library_refuses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise RuntimeError("INTERNAL: some check of a newer version")

    proto = written([unknown(), *scored({"a": -1})])
    monkeypatch.setattr(sentencepiece, "SentencePieceProcessor", refuse)
    with pytest.raises(ModelFormatError, match="a newer version"):
        open_model(proto, name="mine")


@pytest.mark.parametrize("name", ["bpe", "unigram"])
def test_lone_surrogate_is_refused(name: str) -> None:
    tokenizer = variant(name)
    with pytest.raises(TextError):
        tokenizer.sample("a\ud800", seed=1)
    with pytest.raises(TextError):
        tokenizer.encode_batch(["a", "a\ud800"])


# --- n-best and samples -----------------------------------------------------------------------

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


# --- real models ------------------------------------------------------------------------------


@pytest.mark.real
@pytest.mark.parametrize("name", ["mistral/tokenizer.model.v1", "t5-base/spiece.model"])
def test_real_models_encode_and_decode_as_in_the_library(shared: Path, name: str) -> None:
    proto = (shared / "vocab" / name).read_bytes()
    tokenizer = open_model(proto, name="real")
    peer = library(tokenizer)
    assert tokenizer.info.vocab_size == 32000
    is_exact = name.startswith("mistral")
    for text in bundled_texts().values():
        for line in text.splitlines(keepends=True)[:40]:
            ids = peer.encode(line)
            tokens = tokenizer.segment(line).tokens
            assert [token.id for token in tokens] == tokenizer.encode(line) == ids
            assert tokenizer.decode(ids) == peer.decode(ids)
            spans = [token.span for token in tokens]
            assert all(one.start <= two.start and one.stop <= two.stop for one, two in pairwise(spans))
            assert all(0 <= span.start <= span.stop <= len(line.encode()) for span in spans)
            if is_exact and "▁" not in line:
                assert tokenizer.decode(ids) == line
                covered = b"".join(line.encode()[span.start : span.stop] for span in spans)
                assert covered == line.encode()


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
