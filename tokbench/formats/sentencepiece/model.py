"""SentencePiece's `.model`: its pieces and its normalization, parsed without the library.

The file is a `ModelProto` of Protocol Buffers. It is parsed here before the library opens it: the library trusts a
model's tables, and a damaged normalization table would make it read out of bounds.

Source: the schema `sentencepiece_model.proto` of SentencePiece.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.errors import ModelFormatError
from tokbench.formats.protobuf import fields, float32, float_field, length_field, signed, varint_field
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType, message, piece_of, usual_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

SPACE = "\u2581"
"""The character for a space in pieces, ▁: a text that contains it is read as if it had a space there."""
_SPACE_INSIDE = re.compile(f"[^{SPACE}]{SPACE}")

_BEGIN, _END = struct.Struct("<4B"), struct.Struct("<BfBB")
_SHORT = 0x80 - 9
"""The size from which a piece's text, with keys, score and type, needs lengths of two bytes."""
_ROLES = {"bos": "<s>", "eos": "</s>", "pad": "<pad>"}


class ModelType(IntEnum):
    """The algorithm; the numbers are those of the file."""

    UNIGRAM = 1
    BPE = 2
    WORD = 3
    CHAR = 4


@dataclass(frozen=True, slots=True)
class SentencePieceFile:
    """The contents of a `.model` file.

    Attributes:
        pieces: the pieces by id.
        trainer: the training options, by their names in `TRAINER_FIELDS`.
        normalizer: the normalization of text, by the names in `NORMALIZER_FIELDS`.
        denormalizer: the normalization of decoded text; its table is empty in nearly every model.
        is_whole: whether the file has the options of the trainer and of the normalizer, which a file that was cut off
            between two pieces lacks.
    """

    pieces: tuple[ModelPiece, ...]
    trainer: Mapping[str, Any]
    normalizer: Mapping[str, Any]
    denormalizer: Mapping[str, Any]
    is_whole: bool = True

    @property
    def model_type(self) -> ModelType:
        """The algorithm."""
        return ModelType(self.trainer["model_type"])

    @property
    def unknown_id(self) -> int:
        """The id of the unknown piece."""
        return next(id for id, piece in enumerate(self.pieces) if piece.type is PieceType.UNKNOWN)


class SpecField(NamedTuple):
    """An option of the trainer or the normalizer: its number in the file, its type, its default."""

    number: int
    kind: str
    default: Any


TRAINER_FIELDS: dict[str, SpecField] = {
    "input": SpecField(1, "texts", default=()),
    "model_prefix": SpecField(2, "text", default=""),
    "model_type": SpecField(3, "int", default=1),
    "vocab_size": SpecField(4, "int", default=8000),
    "accept_language": SpecField(5, "texts", default=()),
    "self_test_sample_size": SpecField(6, "int", default=0),
    "input_format": SpecField(7, "text", default=""),
    "character_coverage": SpecField(10, "float", default=0.9995),
    "input_sentence_size": SpecField(11, "int", default=0),
    "mining_sentence_size": SpecField(12, "int", default=0),
    "training_sentence_size": SpecField(13, "int", default=0),
    "seed_sentencepiece_size": SpecField(14, "int", default=1_000_000),
    "shrinking_factor": SpecField(15, "float", default=0.75),
    "num_threads": SpecField(16, "int", default=16),
    "num_sub_iterations": SpecField(17, "int", default=2),
    "max_sentence_length": SpecField(18, "int", default=4192),
    "shuffle_input_sentence": SpecField(19, "bool", default=True),
    "max_sentencepiece_length": SpecField(20, "int", default=16),
    "split_by_unicode_script": SpecField(21, "bool", default=True),
    "split_by_whitespace": SpecField(22, "bool", default=True),
    "split_by_number": SpecField(23, "bool", default=True),
    "treat_whitespace_as_suffix": SpecField(24, "bool", default=False),
    "split_digits": SpecField(25, "bool", default=False),
    "allow_whitespace_only_pieces": SpecField(26, "bool", default=False),
    "control_symbols": SpecField(30, "texts", default=()),
    "user_defined_symbols": SpecField(31, "texts", default=()),
    "vocabulary_output_piece_score": SpecField(32, "bool", default=True),
    "hard_vocab_limit": SpecField(33, "bool", default=True),
    "use_all_vocab": SpecField(34, "bool", default=False),
    "byte_fallback": SpecField(35, "bool", default=False),
    "required_chars": SpecField(36, "text", default=""),
    "unk_id": SpecField(40, "int", default=0),
    "bos_id": SpecField(41, "int", default=1),
    "eos_id": SpecField(42, "int", default=2),
    "pad_id": SpecField(43, "int", default=-1),
    "unk_surface": SpecField(44, "text", default=" \u2047 "),
    "unk_piece": SpecField(45, "text", default="<unk>"),
    "bos_piece": SpecField(46, "text", default="<s>"),
    "eos_piece": SpecField(47, "text", default="</s>"),
    "pad_piece": SpecField(48, "text", default="<pad>"),
    "train_extremely_large_corpus": SpecField(49, "bool", default=False),
    "enable_differential_privacy": SpecField(50, "bool", default=False),
    "differential_privacy_noise_level": SpecField(51, "float", default=0.0),
    "differential_privacy_clipping_threshold": SpecField(52, "int", default=0),
    "pretokenization_delimiter": SpecField(53, "text", default=""),
    "seed_sentencepieces_file": SpecField(54, "text", default=""),
    "auto_character_coverage": SpecField(55, "bool", default=False),
}
"""The trainer's options of all versions; the library itself reports which of them it supports."""

