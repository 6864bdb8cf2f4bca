"""The Python encoder and decoder of one vocabulary."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from tokbench.backends.bpe import reference
from tokbench.backends.bpe.fallback.splitting import named_pattern
from tokbench.backends.bpe.split_patterns import split
from tokbench.core.kernel_or_library import EncodesOneByOne
from tokbench.core.merging import merge_symbols

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.backends.bpe.reference import Pair

_MAX_SEEN = 1 << 16


class Encoder(EncodesOneByOne):
    """An encoder with one vocabulary, and a cache of pre-tokens."""

    def __init__(self, merges: NDArray[np.uint32] | memoryview, pattern: str | None) -> None:
        rows = cast("list[list[int]]", merges.tolist())
        for number, pair in enumerate(rows):
            if max(pair) >= reference.NUM_BYTES + number:
                raise ValueError(f"merge {number} refers to an id that is not made yet")
        tokens = reference.vocabulary(rows)
        new_ids = range(reference.NUM_BYTES, len(tokens))
        self._set(tokens, merges=_merges(rows, new_ids), byte_ids=range(256), pattern=pattern)

    @classmethod
    def from_ranks(cls, tokens: list[bytes], pattern: str | None) -> Encoder:
        """Build an encoder that merges adjacent tokens if their joined bytes are a token, the lowest rank first."""
        if b"" in tokens:
            raise ValueError(f"token {tokens.index(b'')} is empty")
        return cls._of_ranks(tokens, pattern)

    @classmethod
    def from_ranked_block(
        cls, block: bytes, starts: memoryview, gaps: list[int], pattern: str | None
    ) -> Encoder:
        """Do the same as `from_ranks` for tokens in a block of bytes, with gaps among the ranks."""
        return cls._of_ranks(_tokens_in(block, starts, gaps), pattern)

    @classmethod
    def from_merged_block(
        cls,
        block: bytes,
        starts: memoryview,
        gaps: list[int],
        merges: memoryview,
        *,
        whole_tokens_first: bool,
        pattern: str | None,
    ) -> Encoder:
        """Do the same as `from_parts` for tokens in a block of bytes and a flat sequence of merges."""
        rows = np.asarray(merges).reshape(-1, 3)
        tokens = _tokens_in(block, starts, gaps)
        return cls.from_parts(tokens, rows, whole_tokens_first=whole_tokens_first, pattern=pattern)

    @classmethod
    def _of_ranks(cls, tokens: list[bytes], pattern: str | None) -> Encoder:
        ids: dict[bytes, int] = {}
        for id, token in enumerate(tokens):
            if token and ids.setdefault(token, id) != id:
                raise ValueError(f"token {id} occurs twice")
        merges = {
            (ids[token[:cut]], ids[token[cut:]]): (id, id)
            for id, token in enumerate(tokens)
            for cut in range(1, len(token))
            if token[:cut] in ids and token[cut:] in ids
        }
        encoder = cls.__new__(cls)
        encoder._set(tokens, merges=merges, byte_ids=_byte_ids(ids), pattern=pattern, whole_tokens=ids)
        return encoder

    @classmethod
    def from_parts(
        cls, tokens: list[bytes], merges: NDArray[np.uint32], *, whole_tokens_first: bool, pattern: str | None
    ) -> Encoder:
        """Build an encoder from tokens by id (empty for a gap) and merges (left, right, merged id) by rank."""
        ids: dict[bytes, int] = {}
        for id, token in enumerate(tokens):
            if token:
                ids.setdefault(token, id)
        byte_ids = _byte_ids(ids)
        rows: list[list[int]] = merges.tolist()
        for number, row in enumerate(rows):
            if max(row) >= len(tokens):
                raise ValueError(f"merge {number} refers to an id that does not exist")
            if tokens[row[0]] + tokens[row[1]] != tokens[row[2]]:
                raise ValueError(f"merge {number} does not make its token")
        encoder = cls.__new__(cls)
        encoder._set(
            tokens,
            merges=_merges(rows, [row[2] for row in rows]),
            byte_ids=byte_ids,
            pattern=pattern,
            whole_tokens=ids if whole_tokens_first else {},
        )
        return encoder

    def _set(
        self,
        tokens: list[bytes],
        *,
        merges: Mapping[Pair, tuple[int, int]],
        byte_ids: Sequence[int],
        pattern: str | None,
        whole_tokens: Mapping[bytes, int] | None = None,
    ) -> None:
        self._tokens = list(tokens)
        self._merges = merges
        self._byte_ids = byte_ids
        self._whole_tokens = whole_tokens or {}
        self._pattern = named_pattern(pattern)
        self._seen: dict[str, tuple[int, ...]] = {}

    def with_pattern(self, pattern: str | None) -> Encoder:
        encoder = copy(self)
        encoder._pattern = named_pattern(pattern)
        return encoder

    def encode(self, text: str) -> list[int]:
        text.encode()
        ids: list[int] = []
        for pretoken in split(self._pattern, text):
            ids.extend(self._encode_pretoken(pretoken))
        return ids

    def encode_bytes(self, text: bytes) -> list[int]:
        return list(self._merge(text))

    def encode_split(self, text: str, ends: list[int]) -> NDArray[np.uint32]:
        data = text.encode()
        if any(start >= end for start, end in pairwise([0, *ends])) or (ends or [0])[-1] != len(data):
            raise ValueError("the pre-tokens must be ascending and cover the text")
        ids = [id for start, end in pairwise([0, *ends]) for id in self._merge(data[start:end])]
        return np.array(ids, dtype=np.uint32)

    def complete(self) -> None:
        """Do nothing, as the fallback has no tables."""

    def tokens(self) -> list[bytes]:
        return list(self._tokens)

    def __len__(self) -> int:
        return len(self._tokens)

    def _encode_pretoken(self, pretoken: str) -> tuple[int, ...]:
        ids = self._seen.get(pretoken)
        if ids is None:
            ids = tuple(self._merge(pretoken.encode()))
            if len(self._seen) >= _MAX_SEEN:
                self._seen.clear()
            self._seen[pretoken] = ids
        return ids

    def _merge(self, pretoken: bytes) -> Sequence[int]:
        if pretoken in self._whole_tokens:
            return (self._whole_tokens[pretoken],)
        return merge_symbols([self._byte_ids[byte] for byte in pretoken], self._merges.get)


def _tokens_in(block: bytes, starts: memoryview, gaps: list[int]) -> list[bytes]:
    """Return the tokens in a block of bytes, empty for a gap."""
    if not len(starts):
        raise ValueError("there must be a start for each token and one more")
    if any(start > stop for start, stop in pairwise(starts)) or starts[-1] > len(block):
        raise ValueError("starts must be ascending and inside the block")
    tokens = [bytes(block[start:stop]) for start, stop in pairwise(starts)]
    for gap in gaps:
        if gap >= len(tokens):
            raise ValueError("a gap is beyond the last token")
        tokens[gap] = b""
    return tokens


def _byte_ids(ids: Mapping[bytes, int]) -> list[int]:
    for value in range(reference.NUM_BYTES):
        if bytes([value]) not in ids:
            raise ValueError(f"no token for the byte {value}")
    return [ids[bytes([value])] for value in range(reference.NUM_BYTES)]


def _merges(pairs: Iterable[Sequence[int]], new_ids: Iterable[int]) -> dict[Pair, tuple[int, int]]:
    """Return the rank and the merged id of each pair; if a pair occurs twice, the first merge counts."""
    merges: dict[Pair, tuple[int, int]] = {}
    for rank, ((left, right, *_), id) in enumerate(zip(pairs, new_ids, strict=True)):
        merges.setdefault((left, right), (rank, id))
    return merges


class Decoder:
    """See `tokbench.backends.bpe.kernel.Decoder`."""

    def __init__(self, entries: list[bytes]) -> None:
        self._known = {id: entry for id, entry in enumerate(entries) if entry}

    def decode(self, ids: NDArray[np.uint32] | array[int], threads: int = 1) -> bytes:
        del threads
        try:
            return b"".join(map(self._known.__getitem__, ids.tolist()))
        except KeyError:
            position, id = next((i, id) for i, id in enumerate(ids.tolist()) if id not in self._known)
            raise ValueError(f"id {id} at position {position} is not in the vocabulary") from None
