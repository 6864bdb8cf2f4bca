"""A SentencePiece model whose tokenizer class changes a text in Python before the model encodes it.

The rules of a class say what the model gets: one or more parts, each of which it encodes by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.base import utf8
from tokbench.core.tokens import Encoded, Segmentation, Span, SpecialPolicy, Token, TokenKind
from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.libraries.sentencepiece.tokenizer import EncodesOrdinaryBatches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokbench.core.capabilities import Decoding
    from tokbench.libraries.sentencepiece.models import KernelModel

Origin = tuple[int, int]
"""Start and stop of the characters of a text that a character of a changed text comes from."""


@dataclass(frozen=True, slots=True)
class TextRules:
    """How a class changes a text.

    Attributes:
        parts: text → its parts, as the model gets them.
        origins: text → the origin of each character of each part.
        beginning: written in front of the first part of a text.
        guard: written in front of every part; the tokens that it has alone are dropped again.
    """

    parts: Callable[[str], list[str]]
    origins: Callable[[str], list[list[Origin]]]
    beginning: str = ""
    guard: str = ""


class ChangedModel(EncodesOrdinaryBatches):
    """A tokenizer that changes a text by the rules of a class, and encodes the result by a model.

    Args:
        model: the model.
        rules: the rules.
    """

    def __init__(self, model: KernelModel, rules: TextRules) -> None:
        self._model, self._rules = model, rules
        self.post_processing = model.post_processing
        self._num_guards = len(model.encode_ordinary(rules.guard))
        self._space = model.spelled_id(SPACE)
        super().__init__(replace(model.info, lossless=False))

    def own_roles(self) -> Mapping[str, str]:
        """Return the special tokens by role, as the model specifies them."""
        return self._model.own_roles()

    def spelled_id(self, text: str) -> int | None:
        """Return the id of a piece by its spelling in the model, or of a token by its bytes; None if there is none."""
        return self._model.spelled_id(text)

    # --- encoding -----------------------------------------------------------------------------

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """Encode a text. Raises `SpecialTokenError` under `SpecialPolicy.RAISE`, `TextError` for surrogates."""
        return [token.id for token in self._tokens(text, special=special, with_spans=False)]

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text. Raises `TextError` for surrogates."""
        return self.encode(text)

    def _encode_ordinary_batch(self, texts: Sequence[str], *, threads: int | None) -> Encoded:
        for text in texts:
            utf8(text)
        parts = [self._parts(text, is_first=True) for text in texts]
        own = self._model.encode_batch([part for of_text in parts for part in of_text], threads=threads)
        starts = own.offsets[:-1]
        place_in_part = np.arange(len(own.ids)) - np.repeat(starts, np.diff(own.offsets))
        counts = np.maximum(np.diff(own.offsets) - self._num_guards, 0)
        per_part = np.concatenate([[0], np.cumsum(counts)])
        ends = np.cumsum([0, *map(len, parts)])
        return Encoded(own.ids[place_in_part >= self._num_guards], per_part[ends].astype(np.int64))

    def count_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> NDArray[np.int64]:
        """Return how many ids `encode_batch` would give for each text. Raises as `encode_batch` does."""
        return self.encode_batch(texts, special=special, threads=threads).counts

    def segment(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> Segmentation:
        """Return the tokens of a text with their bytes and spans; their ids equal those of `encode`."""
        return Segmentation(text=text, tokens=tuple(self._tokens(text, special=special, with_spans=True)))

    def segment_ordinary(self, text: str) -> Iterable[Token]:
        """Return the tokens of a text, treating special tokens as ordinary text; spans are relative to its start."""
        return self.segment(text).tokens

    def _tokens(self, text: str, *, special: SpecialPolicy, with_spans: bool) -> Iterator[Token]:
        """Yield the tokens of a text; without spans, only their ids are right."""
        utf8(text)
        cut = list(self._finder.cut(text, special=special))
        offset = 0
        for place, part in enumerate(cut):
            size = len(part.text.encode())
            if part.token is not None:
                id = self._special_ids[part.token]
                yield Token(id, self._special_bytes[id], Span(offset, offset + size), TokenKind.SPECIAL)
            else:
                tokens = list(self._ordinary(part.text, offset, is_first=place == 0, with_spans=with_spans))
                is_last = place == len(cut) - 1
                if self._rules.beginning and not is_last and [token.id for token in tokens] == [self._space]:
                    tokens = []  # a class drops ▁ if a special token is all that follows it
                yield from tokens
            offset += size

    def _ordinary(self, text: str, offset: int, *, is_first: bool, with_spans: bool) -> Iterator[Token]:
        parts = self._parts(text, is_first=is_first)
        if not with_spans:
            for part in parts:
                ids = self._model.encode_ordinary(part)[self._num_guards :]
                yield from (Token(id, b"", Span(0, 0), TokenKind.NORMAL) for id in ids)
            return
        before = list(accumulate((len(character.encode()) for character in text), initial=offset))
        written = len(self._rules.guard)
        for place, (part, origins) in enumerate(zip(parts, self._rules.origins(text), strict=True)):
            begun = written + len(self._rules.beginning) * (is_first and place == 0)
            first = origins[0][0] if origins else len(text)
            bytes_of = [(before[start], before[stop]) for start, stop in [(first, first)] * begun + origins]
            places = _Places(part, bytes_of, end=before[-1])
            for token in list(self._model.segment_ordinary(part))[self._num_guards :]:
                yield Token(token.id, token.piece, places.span_of(token.span), token.kind)

    def _parts(self, text: str, *, is_first: bool) -> list[str]:
        """Return the parts of a text as the model gets them."""
        parts = self._rules.parts(text)
        if is_first and parts:
            parts[0] = self._rules.beginning + parts[0]
        return [self._rules.guard + part for part in parts] if self._rules.guard else parts

    # --- decoding -----------------------------------------------------------------------------

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of the text of ids. Raises `UnknownIdError`."""
        return self._model.decode_bytes(ids)

    @property
    def decoding(self) -> Decoding:
        """How ids are decoded: as by the model."""
        return self._model.decoding

    def ordinary_bytes(self, id: int) -> bytes | None:
        """Return the bytes of a token, with ▁ as a space."""
        return self._model.ordinary_bytes(id)

    def token_id(self, piece: bytes) -> int | None:
        """Return the id of a token, or None; a special token is looked up by the bytes of its text."""
        return self._model.token_id(piece)

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Raise `ConversionError`: no file holds the rules of the class."""
        del directory, overwrite
        raise ConversionError(
            f"{self.info.name!r} is a model whose tokenizer class changes texts first, which no file can contain",
            hint="copy its folder",
        )


class _Places:
    """Byte offsets in a changed part → spans in the bytes of its text.

    Args:
        part: the changed part.
        origins: start and stop in the text's bytes for each character of the part.
        end: the end of the text.
    """

    def __init__(self, part: str, origins: Sequence[Origin], *, end: int) -> None:
        self._starts: list[int] = []
        self._origins: list[Origin] = []
        size = 0
        for character, origin in zip(part, origins, strict=True):
            if not self._origins or origin != self._origins[-1]:  # several characters may have one origin
                self._starts.append(size)
                self._origins.append(origin)
            size += len(character.encode())
        self._starts.append(size)
        self._end = end

    def span_of(self, span: Span) -> Span:
        """Return the span in the text of a span in the part."""
        if span.start == span.stop:
            place = bisect_right(self._starts, span.start) - 1
            start = self._origins[place][0] if place < len(self._origins) else self._end
            return Span(start, start)
        return Span(self._exact(span.start, is_stop=False), self._exact(span.stop, is_stop=True))

    def _exact(self, offset: int, *, is_stop: bool) -> int:
        """Return the offset in the text; inside of what is not as long as its origin, the origin's start."""
        place = bisect_right(self._starts, offset - is_stop) - 1
        start, stop = self._origins[place]
        first, last = self._starts[place], self._starts[place + 1]
        if stop - start == last - first:
            return start + offset - first
        return stop if is_stop and offset == last else start
