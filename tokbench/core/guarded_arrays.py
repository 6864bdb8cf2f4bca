"""The arrays of texts that were split at their control tokens, joined again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from tokbench.core.token_arrays import KIND_NUMBERS, offsets_of
from tokbench.core.tokens import Encoded, EncodedSpans, TokenKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray


class PartedTexts:
    """Texts as alternating parts: ordinary text and control tokens, beginning and ending with ordinary text.

    Args:
        ids: text → id of the control tokens.

    Attributes:
        ordinary: the ordinary parts of all texts in order, empty ones included.
    """

    def __init__(self, ids: Mapping[str, int]) -> None:
        self._ids = ids
        self.ordinary: list[str] = []
        self._controls: list[int] = []
        self._control_sizes: list[int] = []
        self._counts: list[int] = []

    def add(self, text: str, found: Sequence[tuple[int, int, str]]) -> None:
        """Add a text (valid in UTF-8) with its control tokens."""
        ordinary, position = self.ordinary, 0
        for start, stop, token in found:
            ordinary.append(text[position:start])
            control = text[start:stop]
            self._controls.append(self._ids[token])
            self._control_sizes.append(stop - start if control.isascii() else len(control.encode()))
            position = stop
        ordinary.append(text[position:])
        self._counts.append(len(found))

    def joined(self, between: EncodedSpans) -> EncodedSpans:
        """Return the tokens of the texts.

        Args:
            between: the tokens of the ordinary parts.
        """
        # A sequence of items: each ordinary part, and each control token as a part with one token.
        num_controls = np.array(self._counts, np.int64)
        items = offsets_of(2 * num_controls + 1)
        local = np.arange(items[-1]) - np.repeat(items[:-1], np.diff(items))
        is_control = local % 2 == 1
        sizes = np.empty(len(is_control), np.int64)
        sizes[is_control] = self._control_sizes
        sizes[~is_control] = [len(part) if part.isascii() else len(part.encode()) for part in self.ordinary]
        counts = np.ones(len(is_control), np.int64)
        counts[~is_control] = between.encoded.counts
        edges = offsets_of(sizes)
        firsts = edges[:-1] - np.repeat(edges[items[:-1]], np.diff(items))
        edges = offsets_of(counts)
        controls = edges[:-1][is_control]
        is_ordinary = np.ones(edges[-1], np.bool_)
        is_ordinary[controls] = False
        ids = np.empty(len(is_ordinary), np.uint32)
        ids[is_ordinary], ids[controls] = between.encoded.ids, self._controls
        starts = np.zeros(len(is_ordinary), np.int64)
        starts[is_ordinary] = between.starts
        stops = np.empty(len(is_ordinary), np.int64)
        stops[is_ordinary], stops[controls] = between.stops, sizes[is_control]
        moved = np.repeat(firsts, counts)
        starts += moved
        stops += moved
        kinds = np.empty(len(is_ordinary), np.uint8)
        kinds[is_ordinary], kinds[controls] = between.kinds, KIND_NUMBERS[TokenKind.SPECIAL]
        return EncodedSpans(Encoded(ids, edges[items]), starts, stops, kinds)


class DisguisedTexts:
    """Texts in which each control token has a private spelling that occurs in no text, for a tokenizer that knows it.

    The tokenizer then handles everything that depends on the neighbours of a control token.

    Args:
        spellings: the text of each control token → its private spelling.

    Attributes:
        texts: the texts added so far, with private spellings.
    """

    def __init__(self, spellings: Mapping[str, str]) -> None:
        self._spellings = spellings
        self.texts: list[str] = []
        self._edges: list[NDArray[np.int64]] = []
        self._original_edges: list[NDArray[np.int64]] = []

    def add(self, text: str, found: Iterable[tuple[int, int, str]]) -> None:
        """Add a text with its control tokens."""
        parts: list[str] = []
        originals: list[str] = []
        position = 0
        for start, stop, token in found:
            originals += text[position:start], text[start:stop]
            parts += text[position:start], self._spellings[token]
            position = stop
        parts.append(text[position:])
        originals.append(text[position:])
        self.texts.append("".join(parts))
        self._edges.append(offsets_of([len(part.encode()) for part in parts]))
        self._original_edges.append(offsets_of([len(part.encode()) for part in originals]))

    def undisguised(self, spans: EncodedSpans) -> EncodedSpans:
        """Convert the tokens of the disguised texts to tokens of the original texts."""
        offsets = spans.encoded.offsets
        starts, stops = spans.starts.copy(), spans.stops.copy()
        for number, (edges, originals) in enumerate(zip(self._edges, self._original_edges, strict=True)):
            own = slice(offsets[number], offsets[number + 1])
            starts[own] = _originals_of(spans.starts[own], edges, originals, side="right")
            stops[own] = np.maximum(
                starts[own], _originals_of(spans.stops[own], edges, originals, side="left")
            )
        return EncodedSpans(spans.encoded, starts, stops, spans.kinds)


def _originals_of(
    places: NDArray[np.int64],
    edges: NDArray[np.int64],
    originals: NDArray[np.int64],
    *,
    side: Literal["left", "right"],
) -> NDArray[np.int64]:
    """Map offsets in a disguised text to the original text; `side` picks the part of an offset between two parts.

    >>> _originals_of(np.array([0, 3, 9, 10]), np.array([0, 3, 9, 11]), np.array([0, 3, 5, 7]), side="right").tolist()
    [0, 3, 5, 6]
    """
    part = np.searchsorted(edges[1:-1], places, side=side)
    inside = originals[part] + np.minimum(places - edges[part], originals[part + 1] - originals[part])
    moved: NDArray[np.int64] = np.where(places == edges[part + 1], originals[part + 1], inside)
    return moved
