"""Segmentations from the library's serialized results, with corrected spans; and the bytes of ids.

The serialized form is the one that every version of the library has, and its offsets are bytes.

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
    """A piece of a text: its id, and the bytes of the text that the library says it covers."""

    id: int
    start: int
    stop: int


def found_pieces(answer: bytes) -> tuple[list[Found], float]:
    """The pieces of a serialized `SentencePieceText` in order, and its score."""
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
    """The segmentations of a serialized `NBestSentencePieceText`, the best first."""
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
    """The bytes of one character; where normalization changed it, all of the text goes to the last one."""
    start, stop = character[0].start, character[-1].stop
    is_text = piece == data[start:stop]
    for index, each in enumerate(character):
        yield Span(start + index, start + index + 1) if is_text else Span(each.start, each.stop)


def _character_length(lead: int) -> int:
    """The bytes of a UTF-8 character by its first one."""
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def without_prefixes(
    parts: list[bytes],
    ids: Sequence[int],
    *,
    specials: Mapping[int, bytes],
    strippable: Collection[int],
    normalizer: Mapping[str, Any],
) -> list[bytes]:
    """The bytes of each id, without what was put before each text: in front, and after each special token.

    Args:
        parts: the bytes of each id, of which some are replaced.
        ids: the same as ids.
        specials: the special tokens by their ids.
        strippable: the ids of pieces whose first byte may be such a space.
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
        elif not has_specials:  # nothing begins anew
            break
    return parts
