"""SentencePiece models: small trained ones of every kind, and ones written by hand."""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Any

import tokbench
from tokbench.core.token_arrays import KIND_NUMBERS
from tokbench.files.bundled import corpora_directory
from tokbench.formats.protobuf import fields
from tokbench.formats.sentencepiece.model import NORMALIZER_FIELDS, TRAINER_FIELDS
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece.models import open_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.formats.sentencepiece.model import SpecField
    from tokbench.libraries.sentencepiece.models import KernelModel
    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "bpe": ("sentencepiece", {"vocab_size": 700}),
    "unigram": ("unigram", {"vocab_size": 700}),
    "bpe as llama": (
        "sentencepiece",
        {"vocab_size": 600, "split_digits": True, "special_tokens": ("<|a|>", "[X]")},
    ),
    "unigram as t5": (
        "unigram",
        {
            "vocab_size": 500,
            "byte_fallback": False,
            "normalization": "nmt_nfkc",
            "remove_extra_whitespaces": True,
            "allow_whitespace_only_pieces": False,
            "pad_id": 0,
            "eos_id": 1,
            "unk_id": 2,
            "bos_id": -1,
        },
    ),
    "bpe folded": (
        "sentencepiece",
        {"vocab_size": 700, "normalization": "nfkc_cf", "remove_extra_whitespaces": True},
    ),
    "bpe without prefix": ("sentencepiece", {"vocab_size": 500, "add_dummy_prefix": False}),
    "unigram without bytes": ("unigram", {"vocab_size": 400, "byte_fallback": False}),
    "bpe with symbols": (
        "sentencepiece",
        {"vocab_size": 500, "user_defined_symbols": ("<sep>", "ab", "the"), "byte_fallback": False},
    ),
    "unigram with symbols": (
        "unigram",
        {"vocab_size": 600, "user_defined_symbols": ("<sep>", "ab"), "normalization": "nfkc"},
    ),
    "bpe, spaces after": (
        "sentencepiece",
        {"vocab_size": 600, "options": ("treat_whitespace_as_suffix=true",)},
    ),
}
"""Name → the backend and the options of a model."""

LOSSLESS_BUT_FOR_THE_SPACE_SIGN = ("bpe", "unigram", "bpe as llama", "bpe without prefix")
"""Variants that decode every text without ▁ back to itself."""


@cache
def training_text() -> tuple[str, ...]:
    """Return a few hundred lines of text in two scripts and of code."""
    root = corpora_directory()
    names = ("parallel/en.txt", "parallel/de.txt", "parallel/ru.txt", "code/python.py")
    return tuple(
        line for name in names for line in (root / name).read_text(encoding="utf-8").splitlines()[:60]
    )


@cache
def variant(name: str) -> SentencePieceTokenizer:
    """Train the model of a name in `VARIANTS`."""
    backend, options = VARIANTS[name]
    return trained(backend, **options)


def trained(backend: str, texts: Any = None, **options: Any) -> SentencePieceTokenizer:
    """Train a model on texts, by default on `training_text()`."""
    return tokbench.train(training_text() if texts is None else texts, backend=backend, **options)


def written(
    pieces: Sequence[ModelPiece],
    *,
    trainer: Mapping[str, Any] | None = None,
    normalizer: Mapping[str, Any] | None = None,
    denormalizer: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the bytes of a `.model` file."""
    normalizer = {"name": "identity", "remove_extra_whitespaces": False, **(normalizer or {})}
    return b"".join(
        [
            *(_field(1, _piece(piece)) for piece in pieces),
            _field(2, _spec(trainer or {}, TRAINER_FIELDS)),
            _field(3, _spec(normalizer, NORMALIZER_FIELDS)),
            _field(5, _spec(denormalizer, NORMALIZER_FIELDS)) if denormalizer else b"",
        ]
    )


@cache
def charsmap(rule: str) -> bytes:
    """Return the library's normalization table of a rule such as "nmt_nfkc"; it is empty for "identity"."""
    import sentencepiece

    proto = sentencepiece.SentencePieceNormalizer(rule_name=rule).serialized_model_proto()
    [spec] = [value for number, value in fields(proto) if number == 3]
    assert isinstance(spec, bytes)
    tables = [value for number, value in fields(spec) if number == 2]
    return tables[0] if tables and isinstance(tables[0], bytes) else b""


@cache
def opened_for_spans(proto: bytes, engine: str) -> KernelModel:
    """Return the tokenizer of a model, which has encoded enough text for the kernel to be used."""
    tokenizer = open_model(proto, name="spans", engine=engine)
    tokenizer.encode_batch(["a" * 20_000])
    return tokenizer


def assert_spans_equal_the_librarys(proto: bytes, texts: list[str]) -> None:
    """Compare the spans of the kernel with those of the library, in arrays and token by token."""
    ours, library = (opened_for_spans(proto, engine) for engine in ("auto", "library"))
    assert ours.info.kernel == "native"
    placed = ours.encode_spans(texts, threads=2)
    ends = placed.encoded.offsets.tolist()
    columns = zip(
        placed.encoded.ids.tolist(),
        placed.starts.tolist(),
        placed.stops.tolist(),
        placed.kinds.tolist(),
        strict=True,
    )
    rows = list(columns)
    for text, start, stop in zip(texts, ends[:-1], ends[1:], strict=True):
        tokens = library.segment(text).tokens
        expected = [
            (token.id, token.span.start, token.span.stop, KIND_NUMBERS[token.kind]) for token in tokens
        ]
        assert rows[start:stop] == expected, text
        assert ours.segment(text).tokens == tokens


def unknown() -> ModelPiece:
    """Return the unknown piece, which every model has."""
    return ModelPiece("<unk>", 0.0, PieceType.UNKNOWN)


def scored(scores: Mapping[str, float]) -> list[ModelPiece]:
    """Return normal pieces with scores."""
    return [ModelPiece(text, score, PieceType.NORMAL) for text, score in scores.items()]


def _piece(piece: ModelPiece) -> bytes:
    score = b"\x15" + struct.pack("<f", piece.score)
    return _field(1, piece.text.encode()) + score + b"\x18" + _varint(piece.type)


def _spec(values: Mapping[str, Any], known: Mapping[str, SpecField]) -> bytes:
    written_ = b""
    for name, value in values.items():
        number, kind, _ = known[name]
        match kind:
            case "int" | "bool":
                written_ += _varint(number << 3) + _varint(int(value) % (1 << 64))
            case "float":
                written_ += _varint(number << 3 | 5) + struct.pack("<f", value)
            case "texts":
                written_ += b"".join(_field(number, text.encode()) for text in value)
            case "text":
                written_ += _field(number, value.encode())
            case "bytes":
                written_ += _field(number, value)
    return written_


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    digits = []
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])
