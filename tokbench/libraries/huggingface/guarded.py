"""Recognize control tokens only in trusted ranges, on the `tokenizers` library, which finds them in every text.

A text in which the library itself finds none outside the trusted ranges is encoded as the library does it. In another
one, each control token of the trusted ranges is written as no text is, for a copy of the tokenizer that knows these
spellings alone: so what the library does beside an added token (white space that it takes, spaces put in front)
is done here as well.
"""

from __future__ import annotations

from bisect import bisect_right
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

    from tokbench.core.encoded import EncodedSpans


class FindsTokens(Protocol):
    """Encodes texts on one of two copies of the library's tokenizer."""

    def __call__(
        self, texts: Sequence[str], *, isolated: bool, threads: int | None
    ) -> tuple[EncodedSpans, NDArray[np.int64]]:
        """The tokens of texts, and int64[N, 2] the characters of each in its text.

        `isolated` is the copy that knows control tokens by their disguises, the other one finds them as spelled.
        """


class GuardedEncoder:
    """Encodes texts under guard.

    Args:
        ids: text → id of the control tokens.
        disguises: the text of each → how the isolated copy spells it.
        found: runs the library.
        unknown: the text of the token for what the vocabulary does not cover.
    """

    def __init__(
        self, ids: Mapping[str, int], disguises: Mapping[str, str], found: FindsTokens, *, unknown: str | None
    ) -> None:
        self._ids = ids
        self._texts = {id: text for text, id in ids.items()}
        self._disguises = disguises
        self._found = found
        self._unknown = ids.get(unknown) if unknown is not None else None
        self._id_array = np.array(list(ids.values()), np.uint32)
        self._guard = ControlTokenGuard(ids, recognize=self._recognized)

    def encode(
        self, texts: Sequence[str], trusted: Sequence[Sequence[tuple[int, int]]], *, threads: int | None
    ) -> GuardedTexts:
        """What `tokbench.core.guarded.encode_guarded` gives."""
        spans, ranges = self._found(texts, isolated=False, threads=threads)
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
            refused.extend(Refused(number, *place) for place in sorted({*outside, *_apart(wrong, outside)}))
            if wrong:
                is_safe[number] = False
                disguised.add(text, tokens)
        spans = self._with_kinds(spans, is_control)
        if not is_safe.all():
            hidden, _ = self._found(disguised.texts, isolated=True, threads=threads)
            hidden = self._with_kinds(hidden, np.isin(hidden.encoded.ids, self._id_array))
            spans = combined(selected(spans, is_safe), disguised.undisguised(hidden), chosen=is_safe)
        return GuardedTexts(spans, tuple(refused))

    def _recognized(self, text: str) -> Iterator[ControlToken]:
        """The control tokens that the library finds in a text."""
        spans, ranges = self._found([text], isolated=False, threads=1)
        ids = spans.encoded.ids
        # As wide as the library has them: the white space of a trusted text is the token's.
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
    """Where a token stands without the white space that it took."""
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


def _apart(
    wrong: Sequence[ControlToken], outside: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int, str]]:
    """What only the library found: in a text that it had normalized."""
    for start, stop, token in wrong:
        if not any(first < stop and start < last for first, last, _ in outside):
            yield start, stop, token
