"""The pieces of a `.model`, parsed one by one or, if they are written in the usual way, in bulk."""

from __future__ import annotations

import math
import struct
from enum import IntEnum
from typing import NamedTuple

from tokbench.formats.protobuf import fields, float32

BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The spelling of each byte, for models with byte fallback."""

_FLOAT = struct.Struct("<f")


class PieceType(IntEnum):
    """The type of a piece; the numbers are those of the file."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class ModelPiece(NamedTuple):
    """A piece of the vocabulary as the file spells it, with ▁ for a space and `<0x0A>` for a byte."""

    text: str
    score: float
    type: PieceType


def usual_pieces(data: bytes) -> tuple[list[ModelPiece], int]:
    r"""Parse the pieces at the beginning of a file, as long as they are written as the library writes them.

    Each is a text of less than 128 bytes, a score, and optionally a type. Seven times as fast as field by field.

    Returns:
        The pieces, and the position of the first byte that was not parsed.

    >>> usual_pieces(b"\n\n\n\x01a\x15\x00\x00\x80\xbf\x18\x01")
    ([ModelPiece(text='a', score=-1.0, type=<PieceType.NORMAL: 1>)], 12)
    """
    pieces: list[ModelPiece] = []
    types = {int(type): type for type in PieceType}
    position, end = 0, len(data)
    while end - position > _SCORE + 4 and data[position] == _MESSAGE and data[position + 2] == _MESSAGE:
        stop = position + 2 + data[position + 1]
        text_end = position + 4 + data[position + 3]
        rest = stop - text_end  # the size of the score with its key, and of the optional type with its key
        is_usual = data[position + 1] < _LONG and position + 4 < text_end and rest in (_SCORE, _SCORE + 2)
        if not is_usual or stop > end or data[text_end] != _SCORE_KEY:
            break
        type = PieceType.NORMAL if rest == _SCORE else None
        if rest == _SCORE + 2 and data[stop - 2] == _TYPE_KEY:
            type = types.get(data[stop - 1])
        score: float = _FLOAT.unpack_from(data, text_end + 1)[0]
        if type is None or math.isnan(score):
            break
        try:
            text = data[position + 4 : text_end].decode()
        except UnicodeDecodeError:
            break
        pieces.append(ModelPiece(text, score, type))
        position = stop
    return pieces, position


_MESSAGE, _SCORE_KEY, _TYPE_KEY = 0x0A, 0x15, 0x18
_SCORE = 5
"""The size of a score with its key."""
_LONG = 0x80
"""The smallest length that takes two bytes."""


def message(value: int | bytes) -> bytes:
    """Return the bytes of a field that is a message. Raises `ValueError` for a number."""
    if isinstance(value, int):
        raise ValueError(f"the number {value}, where a message is needed")
    return value


def piece_of(data: bytes, *, id: int) -> ModelPiece:
    """Parse the message of a piece. Raises `ValueError`."""
    text, score, type = b"", 0.0, int(PieceType.NORMAL)
    try:
        for number, value in fields(data):
            if number == 1:
                text = message(value)
            elif number == 2:
                score = float32(message(value))
            elif number == 3 and isinstance(value, int):
                type = value
        piece = ModelPiece(text.decode(), score, PieceType(type))
    except ValueError as error:  # includes UnicodeDecodeError
        raise ValueError(f"piece {id}: {error}") from None
    if not piece.text:
        raise ValueError(f"piece {id} is empty")
    if math.isnan(score):
        raise ValueError(f"piece {id} has a score that is not a number")
    return piece
