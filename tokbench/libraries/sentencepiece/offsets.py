"""Spans of the tokens of many texts, computed from their ids, as the library reports spans only token by token.

The library's pieces cover the normalized text without gaps. So the spans in the normalized text are the cumulative
sums of the lengths of the pieces, and only the mapping to the original text remains:

- The kernel's normalizer maps them, for a model that runs on the kernel.
- Otherwise, if a model has no normalization table, and the pieces of a text spell the text (after the dummy prefix, if
  any), these sums are the spans.
- For any other text the library reports the origin of each byte of the normalized text.

The results equal those of `segment`, token for token.
"""

from __future__ import annotations

import os
from array import array
from functools import cached_property
from itertools import chain, compress
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.token_arrays import KIND_NUMBERS, PieceTable, offsets_of, tiled_spans
from tokbench.core.tokens import EncodedSpans, TokenKind
from tokbench.formats.sentencepiece.model import iter_user_defined, piece_bytes
from tokbench.formats.sentencepiece.pieces import PieceType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sentencepiece import SentencePieceProcessor

    from tokbench.core.tokens import Encoded
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.native._unigram import Normalizer as KernelNormalizer

_FOUND = (PieceType.NORMAL, PieceType.USER_DEFINED)
_UNKNOWN_RUN, _NO_SIZE = -1, -2
_IN_NO_TEXT = b"\xff"

_BYTE = KIND_NUMBERS[TokenKind.BYTE]
_UNKNOWN = KIND_NUMBERS[TokenKind.UNKNOWN]


