"""Tokens of many texts in arrays: the fallback, the arrays themselves, and the fast paths."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import descriptions
from support.huggingface import DOCUMENTS
from support.sentencepiece_models import VARIANTS, scored, unknown, variant, written
from support.texts import bundled_texts, characters, texts

import tokbench
from tokbench.convert.conversion import Source
from tokbench.convert.targets.tokbin import make
from tokbench.core.base import BaseTokenizer
from tokbench.core.capabilities import SupportsSpans
from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.token_arrays import (
    KIND_NUMBERS,
    changed_ids,
    character_offsets,
    divided,
    encode_spans,
    segmented,
)
from tokbench.core.tokens import Encoded, Segmentation, Span, Token, TokenKind
from tokbench.errors import TextError
from tokbench.formats.sentencepiece.model import ModelType
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.formats.tokbin.reading import TokbinFile
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.sentencepiece.models import open_model
from tokbench.libraries.tiktoken import TiktokenTokenizer
from tokbench.opening.native_with_fallback import NativeBpeWithFallback
from tokbench.opening.tokbin import TokbinTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import EncodedSpans

AWKWARD = " ▁a\u0301é한ﬁ½…\t\nthe <sep>ab</s>⁇€\u200b\u3000\0"
awkward_texts = st.text(st.sampled_from(AWKWARD) | characters, max_size=20)


def of_lengths(texts: Sequence[str], *, factor: int = 1) -> Encoded:
    """Encode each character `factor` times, as its code point."""
    ids = [ord(character) for text in texts for character in text for _ in range(factor)]
    return Encoded(np.array(ids, np.uint32), np.cumsum([0, *(factor * len(text) for text in texts)]))


@pytest.mark.parametrize("factor", [0, 1, 2])
@given(some=st.lists(st.tuples(st.text(st.sampled_from("abc"), max_size=5), st.booleans()), max_size=12))
def test_ids_of_a_library_are_inserted_in_the_order_of_texts(
    factor: int, some: list[tuple[str, bool]]
) -> None:
    """Whether its texts have fewer ids than expected, as many, or more than there is room for."""
    texts = [text for text, _ in some] + ["x" * 80]
    theirs = [place for place, (_, is_theirs) in enumerate(some) if is_theirs]
    found = changed_ids(
        [f"{place}:{text}" for place, text in enumerate(texts)],
        change=lambda text: None if int(text.split(":")[0]) in theirs else text.split(":")[1],
        then=of_lengths,
        otherwise=lambda others: of_lengths([text.split(":")[1].upper() for text in others], factor=factor),
    )
    expected = [text.upper() * factor if place in theirs else text for place, text in enumerate(texts)]
    if factor == 2:
        expected = [
            "".join(2 * letter for letter in text.upper()) if place in theirs else text
            for place, text in enumerate(texts)
        ]
    assert found.offsets.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    assert found.ids.tolist() == list(map(ord, "".join(expected)))


@pytest.mark.parametrize("length", [1, 70_000, 200_000])
def test_many_ids_move_over_themselves(length: int) -> None:
    texts = ["abc" * length, "-" * 50, "d" * length, "-", "e"]
    found = changed_ids(
        texts, change=lambda text: None if "-" in text else text, then=of_lengths, otherwise=of_lengths
    )
    assert found.offsets.tolist() == np.cumsum([0, *map(len, texts)]).tolist()
    assert found.ids.tobytes() == of_lengths(texts).ids.tobytes()


class Letters(BaseTokenizer):
    """A third-party tokenizer without `SupportsSpans`: a token for each letter, and one for all other characters."""

    def __init__(self) -> None:
        super().__init__(
            TokenizerInfo(
                name="letters", backend="x", vocab_size=27, special_tokens={}, lossless=False, kernel="x"
            )
        )

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        start = 0
        for character in text:
            span = Span(start, start := start + len(character.encode()))
            if "a" <= character <= "z":
                yield Token(ord(character) - ord("a"), character.encode(), span, TokenKind.NORMAL)
            else:
                yield Token(26, b"?", span, TokenKind.UNKNOWN)

    def ordinary_bytes(self, id: int) -> bytes:
        return b"abcdefghijklmnopqrstuvwxyz?"[id : id + 1]

    def token_id(self, piece: bytes) -> int | None:
        raise NotImplementedError

    def save(self, directory: Any, *, overwrite: bool = False) -> None:
        raise NotImplementedError


def assert_same(arrays: EncodedSpans, expected: EncodedSpans) -> None:
    for one, other in (
        (arrays.encoded.ids, expected.encoded.ids),
        (arrays.encoded.offsets, expected.encoded.offsets),
        (arrays.starts, expected.starts),
        (arrays.stops, expected.stops),
        (arrays.kinds, expected.kinds),
    ):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def segmented_texts(tokenizer: Tokenizer, batch: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts of a batch that are segmented one by one."""
    seen: list[str] = []
    for name in ("segment", "segment_ordinary"):
        original = getattr(tokenizer, name)

        def noted(text: str, *rest: Any, original: Any = original, **options: Any) -> Any:
            if text not in seen:
                seen.append(text)
            return original(text, *rest, **options)

        monkeypatch.setattr(tokenizer, name, noted)
    encode_spans(tokenizer, batch)
    monkeypatch.undo()
    return seen


