"""The kernel's twin in Python, for installs without a compiler: the same names, arguments and results.

It is to `reference.py` what the C++ kernel is: the same law, with enough bookkeeping that
training does not count every pair again for each merge. Tests run over both.
"""

from __future__ import annotations

import heapq
import os
from collections import Counter, defaultdict
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from tokbench.backends.bpe import reference
from tokbench.backends.bpe.rank_file import read_ranks
from tokbench.backends.bpe.split import PATTERN_NAMES, resolve_pattern, split_offsets
from tokbench.backends.bpe.split import split as split_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.backends.bpe.reference import Pair
    from tokbench.backends.bpe.split import SplitPattern

__all__ = ["Decoder", "Encoder", "PretokenCounter", "read_ranks", "split", "train"]

_REPORT_EVERY = 64


def split(pattern: str, text: bytes) -> NDArray[np.int64]:
    """Where the pre-tokens of a text end, in bytes."""
    return np.asarray(split_offsets(_named(pattern), text.decode()), dtype=np.int64)


def _named(pattern: str | None) -> SplitPattern:
    if pattern is not None and pattern not in PATTERN_NAMES:
        raise ValueError(f'no scanner for the pattern "{pattern}"')
    return resolve_pattern(pattern or "none")


class PretokenCounter:
    """Counts pre-tokens in a dictionary; `threads` and `seed` are taken and change nothing."""

    def __init__(
        self, *, pattern: str | None, special_tokens: list[str], threads: int = 1, seed: int = 0
    ) -> None:
        del threads, seed
        if "" in special_tokens:
            raise ValueError("a special token is empty")
        self._pattern = _named(pattern)
        self._special_tokens = special_tokens
        self._counts: Counter[str] = Counter()
        self._source = -1
        self._source_documents = "file"
        self._source_bytes = bytearray()
        self.documents = 0
        self.num_bytes = 0
        self.pretokens = 0
        self.invalid: tuple[int, int] | None = None

    def add_texts(self, texts: list[str]) -> None:
        for text in texts:
            if text:
                self._add_document(text)

    def add_file(self, fd: int, documents: str, progress: Callable[[int], None] | None) -> int:
        self.begin_source(documents)
        size = 0
        while block := os.read(fd, 1 << 20):
            size += len(block)
            self.feed(block)
            if progress is not None:
                progress(size)
        self.end_source()
        return size

    def begin_source(self, documents: str) -> None:
        if documents not in ("file", "lines"):
            raise ValueError(f'documents must be "file" or "lines", not "{documents}"')
        self._source += 1
        self._source_documents = documents
        self._source_bytes = bytearray()

    def feed(self, block: bytes) -> None:
        self._source_bytes += block

    def end_source(self) -> None:
        try:
            text = self._source_bytes.decode()
        except UnicodeDecodeError as error:
            self.invalid = self.invalid or (self._source, error.start)
            return
        documents = [text] if self._source_documents == "file" else _lines(text)
        self.add_texts(documents)

    def add_counted(self, pretoken: str, count: int) -> None:
        if count < 1:
            raise ValueError("a count must be positive")
        pretoken.encode()  # raises for lone surrogates here, as the native kernel does
        self._counts[pretoken] += count

    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None:
        self.documents += documents
        self.num_bytes += num_bytes
        self.pretokens += pretokens

    def finish(self) -> None:
        """Nothing is pending here."""

    def items(self) -> list[tuple[bytes, int]]:
        return [(pretoken.encode(), count) for pretoken, count in self._counts.items()]

    @property
    def distinct_pretokens(self) -> int:
        return len(self._counts)

    def _add_document(self, text: str) -> None:
        self.documents += 1
        self.num_bytes += len(text.encode())
        for piece in reference.cut_at_special_tokens(text, self._special_tokens):
            if not piece.is_special:
                pretokens = split_text(self._pattern, piece.text)
                self.pretokens += len(pretokens)
                self._counts.update(pretokens)


