"""The tokens of a segmentation as glyphs, and the text between them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.graphemes import CutsAhead
from tokbench.core.tokens import TokenKind
from tokbench.render.glyphs import (
    EMPTY_MARK,
    UNKNOWN_MARK,
    Strip,
    byte_glyphs,
    cut_glyphs,
    enclosed,
    glyphs_of,
    sign,
    strip,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.core.tokens import Segmentation, Span, Token

_LONGEST_KEPT = 64


class VisibleToken(NamedTuple):
    """A token, or text that no token covers.

    Attributes:
        token: the token; None for text that no token covers.
        turn: index of the token, or of the token after the uncovered text.
        start: offset of its first byte in the text.
        stop: offset after its last byte.
        strip: its glyphs; a token that covers no text is shown by its bytes.
        cuts_after: whether it ends inside a grapheme cluster.
        covers_text: whether it covers some of the text.
    """

    token: Token | None
    turn: int
    start: int
    stop: int
    strip: Strip
    cuts_after: bool
    covers_text: bool = True


def visible_tokens(segmentation: Segmentation) -> Iterator[VisibleToken]:
    """Yield all tokens of a segmentation, and the text between them; spans may be empty, overlap or leave gaps."""
    data = segmentation.text.encode()
    ahead = CutsAhead(segmentation)
    covered, turn = 0, -1
    for turn, token in enumerate(segmentation.tokens):
        start, stop = token.span
        if start > covered:
            reached = min(start, len(data))
            if reached > covered:
                yield _uncovered(data, ahead.until(reached), turn, covered, reached)
            covered = reached
        covered = max(covered, stop)
        shown = data[start:stop]
        cuts = ahead.until(stop)
        if token.kind is TokenKind.NORMAL and shown and start not in cuts and stop not in cuts:
            yield VisibleToken(token, turn, start, stop, _whole_strip(shown), cuts_after=False)
            continue
        head, tail = _cut_ends(cuts, start, stop) if shown else (0, 0)
        looks = _looks(token.kind, shown or token.piece, head, tail)
        yield VisibleToken(token, turn, start, stop, looks, stop in cuts, bool(shown))
    if covered < len(data):
        yield _uncovered(data, ahead.until(len(data)), turn + 1, covered, len(data))


def _uncovered(data: bytes, cuts: Mapping[int, Span], turn: int, start: int, stop: int) -> VisibleToken:
    if start in cuts or stop in cuts:
        head, tail = _cut_ends(cuts, start, stop)
        looks = strip(cut_glyphs(data[start:stop], head=head, tail=tail))
    else:
        looks = _whole_strip(data[start:stop])
    return VisibleToken(None, turn, start, stop, looks, stop in cuts)


def _cut_ends(cuts: Mapping[int, Span], start: int, stop: int) -> tuple[int, int]:
    """Return how many bytes at the head and the tail belong to clusters that the two edges cut."""
    head = min(cuts[start].stop, stop) - start if start in cuts else 0
    tail = stop - max(cuts[stop].start, start) if stop in cuts else 0
    return head, min(tail, stop - start - head)


def _looks(kind: TokenKind, shown: bytes, head: int, tail: int) -> Strip:
    make = _token_strip if len(shown) <= _LONGEST_KEPT else _token_strip.__wrapped__
    return make(kind, shown, head, tail)


def _whole_strip(shown: bytes) -> Strip:
    """Return the strip of whole characters."""
    return _kept_strip(shown) if len(shown) <= _LONGEST_KEPT else strip(glyphs_of(shown))


@lru_cache(maxsize=1 << 16)
def _kept_strip(shown: bytes) -> Strip:
    return strip(glyphs_of(shown))


@lru_cache(maxsize=1 << 16)
def _token_strip(kind: TokenKind, shown: bytes, head: int, tail: int) -> Strip:
    if kind is TokenKind.BYTE and shown:
        is_cut = head + tail > 0
        return strip(glyph._replace(cut=is_cut) for glyph in byte_glyphs(shown))
    glyphs = cut_glyphs(shown, head=head, tail=tail) or (sign(EMPTY_MARK),)
    if kind is TokenKind.SPECIAL:
        return enclosed("⟪", glyphs, "⟫")
    if kind is TokenKind.UNKNOWN:
        return strip((sign(UNKNOWN_MARK), *glyphs))
    return strip(glyphs)
