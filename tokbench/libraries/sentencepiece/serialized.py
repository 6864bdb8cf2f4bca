"""Segmentations from the library's serialised results, with corrected spans.

The serialised form is the one that every version of the library has, and its offsets are bytes.

Source: the schema `sentencepiece.proto` of SentencePiece.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.tokens import Span, TokenKind
from tokbench.formats.protobuf import fields, float32

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


def own_spans(
    found: Sequence[Found], data: bytes, *, surfaces: Sequence[bytes], kinds: Sequence[TokenKind]
) -> Iterator[Span]:
    """The place of each token in a text, each byte of a byte fallback with its own.

    Args:
        found: the tokens as the library says.
        data: the text.
        surfaces: the bytes of each id.
        kinds: the kind of each id.
    """
    position = 0
    while position < len(found):
        id, start, stop = found[position]
        if kinds[id] is not TokenKind.BYTE:
            yield Span(start, stop)
            position += 1
            continue
        size = _character_length(surfaces[id][0])
        character = found[position : position + size]
        yield from _byte_spans(character, b"".join(surfaces[each.id] for each in character), data)
        position += size


def _byte_spans(character: Sequence[Found], piece: bytes, data: bytes) -> Iterator[Span]:
    """The bytes of one character; where normalisation changed it, all of the text goes to the last one."""
    start, stop = character[0].start, character[-1].stop
    is_text = piece == data[start:stop]
    for index, each in enumerate(character):
        yield Span(start + index, start + index + 1) if is_text else Span(each.start, each.stop)


def _character_length(lead: int) -> int:
    """The bytes of a UTF-8 character by its first one."""
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
