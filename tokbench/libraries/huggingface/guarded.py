"""Encoding that recognizes control tokens only in trusted ranges, on `tokenizers`, which finds them everywhere.

A text in which the library finds no control token outside the trusted ranges is encoded by the library as usual. In
any other text, each control token of the trusted ranges is replaced by a spelling that no text contains, and the text
is encoded by a copy of the tokenizer that knows only these spellings. So the library's handling of text around an
added token (white space that it strips, a prefix space after it) stays the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokbench.core.guarded import ControlToken, ControlTokenGuard, GuardedTexts, Refused
from tokbench.core.guarded_arrays import DisguisedTexts
from tokbench.core.token_arrays import KIND_NUMBERS, combined, selected
from tokbench.core.tokens import TokenKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.core.tokens import EncodedSpans


class FindsTokens(Protocol):
    """A function that encodes texts on one of two copies of the library's tokenizer."""

    def __call__(
        self, texts: Sequence[str], *, isolated: bool, threads: int | None
    ) -> tuple[EncodedSpans, NDArray[np.int64]]:
        """Return the tokens of texts, and the character range of each token in its text as int64[N, 2].

        `isolated` selects the copy that knows only the disguises of control tokens; the other copy finds control
        tokens as the file spells them.
        """


class GuardedEncoder:
    """An encoder that recognizes control tokens only in trusted ranges.

    Args:
        ids: text → id of the control tokens.
        disguises: text → spelling in the isolated copy, of the control tokens.
        run_library: encodes texts on the library.
        unknown: the text of the unknown token.
    """

    def __init__(
        self,
        ids: Mapping[str, int],
        disguises: Mapping[str, str],
        run_library: FindsTokens,
        *,
        unknown: str | None,
    ) -> None:
        self._ids = ids
        self._texts = {id: text for text, id in ids.items()}
        self._disguises = disguises
        self._run_library = run_library
        self._unknown = ids.get(unknown) if unknown is not None else None
        self._id_array = np.array(list(ids.values()), np.uint32)
        self._guard = ControlTokenGuard(ids, recognize=self._library_tokens)

    def encode(
        self, texts: Sequence[str], trusted: Sequence[Sequence[tuple[int, int]]], *, threads: int | None
    ) -> GuardedTexts:
        """Return the result of `tokbench.core.guarded.encode_guarded`."""
        spans, ranges = self._run_library(texts, isolated=False, threads=threads)
        offsets = spans.encoded.offsets
        is_control = np.isin(spans.encoded.ids, self._id_array)
        is_safe = np.ones(len(texts), np.bool_)
        refused: list[Refused] = []
        disguised = DisguisedTexts(self._disguises)
        for number, (text, allowed) in enumerate(zip(texts, trusted, strict=True)):
            tokens, outside = self._guard.find(text, allowed)
            own = slice(offsets[number], offsets[number + 1])
            controls = self._control_tokens(text, spans.encoded.ids[own], ranges[own], is_control[own])
            wrong = [token for token in controls if not _is_inside(token, allowed)]
            refused.extend(
                Refused(number, *place) for place in sorted({*outside, *_not_overlapping(wrong, outside)})
            )
            if wrong:
                is_safe[number] = False
                disguised.add(text, tokens)
        spans = self._with_kinds(spans, is_control)
        if not is_safe.all():
            hidden, _ = self._run_library(disguised.texts, isolated=True, threads=threads)
            hidden = self._with_kinds(hidden, np.isin(hidden.encoded.ids, self._id_array))
            spans = combined(selected(spans, is_safe), disguised.undisguised(hidden), chosen=is_safe)
        return GuardedTexts(spans, tuple(refused))

    def _library_tokens(self, text: str) -> Iterator[ControlToken]:
        """Return the control tokens that the library finds in a text."""
        spans, ranges = self._run_library([text], isolated=False, threads=1)
        ids = spans.encoded.ids
        # With the library's ranges: in a trusted text, white space that the token strips belongs to it.
        return self._control_tokens(text, ids, ranges, np.isin(ids, self._id_array), trimmed=False)

    def _control_tokens(
        self,
        text: str,
        ids: NDArray[np.uint32],
        ranges: NDArray[np.int64],
        is_control: NDArray[np.bool_],
        *,
        trimmed: bool = True,
    ) -> Iterator[ControlToken]:
        for place in np.flatnonzero(is_control).tolist():
            id = int(ids[place])
            start, stop = ranges[place].tolist()
            token = self._texts[id]
            if id == self._unknown and token not in text[start:stop]:
                continue  # a character that the vocabulary does not cover
            if trimmed:
                start, stop = _without_white_space(text, start, stop, token=token)
            yield ControlToken(start, stop, token)

    def _with_kinds(self, spans: EncodedSpans, is_control: NDArray[np.bool_]) -> EncodedSpans:
        unknown = KIND_NUMBERS[TokenKind.UNKNOWN]
        kinds = np.where(is_control & (spans.kinds != unknown), KIND_NUMBERS[TokenKind.SPECIAL], spans.kinds)
        return type(spans)(spans.encoded, spans.starts, spans.stops, kinds.astype(np.uint8))


def _without_white_space(text: str, start: int, stop: int, *, token: str) -> tuple[int, int]:
    """Return the range of a token without the white space that it strips."""
    at = text.find(token, start, stop)
    if at >= 0:
        return at, at + len(token)
    while start < stop - 1 and text[start].isspace():
        start += 1
    while stop > start + 1 and text[stop - 1].isspace():
        stop -= 1
    return start, stop


def _is_inside(token: ControlToken, trusted: Sequence[tuple[int, int]]) -> bool:
    place = bisect_right(trusted, token.start, key=itemgetter(0)) - 1
    return place >= 0 and trusted[place][0] <= token.start and token.stop <= trusted[place][1]


def _not_overlapping(
    wrong: Sequence[ControlToken], outside: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int, str]]:
    """Yield the tokens that only the library found, in text that it normalized.

    Args:
        wrong: the tokens that the library found.
        outside: the ranges of those that were found without it.

    >>> found = [ControlToken(4, 6, "<a>"), ControlToken(6, 8, "<b>")]
    >>> list(_not_overlapping(found, [(5, 6, "<a>"), (0, 3, "<a>")]))
    [(6, 8, '<b>')]
    """
    firsts = sorted(first for first, _, _ in outside)
    furthest = list(accumulate((last for _, last, _ in sorted(outside)), max))
    for start, stop, token in wrong:
        place = bisect_left(firsts, stop)  # those before it begin before the token ends
        if not place or furthest[place - 1] <= start:
            yield start, stop, token
