"""What the library says of a segmentation, read from its serialised answer.

The serialised form is the one that every version of the library has, and its offsets are bytes.

Source: the schema `sentencepiece.proto` of SentencePiece.
"""

from __future__ import annotations

from typing import NamedTuple

from tokbench.formats.protobuf import fields, float32

_PIECES, _SCORE = 2, 3
_ID, _BEGIN, _END = 2, 4, 5
_SEGMENTATIONS = 1


class Found(NamedTuple):
    """A piece of a text: its id, and the bytes of the text that the library says it covers."""

    id: int
    start: int
    stop: int


def found_pieces(answer: bytes) -> tuple[list[Found], float]:
    """The pieces of a serialised `SentencePieceText` in order, and its score."""
    found: list[Found] = []
    score = 0.0
    for number, value in fields(answer):
        if number == _PIECES and isinstance(value, bytes):
            parts = dict(fields(value))
            found.append(Found(int(parts.get(_ID, 0)), int(parts.get(_BEGIN, 0)), int(parts.get(_END, 0))))
        elif number == _SCORE and isinstance(value, bytes):
            score = float32(value)
    return found, score


def found_segmentations(answer: bytes) -> list[tuple[list[Found], float]]:
    """The segmentations of a serialised `NBestSentencePieceText`, the best first."""
    return [
        found_pieces(value)
        for number, value in fields(answer)
        if number == _SEGMENTATIONS and isinstance(value, bytes)
    ]
