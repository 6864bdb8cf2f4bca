"""The tokens of a text in reading order, and the text between them that none covers, made visible."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.graphemes import cut_clusters
from tokbench.core.tokens import TokenKind
from tokbench.render.glyphs import Glyph, Strip, byte_glyphs, cut_glyphs, sign, strip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.core.tokens import Segmentation, Span, Token

UNKNOWN_MARK = "⟨?⟩"
EMPTY_MARK = "⟨empty⟩"
_LONGEST_KEPT = 64


class VisibleToken(NamedTuple):
    """A token, or text that no token covers.

    Attributes:
        token: None where no token covers the text.
        turn: the position of the token, or of the one behind the text.
        start: its first byte in the text.
        stop: the byte behind its last one.
        strip: what it looks like; a token that covers no text is shown by its bytes.
        cuts_behind: whether its end is inside a grapheme cluster.
        covers_text: whether it stands for some of the text.
    """

    token: Token | None
    turn: int
    start: int
    stop: int
    strip: Strip
    cuts_behind: bool
    covers_text: bool = True


def visible_tokens(segmentation: Segmentation) -> Iterator[VisibleToken]:
    """Everything of a segmentation; its spans may be empty, overlap or leave gaps."""
    data = segmentation.text.encode()
    cuts = {edge: cut.span for cut in cut_clusters(segmentation) for edge in cut.boundaries}
    covered = 0
    for turn, token in enumerate(segmentation.tokens):
        start, stop = min(token.span.start, len(data)), token.span.stop
        if start > covered:
            yield _uncovered(data, cuts, turn, covered, start)
        covered = max(covered, start, stop)
        shown = data[token.span.start : stop]
        head, tail = _cut_ends(cuts, *token.span) if shown else (0, 0)
        looks = _looks(token.kind, shown or token.piece, head, tail)
        yield VisibleToken(token, turn, token.span.start, stop, looks, stop in cuts, bool(shown))
    if covered < len(data):
        yield _uncovered(data, cuts, len(segmentation.tokens), covered, len(data))


def enclosed(opening: str, glyphs: tuple[Glyph, ...], closing: str) -> Strip:
    """Glyphs in brackets; the closing one stays on the line of what it closes."""
    last = glyphs[-1]
    return strip(
        (
            sign(opening),
            *glyphs[:-1],
            last._replace(ends_line=False),
            sign(closing, ends_line=last.ends_line),
        )
    )


def _uncovered(data: bytes, cuts: Mapping[int, Span], turn: int, start: int, stop: int) -> VisibleToken:
    head, tail = _cut_ends(cuts, start, stop)
    looks = strip(cut_glyphs(data[start:stop], head=head, tail=tail))
    return VisibleToken(None, turn, start, stop, looks, stop in cuts)


def _cut_ends(cuts: Mapping[int, Span], start: int, stop: int) -> tuple[int, int]:
    """How many bytes at the head and the tail belong to clusters that these edges cut."""
    head = min(cuts[start].stop, stop) - start if start in cuts else 0
    tail = stop - max(cuts[stop].start, start) if stop in cuts else 0
    return head, min(tail, stop - start - head)


def _looks(kind: TokenKind, shown: bytes, head: int, tail: int) -> Strip:
    make = _token_strip if len(shown) <= _LONGEST_KEPT else _token_strip.__wrapped__
    return make(kind, shown, head, tail)


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