NORMALIZER_FIELDS: dict[str, SpecField] = {
    "name": SpecField(1, "text", default=""),
    "precompiled_charsmap": SpecField(2, "bytes", default=b""),
    "add_dummy_prefix": SpecField(3, "bool", default=True),
    "remove_extra_whitespaces": SpecField(4, "bool", default=True),
    "escape_whitespaces": SpecField(5, "bool", default=True),
    "normalization_rule_tsv": SpecField(6, "text", default=""),
}
"""The normalizer's options."""

_PIECES, _TRAINER, _NORMALIZER, _DENORMALIZER = 1, 2, 3, 5
_MAX_PIECES = 1 << 24
_RESTORE = "the file is damaged or no SentencePiece model: restore it, or fetch it again"


def parse_model(data: bytes, *, path: Path | str = "the model") -> SentencePieceFile:
    """Parse a `.model` file, checking everything that the library relies on.

    Args:
        data: the whole file.
        path: its name in error messages.

    Raises:
        ModelFormatError: it is damaged, or not a SentencePiece model.
    """
    try:
        return _parsed(data)
    except ValueError as error:
        raise ModelFormatError(path, "a SentencePiece model", str(error), hint=_RESTORE) from None


def looks_like_model(data: bytes) -> bool:
    r"""Whether data begins like a `.model` file: with a piece, whose text comes first.

    >>> looks_like_model(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02"), looks_like_model(b"{}")
    (True, False)
    """
    if len(data) < 5 or data[0] != 0x0A:
        return False
    size = data[1]
    return size < 0x80 and data[2] == 0x0A and 0 < data[3] <= size - 2


def byte_of(text: str) -> int:
    """Return the byte of a byte piece.

    Raises:
        ValueError: the text is not that of a byte piece.

    >>> byte_of("<0x0A>")
    10
    """
    if len(text) != 6 or not text.startswith("<0x") or not text.endswith(">"):
        raise ValueError(f"the byte piece {text!r} is not of the form <0x00>")
    value = int(text[3:5], 16)
    if f"<0x{value:02X}>" != text:
        raise ValueError(f"the byte piece {text!r} is not of the form <0x00>")
    return value