def trained(backend: str, **options: Any) -> Any:
    return tokbench.train([descriptions.TRAINING_TEXT], backend=backend, **options)


# The arrays


def test_tokenizer_without_spans_segments_each_text() -> None:
    assert not isinstance(Letters(), SupportsSpans)
    spans = encode_spans(Letters(), ["aé", "", "b"])
    assert [ids.tolist() for ids in spans.encoded] == [[0, 26], [], [1]]
    assert spans.starts.tolist() == [0, 1, 0]
    assert spans.stops.tolist() == [1, 3, 1]
    assert spans.kinds.tolist() == [0, 2, 0]


@pytest.mark.parametrize("batch", [[], [""], ["", ""], ["a", "", "bé"]])
@pytest.mark.parametrize("backend", [None, "bpe", "wordpiece", "byte", "char", "word"])
def test_dtypes_do_not_depend_on_the_content(backend: str | None, batch: list[str]) -> None:
    spans = encode_spans(Letters() if backend is None else trained(backend), batch)
    assert spans.encoded.ids.dtype == np.uint32
    assert spans.encoded.offsets.dtype == np.int64
    assert (spans.starts.dtype, spans.stops.dtype, spans.kinds.dtype) == (np.int64, np.int64, np.uint8)
    assert len(spans.encoded) == len(batch)
    assert len(spans.starts) == len(spans.stops) == len(spans.kinds) == len(spans.encoded.ids)


def test_kinds_have_fixed_numbers() -> None:
    assert [KIND_NUMBERS[TokenKind(name)] for name in ("normal", "byte", "unknown", "special")] == [
        0,
        1,
        2,
        3,
    ]


@pytest.mark.parametrize("backend", [None, "bpe", "wordpiece", "byte", "char", "word"])
def test_surrogate_is_refused_with_its_position(backend: str | None) -> None:
    tokenizer = Letters() if backend is None else trained(backend)
    with pytest.raises(TextError, match=r"U\+D800, at character 2"):
        encode_spans(tokenizer, ["good", "né\ud800"])


@given(batch=st.lists(texts, min_size=1, max_size=6), long=st.integers(0, 3))
def test_divided_batch_keeps_the_order(batch: list[str], long: int) -> None:
    def by_segmentation(some: Sequence[str]) -> EncodedSpans:
        assert some
        return segmented(Letters(), some)

    arrays = divided(
        batch, where=lambda text: len(text) > long, then=by_segmentation, otherwise=by_segmentation
    )
    assert_same(arrays, segmented(Letters(), batch))


@given(text=texts)
def test_character_offsets_are_in_bytes(text: str) -> None:
    assert character_offsets(text).tolist() == [len(text[:index].encode()) for index in range(len(text) + 1)]


# Fast paths


BATCH = ["the cat\n", "", "東京 1234", "naïve — дом"]


