"""SentencePiece's `.model` and the wire format below it: read as written, and refused if damaged."""

from __future__ import annotations

import re
import struct
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.sentencepiece_models import scored, training_text, unknown, variant, written

from tokbench.errors import ModelFormatError
from tokbench.formats.protobuf import fields, signed
from tokbench.formats.sentencepiece.model import (
    NORMALIZER_FIELDS,
    TRAINER_FIELDS,
    ModelType,
    looks_like_model,
    parse_model,
)
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece.models import open_model

# --- the wire format --------------------------------------------------------------------------


def test_fields_of_every_wire_type_are_read() -> None:
    message = b"\x08\x01" + b"\x11" + bytes(8) + b"\x1a\x02ab" + b"\x25" + b"1234" + b"\x82\x01\x00"
    assert list(fields(message)) == [(1, 1), (2, bytes(8)), (3, b"ab"), (4, b"1234"), (16, b"")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x08", "ends within a number at byte 1"),
        (b"\x08" + b"\xff" * 11, "more than ten bytes"),
        (b"\x0a\x05abc", "needs 5 bytes, and 3 are left"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7fx", "are left"),
        (b"\x15\x00", "needs 4 bytes"),
        (b"\x0b", "unknown kind 3"),
        (b"\x02\x00", "without a number"),
    ],
)
def test_damaged_messages_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(fields(data))


def test_negative_numbers_are_read() -> None:
    ((number, value),) = fields(b"\x58" + b"\xff" * 9 + b"\x01")
    assert number == 11
    assert isinstance(value, int)
    assert signed(value) == -1


# --- the model --------------------------------------------------------------------------------


def test_hand_written_model_is_read_as_written() -> None:
    pieces = [
        unknown(),
        ModelPiece("</s>", 0.0, PieceType.CONTROL),
        ModelPiece("<sep>", 0.0, PieceType.USER_DEFINED),
        *scored({"▁the": -3.5, "▁": -5.0}),
        ModelPiece("xy", -9.0, PieceType.UNUSED),
    ]
    model = parse_model(written(pieces, trainer={"model_type": 2, "bos_id": -1, "unk_surface": "?"}))
    assert model.pieces == tuple(pieces)
    assert model.model_type is ModelType.BPE
    assert model.trainer["bos_id"] == -1
    assert model.trainer["unk_surface"] == "?"
    assert model.trainer["max_sentencepiece_length"] == 16
    assert model.normalizer["name"] == "identity"
    assert model.normalizer["remove_extra_whitespaces"] is False


def test_same_model_is_parsed_once_and_damage_reported_for_each_file() -> None:
    data, other = variant("bpe").proto, variant("unigram").proto
    models = [parse_model(bytes(bytearray(proto))) for proto in (data, other, data, other)]
    assert models[0] is models[2]
    assert models[1] is models[3]
    assert models[0] != models[1]
    for name in ("one.model", "two.model"):
        with pytest.raises(ModelFormatError, match=f"^{name}"):
            parse_model(data[:100], path=name)


def test_trained_model_has_its_options() -> None:
    tokenizer = variant("unigram as t5")
    model = parse_model(tokenizer.proto)
    assert model.model_type is ModelType.UNIGRAM
    assert model.trainer["pad_id"] == 0
    assert model.normalizer["name"] == "nmt_nfkc"
    assert len(model.normalizer["precompiled_charsmap"]) > 100_000
    assert len(model.pieces) == tokenizer.info.vocab_size
    assert looks_like_model(tokenizer.proto)


def test_options_match_the_librarys_schema() -> None:
    package = find_spec("sentencepiece")
    assert package is not None
    assert package.origin is not None
    source = (Path(package.origin).parent / "sentencepiece_model_pb2.py").read_text(encoding="utf-8")
    serialized = re.search(r"AddSerializedFile\((b'.*')\)", source)
    assert serialized is not None
    import ast

    messages = [dict_of(value) for number, value in fields(ast.literal_eval(serialized[1])) if number == 4]
    known = {name.decode(): fields_of for name, fields_of in messages}
    assert {name: field.number for name, field in TRAINER_FIELDS.items()} == known["TrainerSpec"]
    assert {name: field.number for name, field in NORMALIZER_FIELDS.items()} == known["NormalizerSpec"]


def dict_of(message):
    """Return the name of a message of a file descriptor, and the numbers of its fields by name."""
    parts = list(fields(message))
    described = [dict(fields(value)) for number, value in parts if number == 2]
    return dict(parts)[1], {field[1].decode(): field[3] for field in described}


BYTES = [ModelPiece(f"<0x{byte:02X}>", 0.0, PieceType.BYTE) for byte in range(256)]
FALLBACK = {"byte_fallback": True}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no piece"),
        (b"not a model at all", "SentencePiece model"),
        (b'{"version": "1.0"}', "SentencePiece model"),
        (written(scored({"a": -1.0})), "0 unknown pieces"),
        (written([unknown(), unknown()]), "both '<unk>'"),
        (written([unknown(), ModelPiece("<u2>", 0.0, PieceType.UNKNOWN)]), "2 unknown pieces"),
        (written([unknown(), *scored({"": -1.0})]), "piece 1 is empty"),
        (written([unknown(), *scored({"a": float("nan")})]), "not a number"),
        (written([unknown(), *BYTES[:255]], trainer=FALLBACK), "255 of the 256"),
        (written([unknown(), *BYTES]), "without byte fallback"),
        (
            written([unknown(), *BYTES[:-1], ModelPiece("<0xff>", 0.0, PieceType.BYTE)], trainer=FALLBACK),
            "<0xff>",
        ),
        (written([unknown()], trainer={"model_type": 9}), "9 is not a valid ModelType"),
        (b"\x0a\x07\x0a\x05\xff\xff\xff\xff\xff", "piece 0"),
        (b"\x0a\x03\x18\x09\x00", "piece 0"),
        (b"\x08\x01", "where a message is needed"),
    ],
)
def test_file_that_is_no_model_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ModelFormatError, match=re.escape(message)) as caught:
        parse_model(data, path="some.model")
    assert str(caught.value).startswith("some.model: expected a SentencePiece model")
    assert caught.value.hint


def charsmap(units: list[int], replacements: bytes = b"x\0") -> bytes:
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + replacements


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (b"\x00", "a normalization table of"),
        (struct.pack("<I", 1 << 31) + bytes(2000), "a normalization table of"),
        (charsmap([0] * 255), "a normalization table of"),
        (charsmap([0] * 256, b"x"), "has no end"),
        (charsmap([0] * 255 + [0x8000_0002]), "after its replacements"),
        (charsmap([0] * 255 + [1 << 20]), "after its end"),
        (charsmap([0] * 255 + [(1 << 10) | (1 << 9)]), "after its end"),
    ],
)
def test_normalization_table_with_invalid_offsets_is_refused(table: bytes, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        parse_model(written([unknown()], normalizer={"precompiled_charsmap": table}))


def test_truncated_models_are_refused() -> None:
    """A model that is cut at any of these lengths is refused."""
    proto = variant("bpe").proto
    for size in [*range(60), *range(60, len(proto), 97), len(proto) - 1]:
        with pytest.raises(ModelFormatError):
            open_model(proto[:size], name="cut")


def test_training_text_has_240_lines() -> None:
    assert len(training_text()) == 240