class SpanFinder:
    """The finder of the spans of a model's tokens.

    Args:
        model: the parsed model.
        processor: the library's processor of the model.
        kinds: the kind of each id.
    """

    def __init__(
        self, model: SentencePieceFile, processor: SentencePieceProcessor, *, kinds: Sequence[TokenKind]
    ) -> None:
        self._processor = processor
        self._pieces = model.pieces
        self._kinds = np.array([KIND_NUMBERS[kind] for kind in kinds], np.uint8)
        self._surfaces = PieceTable.of(
            [
                # The id of an unknown token does not tell its text.
                _IN_NO_TEXT if piece.type is PieceType.UNKNOWN else piece_bytes(piece, unk_surface="")
                for piece in model.pieces
            ]
        )
        self._normal_sizes = np.array(
            [1 if piece.type is PieceType.BYTE else len(piece.text.encode()) for piece in model.pieces],
            np.int64,
        )
        self._prefix = b" " if model.normalizer["add_dummy_prefix"] else b""
        # A table or a symbol can match several characters at once, and a piece can end between them.
        self._keeps_characters = (
            not model.normalizer["precompiled_charsmap"]
            and all(len(symbol) == 1 for symbol in iter_user_defined(model))
            and not model.trainer["treat_whitespace_as_suffix"]  # adds the space after a text
        )

    def find(self, texts: Sequence[str], encoded: Encoded, *, threads: int | None) -> EncodedSpans:
        """Return tokens with their spans.

        Args:
            texts: the texts, without lone surrogates.
            encoded: their ids.
            threads: the number of threads if the library must encode texts again; None for one per processor.
        """
        data = [text.encode() for text in texts]
        starts, stops = tiled_spans(encoded.offsets, self._surfaces.sizes[encoded.ids])
        for places in (starts, stops):
            np.maximum(places - len(self._prefix), 0, out=places)
        counts = np.diff(encoded.offsets)
        is_other = (counts > 0) & ~self._are_joined_pieces(data, encoded)
        if is_other.any():
            self._replace(is_other, data, encoded, starts, stops, threads=threads)
        return EncodedSpans(encoded, starts, stops, self._kinds[encoded.ids])

    def find_on_kernel(
        self,
        normalizer: KernelNormalizer,
        texts: Sequence[str],
        encoded: Encoded,
        sizes: NDArray[np.int64] | None,
        *,
        threads: int,
    ) -> EncodedSpans:
        """Return tokens with their spans, computed by the kernel's normalizer.

        Args:
            normalizer: the normalizer of the model.
            texts: the texts, without lone surrogates.
            encoded: their ids.
            sizes: int64[N], the size of each token in the normalized text in bytes; None if it follows from the ids.
            threads: the number of threads.
        """
        if sizes is None:
            sizes = self._sizes(encoded)
        starts, stops, is_placed = normalizer.place_pieces(
            list(texts), sizes, encoded.offsets, self._known_characters, threads
        )
        is_other = is_placed == 0
        data = [text.encode() for text in texts] if self._has_bytes(encoded) or is_other.any() else []
        if is_other.any():
            self._replace(is_other, data, encoded, starts, stops, threads=threads)
        self._give_bytes(data, encoded.ids, encoded.offsets, starts, stops)
        return EncodedSpans(encoded, starts, stops, self._kinds[encoded.ids])

    def _has_bytes(self, encoded: Encoded) -> bool:
        return bool(np.any(self._kinds[encoded.ids] == _BYTE))

    def _sizes(self, encoded: Encoded) -> NDArray[np.int64]:
        """Return the sizes of tokens for `Normalizer.place_pieces`.

        An unknown token extends to the next character that is a piece, if the next token begins with such a character.
        Where it does not, the size is one that no text has.
        """
        sizes = self._normal_sizes[encoded.ids]
        unknown = np.flatnonzero(self._kinds[encoded.ids] == _UNKNOWN)
        if len(unknown):
            is_last = np.isin(unknown + 1, encoded.offsets)
            following = encoded.ids[np.minimum(unknown + 1, len(sizes) - 1)]
            is_certain = is_last | self._begins_with_known[following]
            sizes[unknown] = np.where(is_certain, _UNKNOWN_RUN, _NO_SIZE)
        return sizes

    @cached_property
    def _known_characters(self) -> NDArray[np.uint8]:
        """uint8[0x110000]: whether each character is a piece by itself."""
        known = np.zeros(0x110000, np.uint8)
        known[
            [ord(piece.text) for piece in self._pieces if len(piece.text) == 1 and piece.type in _FOUND]
        ] = 1
        return known

    @cached_property
    def _begins_with_known(self) -> NDArray[np.bool_]:
        """bool[V]: whether each piece begins with a character that is a piece by itself."""
        known = self._known_characters
        firsts = [ord(piece.text[0]) if piece.text else 0 for piece in self._pieces]
        begins: NDArray[np.bool_] = known[firsts] != 0
        return begins

    def _are_joined_pieces(self, data: Sequence[bytes], encoded: Encoded) -> NDArray[np.bool_]:
        """Return for each text whether its pieces, joined, are the dummy prefix and the text."""
        if not self._keeps_characters:
            return np.zeros(len(data), np.bool_)
        joined = self._surfaces.joined(encoded.ids)
        edges = offsets_of(self._surfaces.sizes[encoded.ids])[encoded.offsets].tolist()
        ranges = zip(data, edges[:-1], edges[1:], strict=True)
        return np.fromiter(
            (joined[start:stop] == self._prefix + text for text, start, stop in ranges), np.bool_, len(data)
        )

    # --- spans by the normalized text ---------------------------------------------------------

    def _replace(
        self,
        is_other: NDArray[np.bool_],
        data: Sequence[bytes],
        encoded: Encoded,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        *,
        threads: int | None,
    ) -> None:
        """Replace the spans of the texts that `is_other` marks, in `starts` and `stops`, by the library's."""
        tokens = np.repeat(is_other, encoded.counts)
        starts[tokens], stops[tokens] = self._by_normalization(
            list(compress(data, is_other)),
            encoded.ids[tokens],
            offsets_of(encoded.counts[is_other]),
            threads=threads,
        )

    def _by_normalization(
        self,
        data: Sequence[bytes],
        ids: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        *,
        threads: int | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the starts and stops of the tokens of texts, each of which has at least one token."""
        origins, origin_offsets = self._origins(data)
        sizes = self._normal_sizes[ids]
        kinds = self._kinds[ids]
        is_unknown = kinds == _UNKNOWN
        if is_unknown.any():
            sizes[is_unknown] = self._unknown_sizes(data, is_unknown, offsets, threads=threads)
        starts, stops = tiled_spans(offsets, sizes)
        firsts = np.repeat(origin_offsets[:-1], np.diff(offsets))
        starts, stops = origins[starts + firsts], origins[stops + firsts]
        self._give_bytes(data, ids, offsets, starts, stops)
        return starts, stops

    def _give_bytes(
        self,
        data: Sequence[bytes],
        ids: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
    ) -> None:
        """Give each byte token its own byte as its span, in `starts` and `stops`."""
        is_byte = np.flatnonzero(self._kinds[ids] == _BYTE)
        if not len(is_byte):
            return
        firsts = np.repeat(offsets_of(list(map(len, data)))[:-1], np.diff(offsets))[is_byte]
        values = np.frombuffer(self._surfaces.joined(ids[is_byte]), np.uint8)
        starts[is_byte], stops[is_byte] = (
            _own_bytes(starts[is_byte] + firsts, stops[is_byte] + firsts, values, b"".join(data)) - firsts
        )

    def _origins(self, data: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each byte and each end of the normalized texts its offset in its text, and where each text starts.

        The second array indexes the first one.
        """
        origins = array("q")
        offsets = [0]
        for text in data:
            _, places = self._processor.normalize(text, with_offsets=True)
            origins.fromlist(places)
            offsets.append(len(origins))
        return np.frombuffer(origins, np.int64), np.array(offsets, np.int64)

    def _unknown_sizes(
        self,
        data: Sequence[bytes],
        is_unknown: NDArray[np.bool_],
        offsets: NDArray[np.int64],
        *,
        threads: int | None,
    ) -> list[int]:
        """Return the length in bytes of each unknown token in the normalized text, from the library's pieces."""
        holds_unknown = np.logical_or.reduceat(is_unknown, offsets[:-1])
        pieces = self._processor.encode(
            [text.decode() for text in compress(data, holds_unknown)],
            out_type=str,
            num_threads=threads or os.cpu_count() or 1,
        )
        is_wanted = is_unknown[np.repeat(holds_unknown, np.diff(offsets))]
        return [len(piece.encode()) for piece in compress(chain.from_iterable(pieces), is_wanted)]


def _own_bytes(
    starts: NDArray[np.int64], stops: NDArray[np.int64], values: NDArray[np.uint8], data: bytes
) -> NDArray[np.int64]:
    """Return the spans that `own_spans` gives for byte tokens, for many texts at once: int64[2, N].

    Args:
        starts: the library's starts of the byte tokens.
        stops: the library's stops of the byte tokens.
        values: the bytes.
        data: the texts, joined.
    """
    leads = np.flatnonzero((values < 0x80) | (values >= 0xC0))
    sizes = np.diff(np.append(leads, len(values)))
    inside = np.arange(len(values)) - np.repeat(leads, sizes)
    places = np.repeat(starts[leads], sizes) + inside
    # A character that normalization made longer can reach beyond the end.
    same = np.frombuffer(data, np.uint8).take(places, mode="clip") == values
    is_text = np.logical_and.reduceat(same, leads) & (stops[leads + sizes - 1] - starts[leads] == sizes)
    return np.where(np.repeat(is_text, sizes), [places, places + 1], [starts, stops])