@pytest.mark.parametrize("backend", ["bpe", "wordpiece", "byte", "char", "word"])
def test_fast_path_segments_no_text(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert segmented_texts(trained(backend), BATCH, monkeypatch) == []


def test_only_texts_changed_by_nfc_are_segmented(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = trained("bpe", pattern="qwen2", vocab_size=300)
    assert segmented_texts(tokenizer, [*BATCH, "e\u0301"], monkeypatch) == ["e\u0301"]


def test_rank_files_in_tiktoken_use_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = descriptions.ranked().tokens
    tokenizer = TiktokenTokenizer(
        [(token, rank) for rank, token in enumerate(tokens) if token is not None],
        name="mine",
        pattern=descriptions.described().pattern,
        special_tokens={"<|end|>": len(tokens) + 5},
    )
    assert segmented_texts(tokenizer, BATCH, monkeypatch) == []
    assert_same(encode_spans(tokenizer, BATCH), segmented(tokenizer, BATCH))


# SentencePiece


@pytest.mark.parametrize("name", VARIANTS)
def test_spans_of_bundled_texts_equal_the_segmentation_for_every_model(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = variant(name)
    batch = [*awkward_batch(), *BATCH, *(text[:200] for text in bundled_texts().values())]
    assert_same(encode_spans(tokenizer, batch), segmented(tokenizer, batch))
    assert segmented_texts(tokenizer, batch, monkeypatch) == []


@pytest.mark.parametrize("name", VARIANTS)
@given(batch=st.lists(awkward_texts, max_size=4))
def test_spans_of_any_text_equal_the_segmentation_for_every_model(name: str, batch: list[str]) -> None:
    assert_same(encode_spans(variant(name), batch), segmented(variant(name), batch))


def test_piece_may_end_inside_a_symbol() -> None:
    # The normalizer treats "ab" as one symbol, and still "bc" is the better piece.
    pieces = [unknown(), ModelPiece("ab", 0.0, PieceType.USER_DEFINED)]
    scores = {"bc": -1.0, "a": -1.0, "b": -9.0, "c": -900.0, "x": -2.0, "▁": -1.0}
    model = written([*pieces, *scored(scores)], normalizer={"add_dummy_prefix": False})
    tokenizer = open_model(model, name="mine")
    batch = ["abc", "xabc", "ab x", "xx"]
    assert_same(encode_spans(tokenizer, batch), segmented(tokenizer, batch))


@pytest.mark.parametrize("model_type", [ModelType.WORD, ModelType.CHAR])
def test_word_and_character_models_are_segmented(model_type: ModelType) -> None:
    every_byte = [ModelPiece(f"<0x{byte:02X}>", 0.0, PieceType.BYTE) for byte in range(256)]
    model = written(
        [unknown(), *every_byte, *scored({"▁the": -1.0, "a": -1.0, "▁": -2.0})],
        trainer={"model_type": model_type, "byte_fallback": True},
    )
    tokenizer = open_model(model, name="mine")
    batch = ["<0x41> the", "the", "a é東", "<0x41>", ""]
    assert_same(encode_spans(tokenizer, batch), segmented(tokenizer, batch))


# tokenizers


@pytest.mark.parametrize("name", DOCUMENTS)
@given(batch=st.lists(awkward_texts, max_size=4))
def test_spans_of_any_text_equal_the_segmentation_for_every_document(name: str, batch: list[str]) -> None:
    tokenizer = HuggingFaceTokenizer(DOCUMENTS[name](), name=name, backend="bpe")
    assert_same(encode_spans(tokenizer, batch), segmented(tokenizer, batch))


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize(
    "threads", [2, *(pytest.param(threads, marks=pytest.mark.slow) for threads in (None, 1))]
)
def test_spans_of_bundled_texts_equal_the_segmentation_for_every_document(
    name: str, threads: int | None
) -> None:
    tokenizer = HuggingFaceTokenizer(DOCUMENTS[name](), name=name, backend="bpe")
    batch = [*awkward_batch(), *(text[:300] for text in bundled_texts().values())]
    assert_same(encode_spans(tokenizer, batch, threads=threads), segmented(tokenizer, batch))


def awkward_batch() -> list[str]:
    """Return random texts of a few characters, in which ones that a normalizer changes are next to ones it keeps."""
    generator = random.Random(0)
    return ["".join(generator.choices(AWKWARD, k=generator.randrange(9))) for _ in range(300)]


# Tokenizers that wrap another


def test_only_uncovered_texts_go_to_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(DOCUMENTS["byte-level"]())
    tokenizer: Any = tokbench.load(tmp_path / "tokenizer.json")
    assert isinstance(tokenizer, NativeBpeWithFallback)
    tokenizer._agreement = SimpleNamespace(
        covers=lambda text: "東" not in text,
        covers_all=lambda texts, threads: not any("東" in text for text in texts),
        encoded=lambda encode_marked, texts, threads: None,
    )
    assert_same(encode_spans(tokenizer, BATCH), segmented(tokenizer, BATCH))
    assert segmented_texts(tokenizer, BATCH, monkeypatch) == []
    opened: list[bool] = []
    tokenizer._opened, tokenizer._open_library = None, lambda: opened.append(True)
    encode_spans(tokenizer, ["the cat"])
    assert not opened


def test_tokbin_file_has_the_spans_of_its_tokenizer() -> None:
    tokenizer = descriptions.running(descriptions.described())
    product = make(Source(tokenizer=tokenizer, description=descriptions.described()))
    opened = TokbinTokenizer(TokbinFile(product.files[""], path="mine.tokbin"))
    assert_same(encode_spans(opened, BATCH), segmented(tokenizer, BATCH))


def test_spans_follow_an_overridden_segmentation() -> None:
    class Odd(Letters):
        def segment(self, text: str, **options: Any) -> Segmentation:
            return Segmentation(text, (Token(300, b"", Span(1, 1), TokenKind.SPECIAL),))

    spans = encode_spans(Odd(), ["ab", "cd"])
    assert spans.encoded.ids.tolist() == [300, 300]
    assert spans.kinds.tolist() == [3, 3]
