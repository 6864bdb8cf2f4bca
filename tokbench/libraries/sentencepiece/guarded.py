"""Encoding that recognizes control tokens only in trusted ranges, for SentencePiece models with user-defined symbols.

The library finds user-defined symbols everywhere, in the normalized text, too. If it finds one outside the trusted
ranges of a text, the text is encoded by a copy of the model that spells each symbol as one character that occurs in no
text.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokbench.core.guarded import ControlToken, ControlTokenGuard, GuardedTexts, Refused, encode_between
from tokbench.core.guarded_arrays import DisguisedTexts
from tokbench.core.interfaces import Tokenizer
from tokbench.core.token_arrays import KIND_NUMBERS, character_offsets, combined, encode_spans, selected
from tokbench.core.tokens import TokenKind
from tokbench.formats.protobuf import fields, length_field, written_field
from tokbench.formats.sentencepiece.model import parse_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokbench.core.tokens import EncodedSpans
    from tokbench.formats.sentencepiece.model import SentencePieceFile

_PIECES, _SELF_TEST = 1, 4
_PIECE_TEXT = 1
_PRIVATE = range(0xF0000, 0xFFFFE)
"""Private use characters, which hardly any text contains."""


class HasSymbols(Tokenizer, Protocol):
    """A SentencePiece model with user-defined symbols."""

    proto: bytes
    """The serialized model."""

    @property
    def control_tokens(self) -> Mapping[str, int]:
        """The control tokens and user-defined symbols, text → id."""


class GuardedEncoder:
    """An encoder that recognizes control tokens only in trusted ranges.

    Args:
        tokenizer: the tokenizer, with user-defined symbols among its control tokens.
        open_disguised: creates a tokenizer of a model with other spellings.
    """

    def __init__(
        self,
        tokenizer: HasSymbols,
        open_disguised: Callable[[bytes, SentencePieceFile], HasSymbols],
    ) -> None:
        self._tokenizer = tokenizer
        self._open_disguised = open_disguised
        self._controls = tokenizer.info.special_tokens
        self._symbols = {
            text: id for text, id in tokenizer.control_tokens.items() if text not in self._controls
        }
        self._symbol_ids = np.array(list(self._symbols.values()), np.uint32)
        self._texts = {id: text for text, id in self._symbols.items()}
        self._guard = ControlTokenGuard(tokenizer.control_tokens)
        self._control_guard = ControlTokenGuard(self._controls)
        self._disguised: tuple[Mapping[str, str], HasSymbols] | None = None

    def encode(
        self, texts: Sequence[str], trusted: Sequence[Sequence[tuple[int, int]]], *, threads: int | None
    ) -> GuardedTexts:
        """Return the result of `tokbench.core.guarded.encode_guarded`."""
        guarded = encode_between(self._tokenizer, texts, trusted, guard=self._control_guard, threads=threads)
        spans = self._with_kinds(guarded.spans)
        is_safe = np.ones(len(texts), np.bool_)
        refused: list[Refused] = []
        for number, (text, allowed) in enumerate(zip(texts, trusted, strict=True)):
            _, outside = self._guard.find(text, allowed)
            wrong = [
                place for place in self._symbols_in(spans, number, text) if not _is_inside(place, allowed)
            ]
            is_safe[number] = not wrong
            in_normalized = {p for p in wrong if not any(o[0] < p.stop and p.start < o[1] for o in outside)}
            refused.extend(Refused(number, *place) for place in sorted({*outside, *in_normalized}))
        if not is_safe.all():
            unsafe = np.flatnonzero(~is_safe).tolist()
            disguised = self._encode_disguised(
                [texts[n] for n in unsafe], [trusted[n] for n in unsafe], threads=threads
            )
            spans = combined(selected(spans, is_safe), self._with_kinds(disguised), chosen=is_safe)
        return GuardedTexts(spans, tuple(refused))

    def _symbols_in(self, spans: EncodedSpans, number: int, text: str) -> Iterator[ControlToken]:
        """Yield the user-defined symbols that the library found in a text."""
        offsets = spans.encoded.offsets
        own = slice(offsets[number], offsets[number + 1])
        places = np.flatnonzero(np.isin(spans.encoded.ids[own], self._symbol_ids))
        if not len(places):
            return
        edges = character_offsets(text)
        starts = np.searchsorted(edges, spans.starts[own][places], side="right") - 1
        stops = np.searchsorted(edges, spans.stops[own][places], side="left")
        for place, start, stop in zip(places.tolist(), starts.tolist(), stops.tolist(), strict=True):
            yield ControlToken(start, max(stop, start), self._texts[int(spans.encoded.ids[own][place])])

    def _encode_disguised(
        self, texts: Sequence[str], trusted: Sequence[Sequence[tuple[int, int]]], *, threads: int | None
    ) -> EncodedSpans:
        """Return the tokens of texts, with symbols outside the trusted ranges as ordinary text."""
        spellings, disguised_tokenizer = self._copy_for(texts)
        disguised = DisguisedTexts(spellings)
        ranges: list[list[tuple[int, int]]] = []
        for text, allowed in zip(texts, trusted, strict=True):
            symbols = [token for token in self._guard.find(text, allowed)[0] if token[2] in self._symbols]
            disguised.add(text, symbols)
            ranges.append(_shifted(allowed, symbols))
        hidden = encode_between(
            disguised_tokenizer, disguised.texts, ranges, guard=self._control_guard, ids=self._controls,
            encode=lambda parts: encode_spans(disguised_tokenizer, parts, threads=threads),
        )  # fmt: skip
        return disguised.undisguised(hidden.spans)

    def _copy_for(self, texts: Sequence[str]) -> tuple[Mapping[str, str], HasSymbols]:
        """Return new spellings that occur in none of the texts, and the tokenizer that uses them."""
        while self._disguised is None or any(
            character in text for text in texts for character in self._disguised[0].values()
        ):
            taken = {character for text in texts for character in text}
            free = [character for character in map(chr, _PRIVATE) if character not in taken]
            first = secrets.randbelow(len(free) - len(self._symbols))
            spellings = dict(zip(self._symbols, free[first:], strict=False))
            proto = _respelled(self._tokenizer.proto, spellings)
            self._disguised = spellings, self._open_disguised(proto, parse_model(proto))
        return self._disguised

    def _with_kinds(self, spans: EncodedSpans) -> EncodedSpans:
        symbols = np.isin(spans.encoded.ids, self._symbol_ids)
        kinds = np.where(symbols, KIND_NUMBERS[TokenKind.SPECIAL], spans.kinds).astype(np.uint8)
        return type(spans)(spans.encoded, spans.starts, spans.stops, kinds)


def _respelled(proto: bytes, spellings: Mapping[str, str]) -> bytes:
    """Return the model with new texts of some of its pieces."""
    texts = {text.encode(): other.encode() for text, other in spellings.items()}
    parts: list[bytes] = []
    for number, value in fields(proto):
        if number == _PIECES and isinstance(value, bytes):
            text = next((v for n, v in fields(value) if n == _PIECE_TEXT), b"")
            if isinstance(text, bytes) and text in texts:
                value += length_field(_PIECE_TEXT, texts[text])  # noqa: PLW2901 -- the last field counts
        if number != _SELF_TEST:
            parts.append(written_field(number, value))
    return b"".join(parts)


def _shifted(
    trusted: Sequence[tuple[int, int]], symbols: Sequence[tuple[int, int, str]]
) -> list[tuple[int, int]]:
    """Return the trusted ranges after each symbol in them has been replaced by one character."""

    def moved(place: int) -> int:
        return place - sum(last - first - 1 for first, last, _ in symbols if last <= place)

    return [(moved(start), moved(stop)) for start, stop in trusted]


def _is_inside(token: ControlToken, trusted: Sequence[tuple[int, int]]) -> bool:
    return any(start <= token.start and token.stop <= stop for start, stop in trusted)