def _lines(text: str) -> list[str]:
    *terminated, last = text.split("\n")
    lines = [*(line.removesuffix("\r") for line in terminated), last]
    return [line for line in lines if line and not line.isspace()]


def train(
    counter: PretokenCounter,
    *,
    num_merges: int,
    min_frequency: int,
    max_token_length: int,
    seed: int,
    progress: Callable[[int], None] | None,
) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]:
    """Learn merges from a finished counter: (uint32[n, 2] pairs, int64[n] counts, tokens of the text)."""
    del seed
    if min_frequency < 1:
        raise ValueError("min_frequency must be at least 1")
    trainer = _Trainer(counter.items(), min_frequency=min_frequency, max_token_length=max_token_length)
    while len(trainer.merges) < num_merges and trainer.step():
        if progress is not None and len(trainer.merges) % _REPORT_EVERY == 0:
            progress(len(trainer.merges))
    pairs = np.array([merge[:2] for merge in trainer.merges], dtype=np.uint32).reshape(-1, 2)
    counts = np.array([merge.count for merge in trainer.merges], dtype=np.int64)
    return pairs, counts, trainer.num_tokens


class _Trainer:
    """Symbols in one list, each knowing its neighbours; for each pair its count and its places.

    A pair's count can only fall after the merge that made its younger symbol, so a heap whose
    entries may be too high, pushed again when they come up, gives the order of the law.
    """

    def __init__(
        self, pretokens: Iterable[tuple[bytes, int]], *, min_frequency: int, max_token_length: int
    ) -> None:
        self._min_frequency = min_frequency
        self._max_token_length = max_token_length
        self._symbols: list[int] = []
        self._weights: list[int] = []
        self._previous: list[int] = []
        self._next: list[int] = []
        self._lengths = [1] * reference.NUM_BYTES
        self._counts: dict[Pair, int] = {}
        self._places: dict[Pair, list[int]] = {}
        self._heap: list[tuple[int, Pair]] = []
        self.merges: list[reference.Merge] = []
        self.num_tokens = 0
        for pretoken, count in pretokens:
            self._lay_out(pretoken, count)
        self._add_pairs(range(len(self._symbols)))

    def step(self) -> bool:
        while self._heap:
            negative_count, pair = heapq.heappop(self._heap)
            count = self._counts[pair]
            if count == -negative_count:
                self._merge(pair, count)
                return True
            if count >= self._min_frequency:
                heapq.heappush(self._heap, (-count, pair))
        return False

    def _lay_out(self, pretoken: bytes, count: int) -> None:
        start, size = len(self._symbols), len(pretoken)
        self.num_tokens += size * count
        self._symbols.extend(pretoken)
        self._weights.extend([count] * size)
        self._previous.extend(range(start - 1, start + size - 1))
        self._next.extend(range(start + 1, start + size + 1))
        self._previous[start] = self._next[-1] = -1

    def _add_pairs(self, left_places: Iterable[int]) -> None:
        counts: defaultdict[Pair, int] = defaultdict(int)
        places: defaultdict[Pair, list[int]] = defaultdict(list)
        for place in left_places:
            if (behind := self._next[place]) >= 0:
                pair = (self._symbols[place], self._symbols[behind])
                counts[pair] += self._weights[place]
                places[pair].append(place)
        for pair, count in counts.items():
            length = self._lengths[pair[0]] + self._lengths[pair[1]]
            if count >= self._min_frequency and not 0 < self._max_token_length < length:
                self._counts[pair], self._places[pair] = count, places[pair]
                heapq.heappush(self._heap, (-count, pair))

    def _merge(self, pair: Pair, count: int) -> None:
        made = reference.NUM_BYTES + len(self.merges)
        self.merges.append(reference.Merge(*pair, count))
        self._lengths.append(self._lengths[pair[0]] + self._lengths[pair[1]])
        merged = [place for place in self._places.pop(pair) if self._replace(place, pair, made)]
        self._counts[pair] = 0
        # The pair between two merged places begins at the left one: each place is asked for once.
        lefts = dict.fromkeys(p for place in merged for p in (self._previous[place], place) if p >= 0)
        self._add_pairs(lefts)

    def _replace(self, place: int, pair: Pair, made: int) -> bool:
        """Merge the pair at a place, unless it is gone there, and lower the counts of the pairs around it."""
        symbols, behind = self._symbols, self._next[place]
        if symbols[place] != pair[0] or behind < 0 or symbols[behind] != pair[1]:
            return False
        before, after = self._previous[place], self._next[behind]
        if before >= 0 and symbols[before] != made:
            self._lower((symbols[before], pair[0]), self._weights[place])
        if after >= 0:
            self._lower((pair[1], symbols[after]), self._weights[place])
            self._previous[after] = place
        symbols[place], symbols[behind] = made, -1
        self._next[place] = after
        self.num_tokens -= self._weights[place]
        return True

    def _lower(self, pair: Pair, weight: int) -> None:
        if pair in self._counts:
            self._counts[pair] -= weight


