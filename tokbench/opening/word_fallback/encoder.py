"""Encode texts word by word in Python, as `PreparedWordBpe` and `PreparedWordPiece` of the kernel do."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.core.alternatives import longest_first
from tokbench.core.special_tokens import WHITE_SPACE
from tokbench.core.token_arrays import offsets_of
from tokbench.libraries.huggingface.offsets import byte_offsets
from tokbench.opening.word_fallback.splitting import Splitter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tokbench.core.kernel_spans import Places
    from tokbench.core.tokens import Batch
    from tokbench.opening.found_tokens import FoundToken
    from tokbench.opening.split_steps import SplitSteps
    from tokbench.opening.word_fallback.models import WordModel, WordToken

_CACHE_SIZE = 1 << 16
_SPACES = "".join(sorted(WHITE_SPACE))
_WORD = re.compile(r"\w", re.ASCII)


class PlacedToken(NamedTuple):
    """A token with its span in bytes of its text."""

    id: int
    start: int
    stop: int


class WordEncoder:
    """An encoder that finds added tokens, splits the parts between them into words, and encodes these.

    Args:
        model: the model that encodes words.
        splitting: the steps that split texts into words.
        added: all added tokens.
    """

    def __init__(self, model: WordModel, *, splitting: SplitSteps, added: Sequence[FoundToken]) -> None:
        self._model = model
        self._splitter = Splitter(splitting)
        self._searches = {
            (specials, in_normalized): _AddedTokenSearch(
                [
                    token
                    for token in added
                    if token.in_normalized is in_normalized and (specials or not token.is_special)
                ]
            )
            for specials in (False, True)
            for in_normalized in (False, True)
        }
        self._cache: dict[str, list[WordToken]] = {}

    def added_places(self, text: bytes, *, specials: bool) -> list[tuple[int, int, int]]:
        """Return (start, stop, id) of the added tokens found in a raw text, before normalization."""
        characters = text.decode()
        places = byte_offsets(characters)
        found = self._searches[specials, False].parts(characters)
        return [(places[start], places[stop], id) for start, stop, id in found if id is not None]

    def encode(self, text: str, *, specials: bool = False, normalized: bool = False) -> list[int]:
        """Return the ids of a text. Raises UnicodeEncodeError for lone surrogates."""
        text.encode()
        return [token.id for token in self._tokens(text, specials=specials, normalized=normalized)]

    def encode_batch(
        self, texts: list[str], threads: int, *, specials: bool = False, normalized: bool = False
    ) -> Batch:
        """Return the ids of many texts, and their offsets as int64[len(texts) + 1]."""
        del threads
        encoded = [self.encode(text, specials=specials, normalized=normalized) for text in texts]
        ids = np.fromiter(chain.from_iterable(encoded), np.uint32)
        return ids, offsets_of(list(map(len, encoded)))

    def count_batch(
        self, texts: list[str], threads: int, *, specials: bool = False, normalized: bool = False
    ) -> NDArray[np.int64]:
        """Return the number of ids of each text."""
        del threads
        counts = (len(self.encode(text, specials=specials, normalized=normalized)) for text in texts)
        return np.fromiter(counts, np.int64, len(texts))

    def place_batch(self, texts: list[str], threads: int, *, normalized: bool = False) -> Places:
        """Return ids, starts, stops and the number of tokens of each text; spans are bytes of whole characters."""
        del threads
        placed = [self._whole_characters(text, normalized=normalized) for text in texts]
        columns = np.array(list(chain.from_iterable(placed)), np.int64).reshape(-1, 3).T
        counts = np.fromiter(map(len, placed), np.int64, len(texts))
        return columns[0].astype(np.uint32), columns[1], columns[2], counts

    def _whole_characters(self, text: str, *, normalized: bool) -> list[PlacedToken]:
        places = np.array(byte_offsets(text), np.int64)
        tokens = list(self._tokens(text, specials=False, normalized=normalized))
        starts = places[np.searchsorted(places, [token.start for token in tokens], side="right") - 1]
        stops = places[np.searchsorted(places, [token.stop for token in tokens])]
        return [
            PlacedToken(token.id, start, stop)
            for token, start, stop in zip(tokens, starts.tolist(), stops.tolist(), strict=True)
        ]

    def _tokens(self, text: str, *, specials: bool, normalized: bool) -> Iterator[PlacedToken]:
        places = byte_offsets(text)
        for start, stop, id in self._parts(text, specials=specials, normalized=normalized):
            if id is not None:
                yield PlacedToken(id, places[start], places[stop])
                continue
            for first, word in self._splitter.words(text[start:stop]):
                at = places[start + first]
                for token in self._word_tokens(word):
                    yield PlacedToken(token.id, at, at + token.size)
                    at += token.size

    def _parts(self, text: str, *, specials: bool, normalized: bool) -> Iterator[tuple[int, int, int | None]]:
        """Yield added tokens and the parts between them, with their start and stop in characters."""
        whole = [(0, len(text), None)] if text else []
        for first, end, id in whole if normalized else self._searches[specials, False].parts(text):
            if id is not None:
                yield first, end, id
                continue
            for start, stop, inner in self._searches[specials, True].parts(text[first:end]):
                yield first + start, first + stop, inner

    def _word_tokens(self, word: str) -> list[WordToken]:
        if (tokens := self._cache.get(word)) is None:
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.clear()
            tokens = self._cache[word] = self._model.tokens(word)
        return tokens


class _TextPart(NamedTuple):
    """An added token in a text, or a part between two of them.

    Attributes:
        start: its start, in characters.
        stop: its stop.
        id: the id of the token; None for a part between tokens.
    """

    start: int
    stop: int
    id: int | None


class _AddedTokenSearch:
    """A search for the leftmost token, the longest one at that position, that continues after each match.

    The kernel's is native/encoding/added_tokens.hpp.

    Args:
        tokens: the tokens to search for together.
    """

    def __init__(self, tokens: Sequence[FoundToken]) -> None:
        self._tokens = {token.text: token for token in tokens}
        self._pattern = re.compile(longest_first(self._tokens)) if self._tokens else None

    def parts(self, text: str) -> Iterator[_TextPart]:
        """Yield the parts of a text in order; no part is empty."""
        end = 0
        for found in self._pattern.finditer(text) if self._pattern is not None else ():
            token = self._tokens[found.group()]
            start, stop = found.span()
            if token.single_word and (
                _WORD.match(text[start - 1 : start]) or _WORD.match(text[stop : stop + 1])
            ):
                continue
            if token.lstrip:
                start = end + len(text[end:start].rstrip(_SPACES))
            if token.rstrip:
                stop = len(text) - len(text[stop:].lstrip(_SPACES))
            if end < start:
                yield _TextPart(end, start, None)
            yield _TextPart(start, stop, token.id)
            end = stop
        if end < len(text):
            yield _TextPart(end, len(text), None)