@lru_cache(maxsize=2)  # the model before a change and after it, which proofs and reports read again and again
def _parsed(data: bytes) -> SentencePieceFile:
    pieces, rest = usual_pieces(data)
    specs: dict[int, dict[str, Any]] = {
        _TRAINER: _defaults(TRAINER_FIELDS),
        _NORMALIZER: _defaults(NORMALIZER_FIELDS),
        _DENORMALIZER: _defaults(NORMALIZER_FIELDS),
    }
    found: set[int] = set()
    for number, value in fields(data, rest):
        found.add(number)
        if number == _PIECES:
            pieces.append(piece_of(message(value), id=len(pieces)))
        elif number in specs:
            known = TRAINER_FIELDS if number == _TRAINER else NORMALIZER_FIELDS
            specs[number] = _spec(message(value), known, into=specs[number])
    if len(pieces) > _MAX_PIECES:
        raise ValueError(f"more than {_MAX_PIECES} pieces")
    model = SentencePieceFile(
        tuple(pieces),
        specs[_TRAINER],
        specs[_NORMALIZER],
        specs[_DENORMALIZER],
        is_whole={_TRAINER, _NORMALIZER} <= found,
    )
    _check_pieces(model)
    _check_charsmap(model.normalizer["precompiled_charsmap"])
    _check_charsmap(model.denormalizer["precompiled_charsmap"])
    return model


def _defaults(known: Mapping[str, SpecField]) -> dict[str, Any]:
    return {name: field.default for name, field in known.items()}


def _spec(data: bytes, known: Mapping[str, SpecField], *, into: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.number: name for name, field in known.items()}
    values = dict(into)
    for number, value in fields(data):
        name = names.get(number)
        if name is None:  # an option of a newer library
            continue
        kind = known[name].kind
        try:
            values[name] = _value(value, kind, before=values[name])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return values


def _value(value: int | bytes, kind: str, *, before: Any) -> Any:
    match kind, value:
        case "int", int():
            return signed(value)
        case "bool", int():
            return bool(value)
        case "float", bytes():
            return float32(value)
        case "text", bytes():
            return value.decode()
        case "texts", bytes():
            return (*before, value.decode())
        case "bytes", bytes():
            return value
    raise ValueError(f"a value that is not {kind}")


def _check_pieces(model: SentencePieceFile) -> None:
    """Check what the library requires of a vocabulary, and some of what it only assumes."""
    pieces = model.pieces
    if not pieces:
        raise ValueError("no piece")
    ModelType(model.trainer["model_type"])
    if len({piece.text for piece in pieces}) != len(pieces):
        ids: dict[str, int] = {}
        for id, piece in enumerate(pieces):
            first = ids.setdefault(piece.text, id)
            if first != id:
                raise ValueError(f"pieces {first} and {id} are both {piece.text!r}")
    unknowns = sum(piece.type is PieceType.UNKNOWN for piece in pieces)
    if unknowns != 1:
        raise ValueError(f"{unknowns} unknown pieces, where there is one")
    bytes_ = sorted(byte_of(piece.text) for piece in pieces if piece.type is PieceType.BYTE)
    if model.trainer["byte_fallback"] and bytes_ != list(range(256)):
        raise ValueError(f"byte fallback with {len(bytes_)} of the 256 byte pieces")
    if bytes_ and not model.trainer["byte_fallback"]:
        raise ValueError("byte pieces without byte fallback")


