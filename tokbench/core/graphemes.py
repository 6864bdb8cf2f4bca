"""Grapheme clusters (characters as a reader sees them), and token boundaries inside them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tokbench.core.tokens import Span
from tokbench.core.tokens_in_arrays import TokensInArrays

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.tokens import Segmentation

# The first alternative matches nothing that \X does not; without it, a run of flags takes quadratic time.
_CLUSTER = r"\p{RI}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+|\X"


@dataclass(frozen=True, slots=True)
class CutCluster:
    """A grapheme cluster with a token boundary inside.

    Attributes:
        text: the whole cluster.
        span: its span in the text, in UTF-8 bytes.
        boundaries: the byte offsets strictly inside `span` where a token starts or ends, ascending.
    """

    text: str
    span: Span
    boundaries: tuple[int, ...]

    @property
    def parts(self) -> tuple[bytes, ...]:
        r"""The bytes of the cluster, split at the boundaries.

        >>> CutCluster(text="é", span=Span(10, 12), boundaries=(11,)).parts
        (b'\xc3', b'\xa9')
        """
        data = self.text.encode()
        edges = (self.span.start, *self.boundaries, self.span.stop)
        return tuple(data[start - edges[0] : stop - edges[0]] for start, stop in pairwise(edges))


def clusters(text: str) -> list[str]:
    r"""Split a text into extended grapheme clusters (UAX 29).

    >>> clusters("Ae\u0301\r\n👩\u200d👧!") == ["A", "e\u0301", "\r\n", "👩\u200d👧", "!"]
    True
    """
    if text.isascii() and "\r\n" not in text:  # each character is a cluster, and `regex` is slow to import
        return list(text)
    found: list[str] = _compiled(_CLUSTER).findall(text)
    return found


def cut_clusters(segmentation: Segmentation) -> tuple[CutCluster, ...]:
    """Return the grapheme clusters that token boundaries cut, in order; CR LF does not count.

    Boundaries are the starts and stops of tokens with a non-empty span. Time is linear in the text.

    >>> from tokbench.core.tokens import Segmentation, Token, TokenKind
    >>> halves = [Token(i, b"", Span(i, i + 1), TokenKind.NORMAL) for i in range(3)]
    >>> [(cut.text, cut.boundaries) for cut in cut_clusters(Segmentation("aé", tuple(halves)))]
    [('é', (2,))]
    """
    return tuple(cut for _, cut in _clusters_with_cuts(segmentation) if cut is not None)


class CutsAhead:
    """The clusters that token boundaries cut, found from the beginning of a text as far as they are needed.

    Args:
        segmentation: the text and its tokens.
    """

    def __init__(self, segmentation: Segmentation) -> None:
        self._coming = _clusters_with_cuts(segmentation)
        self._known: dict[int, Span] = {}
        self.reached = 0

    def until(self, offset: int) -> Mapping[int, Span]:
        """Return the boundaries inside clusters, each with its cluster's span; those up to an offset are complete."""
        while self.reached < offset:
            stop, cut = next(self._coming, (offset, None))
            self.reached = max(stop, self.reached)
            if cut is not None:
                self._known.update(dict.fromkeys(cut.boundaries, cut.span))
        return self._known


def _clusters_with_cuts(segmentation: Segmentation) -> Iterator[tuple[int, CutCluster | None]]:
    """Yield the stop of each cluster that can be cut; with the cluster, if a boundary cuts it."""
    if segmentation.text.isascii():
        return
    boundaries = _boundaries(segmentation)
    index = 0
    for text, span in _longer_clusters(segmentation.text):
        index = bisect_right(boundaries, span.start, index)
        first = index
        while index < len(boundaries) and boundaries[index] < span.stop:
            index += 1
        cut = CutCluster(text, span, tuple(boundaries[first:index])) if index > first else None
        yield span.stop, cut


def _boundaries(segmentation: Segmentation) -> Sequence[int]:
    """Return the offsets where a token with a non-empty span starts or stops, ascending."""
    if isinstance(segmentation.tokens, TokensInArrays):
        return segmentation.tokens.edges()
    edges: set[int] = set()
    for token in segmentation.tokens:
        span = token.span
        if span.length > 0:
            edges.update(span)
    return sorted(edges)


def _longer_clusters(text: str) -> Iterator[tuple[str, Span]]:
    """Yield the clusters of more than one byte except CR LF; only these can be cut."""
    # Two printable ASCII characters never share a cluster, so a run of them is skipped up to its
    # last one, which may carry a combining mark.
    position = 0
    for match in _compiled(rf"[ -~]+(?=[ -~])|{_CLUSTER}").finditer(text):
        found = match.group()
        if found.isascii():
            position += len(found)
            continue
        span = Span(position, position + len(found.encode()))
        yield found, span
        position = span.stop


@cache
def _compiled(pattern: str) -> Any:
    import regex

    return regex.compile(pattern)