class Encoder:
    """Encodes and decodes with one vocabulary."""

    def __init__(self, merges: NDArray[np.uint32] | memoryview, pattern: str | None) -> None:
        rows = cast("list[list[int]]", merges.tolist())
        for number, pair in enumerate(rows):
            if max(pair) >= reference.NUM_BYTES + number:
                raise ValueError(f"merge {number} refers to an id that is not made yet")
        tokens = reference.vocabulary(rows)
        made = range(reference.NUM_BYTES, len(tokens))
        self._set(tokens, pairs=_ranks_of_pairs(rows), made=made, byte_ids=range(256), pattern=pattern)

    @classmethod
    def from_ranks(cls, tokens: list[bytes], pattern: str | None) -> Encoder:
        """Two neighbours merge when their bytes together are a token, the smallest rank first."""
        if b"" in tokens:
            raise ValueError(f"token {tokens.index(b'')} is empty")
        return cls._of_ranks(tokens, pattern)

    @classmethod
    def from_ranked_block(
        cls, block: bytes, starts: memoryview, gaps: list[int], pattern: str | None
    ) -> Encoder:
        """The same of tokens in a block of bytes, with gaps among the ranks."""
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
        """As `from_parts`, of tokens in a block of bytes and of merges behind one another."""
        rows = np.asarray(merges).reshape(-1, 3)
        tokens = _tokens_in(block, starts, gaps)
        return cls.from_parts(tokens, rows, whole_tokens_first=whole_tokens_first, pattern=pattern)

    @classmethod
    def _of_ranks(cls, tokens: list[bytes], pattern: str | None) -> Encoder:
        ids: dict[bytes, int] = {}
        for id, token in enumerate(tokens):
            if token and ids.setdefault(token, id) != id:
                raise ValueError(f"token {id} occurs twice")
        pairs = {
            (ids[token[:cut]], ids[token[cut:]]): id
            for id, token in enumerate(tokens)
            for cut in range(1, len(token))
            if token[:cut] in ids and token[cut:] in ids
        }
        encoder = cls.__new__(cls)
        encoder._set(
            tokens,
            pairs=pairs,
            made=range(len(tokens)),
            byte_ids=_byte_ids(ids),
            pattern=pattern,
            whole_tokens=ids,
        )
        return encoder

    @classmethod
    def from_parts(
        cls, tokens: list[bytes], merges: NDArray[np.uint32], *, whole_tokens_first: bool, pattern: str | None
    ) -> Encoder:
        """Tokens by id (empty for a gap) and merges (left, right, made) in the order of their ranks."""
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
            pairs=_ranks_of_pairs(rows),
            made=[row[2] for row in rows],
            byte_ids=byte_ids,
            pattern=pattern,
            whole_tokens=ids if whole_tokens_first else {},
        )
        return encoder

    def _set(
        self,
        tokens: list[bytes],
        *,
        pairs: Mapping[Pair, int],
        made: Sequence[int],
        byte_ids: Sequence[int],
        pattern: str | None,
        whole_tokens: Mapping[bytes, int] | None = None,
    ) -> None:
        self._tokens = list(tokens)
        self._ranks = pairs
        self._made = made
        self._byte_ids = byte_ids
        self._whole_tokens = whole_tokens or {}
        self._pattern = _named(pattern)
        self._seen: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        text.encode()
        ids: list[int] = []
        for pretoken in split_text(self._pattern, text):
            ids.extend(self._encode_pretoken(pretoken))
        return ids

    def encode_batch(self, texts: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        del threads
        encoded = [self.encode(text) for text in texts]
        offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(texts) + 1)
        return np.array([id for ids in encoded for id in ids], dtype=np.uint32), offsets

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        del threads
        return np.fromiter((len(self.encode(text)) for text in texts), np.int64, len(texts))

    def encode_split(self, text: str, ends: list[int]) -> NDArray[np.uint32]:
        data = text.encode()
        if any(start >= end for start, end in pairwise([0, *ends])) or (ends or [0])[-1] != len(data):
            raise ValueError("the pre-tokens must be ascending and cover the text")
        ids = [id for start, end in pairwise([0, *ends]) for id in self._merge(data[start:end])]
        return np.array(ids, dtype=np.uint32)

    def complete(self) -> None:
        """There are no tables to be made later."""

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

    def _merge(self, pretoken: bytes) -> Iterable[int]:
        """Merge neighbours, the smallest rank first and of equal ones the leftmost: n log n by a heap."""
        if pretoken in self._whole_tokens:
            return (self._whole_tokens[pretoken],)
        symbols = [self._byte_ids[byte] for byte in pretoken]
        previous, following = list(range(-1, len(symbols) - 1)), [*range(1, len(symbols)), -1]
        heap = [
            (rank, place, left, right)
            for place, (left, right) in enumerate(pairwise(symbols))
            if (rank := self._ranks.get((left, right))) is not None
        ]
        heapq.heapify(heap)
        while heap:
            rank, place, left, right = heapq.heappop(heap)
            behind = following[place]
            if symbols[place] != left or behind < 0 or symbols[behind] != right:
                continue
            symbols[place], symbols[behind] = self._made[rank], -1
            following[place] = after = following[behind]
            if after >= 0:
                previous[after] = place
            for start in (previous[place], place):
                if start >= 0 and following[start] >= 0:
                    pair = symbols[start], symbols[following[start]]
                    if (next_rank := self._ranks.get(pair)) is not None:
                        heapq.heappush(heap, (next_rank, start, *pair))
        return (symbol for symbol in symbols if symbol >= 0)


class Decoder:
    """See `tokbench.backends.bpe.kernel.Decoder`."""

    def __init__(self, entries: list[bytes]) -> None:
        self._known = {id: entry for id, entry in enumerate(entries) if entry}

    def decode(self, ids: NDArray[np.uint32], threads: int = 1) -> bytes:
        del threads
        try:
            return b"".join(map(self._known.__getitem__, ids.tolist()))
        except KeyError:
            position, id = next((i, id) for i, id in enumerate(ids.tolist()) if id not in self._known)
            raise ValueError(f"id {id} at position {position} is not in the vocabulary") from None


def _tokens_in(block: bytes, starts: memoryview, gaps: list[int]) -> list[bytes]:
    """The tokens in a block of bytes, empty for a gap."""
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


def _ranks_of_pairs(merges: Iterable[Sequence[int]]) -> dict[Pair, int]:
    """The rank of each pair; of a pair that is merged twice the first counts."""
    ranks: dict[Pair, int] = {}
    for rank, (left, right, *_) in enumerate(merges):
        ranks.setdefault((left, right), rank)
    return ranks


_MAX_SEEN = 1 << 16