def _check_charsmap(charsmap: bytes) -> None:
    """Check that a normalization table, whose layout is described in charsmap.py, stays within its bounds."""
    import numpy as np

    if not charsmap:
        return
    size = int.from_bytes(charsmap[:4], "little")
    if len(charsmap) <= 4 or size % 4 or size < 1024 or size > len(charsmap) - 5:
        raise ValueError(f"a normalization table of {size} in {len(charsmap)} bytes")
    units = np.frombuffer(charsmap, "<u4", count=size // 4, offset=4)
    replacements = charsmap[4 + size :]
    if replacements[-1] != 0:
        raise ValueError("a normalization table whose last replacement has no end")
    values = units[units >> 31 == 1] & 0x7FFF_FFFF
    if values.size and int(values.max()) >= len(replacements):
        raise ValueError("a normalization table that points after its replacements")
    nodes = np.flatnonzero(units >> 31 == 0)
    offsets = (units[nodes] >> 10) << ((units[nodes] & (1 << 9)) >> 6)
    furthest = (nodes.astype(np.uint64) ^ offsets) | 0xFF
    if furthest.size and int(furthest.max()) >= units.size:
        raise ValueError("a normalization table that points after its end")


def piece_bytes(piece: ModelPiece, *, unk_surface: str) -> bytes:
    r"""Return the bytes of a token: ▁ becomes a space, a byte piece its byte, the unknown piece its surface.

    >>> piece_bytes(ModelPiece("▁the", -3.5, PieceType.NORMAL), unk_surface=" ⁇ ")
    b' the'
    >>> piece_bytes(ModelPiece("<0xE2>", 0.0, PieceType.BYTE), unk_surface=" ⁇ ")
    b'\xe2'
    """
    match piece.type:
        case PieceType.BYTE:
            return bytes([byte_of(piece.text)])
        case PieceType.UNKNOWN:
            return unk_surface.encode()
        case PieceType.CONTROL:
            return piece.text.encode()
    return piece.text.replace(SPACE, " ").encode()


def special_tokens_of(model: SentencePieceFile, *, with_unknown: bool = False) -> dict[str, int]:
    """Return the control symbols, and if wanted the unknown token, text → id; text never becomes one of them."""
    types = {PieceType.CONTROL, PieceType.UNKNOWN} if with_unknown else {PieceType.CONTROL}
    return {piece.text: id for id, piece in enumerate(model.pieces) if piece.type in types}


def roles_of_model(model: SentencePieceFile) -> dict[str, str]:
    """Return the roles that a model defines: bos, eos and pad if they are control symbols, and unk."""
    roles: dict[str, str] = {}
    for role in ("bos", "eos", "pad", "unk"):
        id, text = model.trainer[f"{role}_id"], model.trainer[f"{role}_piece"]
        type = PieceType.UNKNOWN if role == "unk" else PieceType.CONTROL
        if 0 <= id < len(model.pieces) and (model.pieces[id].text, model.pieces[id].type) == (text, type):
            roles[role] = text
    return roles


def crosses_words(piece: str) -> bool:
    """Whether a piece has a space after another character, and thus spans several words.

    >>> [crosses_words(piece) for piece in ("▁▁the", "▁", "of▁the")]
    [False, False, True]
    """
    return _SPACE_INSIDE.search(piece) is not None


def iter_user_defined(model: SentencePieceFile) -> Iterator[str]:
    """Iterate over the user-defined symbols, which the library matches in a text before anything else."""
    user_defined = PieceType.USER_DEFINED
    return (piece.text for piece in model.pieces if piece.type is user_defined)


def dump_model(
    pieces: Iterable[ModelPiece], *, trainer: Mapping[str, Any], normalizer: Mapping[str, Any]
) -> bytes:
    """Return the bytes of a `.model` file, with the given options only."""
    return (
        b"".join(map(dump_piece, pieces))
        + length_field(2, _options(trainer, TRAINER_FIELDS))
        + length_field(3, _options(normalizer, NORMALIZER_FIELDS))
    )


def role_ids(pieces: Sequence[ModelPiece]) -> dict[str, int]:
    """Return trainer options with the ids of control symbols that have the usual names of roles; -1 for none.

    >>> role_ids([ModelPiece("</s>", 0.0, PieceType.CONTROL)])
    {'bos_id': -1, 'eos_id': 0, 'pad_id': -1}
    """
    controls = {piece.text: id for id, piece in enumerate(pieces) if piece.type is PieceType.CONTROL}
    return {f"{role}_id": controls.get(text, -1) for role, text in _ROLES.items()}


def dump_piece(piece: ModelPiece) -> bytes:
    """Return a piece as a field of a `.model` file."""
    text = piece.text.encode()
    if len(text) < _SHORT:  # the same bytes as field by field, four times as fast
        size = len(text)
        return _BEGIN.pack(0x0A, size + 9, 0x0A, size) + text + _END.pack(0x15, piece.score, 0x18, piece.type)
    fields = length_field(1, text) + float_field(2, piece.score) + varint_field(3, int(piece.type))
    return length_field(1, fields)


def _options(values: Mapping[str, Any], known: Mapping[str, SpecField]) -> bytes:
    return b"".join(_option(value, known[name]) for name, value in values.items())


def _option(value: Any, field: SpecField) -> bytes:
    if field.kind == "texts":
        return b"".join(length_field(field.number, text.encode()) for text in value)
    if field.kind == "float":
        return float_field(field.number, value)
    data = value.encode() if isinstance(value, str) else value
    return (
        length_field(field.number, data) if isinstance(data, bytes) else varint_field(field.number, int(data))
    )
