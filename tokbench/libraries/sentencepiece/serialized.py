"""Parsing of the library's serialized segmentations, with corrected spans; and stripping of prefix spaces.

Every version of the library has the serialized form, and its offsets are in bytes.

Source: the schema `sentencepiece.proto` of SentencePiece.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.core.tokens import Span, TokenKind
from tokbench.formats.protobuf import fields, float32

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

_PIECES, _SCORE = 2, 3
_ID, _BEGIN, _END = 2, 4, 5
_SEGMENTATIONS = 1


class Found(NamedTuple):
    """A piece of a text: its id, and the byte range of the text that the library reports."""

    id: int
    start: int
    stop: int


def found_pieces(answer: bytes) -> tuple[list[Found], float]:
    """Return the pieces of a serialized `SentencePieceText` in order, and its score."""
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
    """Return the segmentations of a serialized `NBestSentencePieceText`, the best first."""
    return [
        found_pieces(value)
        for number, value in fields(answer)
        if number == _SEGMENTATIONS and isinstance(value, bytes)
    ]


def own_spans(
    found: Sequence[Found], data: bytes, *, surfaces: Sequence[bytes], kinds: Sequence[TokenKind]
) -> Iterator[Span]:
    """Yield the span of each token in a text; each byte token of byte fallback gets its own byte.

    Args:
        found: the pieces that the library reports.
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
        yield from _byte_spans(character, b"".join(surfaces[token.id] for token in character), data)
        position += size


def _byte_spans(character: Sequence[Found], piece: bytes, data: bytes) -> Iterator[Span]:
    """Yield the spans of the bytes of one character; if normalization changed it, the last byte gets all of it."""
    start, stop = character[0].start, character[-1].stop
    is_text = piece == data[start:stop]
    for index, token in enumerate(character):
        yield Span(start + index, start + index + 1) if is_text else Span(token.start, token.stop)


def _character_length(lead: int) -> int:
    """Return the number of bytes of a UTF-8 character from its first byte."""
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def without_prefixes(
    parts: list[bytes],
    ids: Sequence[int],
    *,
    specials: Mapping[int, bytes],
    strippable: Collection[int],
    normalizer: Mapping[str, Any],
) -> list[bytes]:
    """Strip the prefix space that encoding added, at the start and after each special token.

    Args:
        parts: the bytes of each id; changed in place.
        ids: the ids.
        specials: id → bytes of the special tokens.
        strippable: the ids of pieces whose first byte may be a prefix space.
        normalizer: the options of the model's normalizer.
    """
    drops_all = normalizer["remove_extra_whitespaces"]
    drops_one = drops_all or normalizer["add_dummy_prefix"]
    has_specials = not specials.keys().isdisjoint(ids)
    at_start = drops_one
    for position, id in enumerate(ids):
        if id in specials:
            at_start = drops_one
        elif at_start:
            stripped = id in strippable
            if stripped:
                parts[position] = parts[position][1:]
            at_start = not parts[position] and (drops_all or not stripped)
        elif not has_specials:  # no further text begins
            break
    return parts
