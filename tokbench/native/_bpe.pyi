"""The compiled kernel; see native/binding.cpp."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokbench.core.training import CountProgress

SOURCES: str
UNICODE_TABLES: str

class CompiledPattern:
    def __init__(self, operations: NDArray[np.uint32], first: int, sets: NDArray[np.uint64]) -> None: ...
    @property
    def matches_everywhere(self) -> bool: ...
    @property
    def cuts_at_spaces(self) -> bool: ...

def split(
    pattern: str | CompiledPattern | None, text: bytes, simd: str | None = None
) -> NDArray[np.int64]: ...
def class_of(code_point: int) -> int: ...
def marks_ascend(text: str, marks: NDArray[np.uint8] | bytearray) -> bool: ...
def unmarked(texts: list[str], marks: NDArray[np.uint8] | bytearray, threads: int) -> str: ...
def nfc(text: str) -> str: ...
def nfc_by_definition(text: str) -> str: ...
def with_single_spaces(text: str) -> str: ...
def without_runs_of_spaces(text: str) -> str: ...
def merge_ids(merges: list[Any], vocabulary: dict[str, int]) -> NDArray[np.uint32] | None: ...
def read_ranks(data: bytes, limit: int) -> tuple[bytes, bytes, list[int]] | None: ...
def train(
    counter: PretokenCounter | WordList,
    *,
    num_merges: int,
    min_frequency: int,
    max_token_length: int,
    seed: int,
    progress: CountProgress | None,
    threads: int = 1,
) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]: ...
def continue_training(
    ids: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    tokens: list[bytes],
    *,
    num_merges: int,
    min_frequency: int,
    max_token_length: int,
    max_words: int,
    excluded: bytes,
    seed: int,
    progress: CountProgress | None,
) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]: ...
def train_for_parity(
    languages: list[PretokenCounter | WordList],
    development: list[PretokenCounter | WordList],
    *,
    num_merges: int,
    num_global: int,
    divisors: list[int],
    window: int,
    most_taken: int,
    min_frequency: int,
    max_token_length: int,
    seed: int,
    progress: CountProgress | None,
) -> tuple[NDArray[np.uint32], NDArray[np.int64], int, NDArray[np.int32], NDArray[np.int64]]: ...

class PretokenCounter:
    def __init__(
        self,
        *,
        pattern: str | CompiledPattern | None,
        special_tokens: list[str],
        threads: int,
        seed: int,
    ) -> None: ...
    def add_texts(self, texts: list[str]) -> None: ...
    def add_file(self, fd: int, documents: str, progress: CountProgress | None) -> int: ...
    def begin_source(self, documents: str) -> None: ...
    def feed(self, block: bytes) -> None: ...
    def end_source(self) -> None: ...
    def add_counted(self, pretoken: str, count: int) -> None: ...
    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None: ...
    def finish(self) -> None: ...
    def drain(self) -> None: ...
    def clear_counts(self) -> None: ...
    def arrays(
        self, first: int = 0, last: int = 64
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]: ...
    def add_arrays(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
        *,
        first: int = 0,
        last: int = 64,
    ) -> None: ...
    def items(self) -> list[tuple[bytes, int]]: ...
    @property
    def memory(self) -> int: ...
    @property
    def invalid(self) -> tuple[int, int] | None: ...
    @property
    def documents(self) -> int: ...
    @property
    def num_bytes(self) -> int: ...
    @property
    def pretokens(self) -> int: ...
    @property
    def distinct_pretokens(self) -> int: ...

class WordList:
    def __init__(self) -> None: ...
    def add_arrays(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None: ...
    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None: ...
    def finish(self) -> None: ...
    def items(self) -> list[tuple[bytes, int]]: ...
    @property
    def memory(self) -> int: ...
    @property
    def documents(self) -> int: ...
    @property
    def num_bytes(self) -> int: ...
    @property
    def pretokens(self) -> int: ...
    @property
    def distinct_pretokens(self) -> int: ...

class CharacterChanges:
    def __init__(
        self,
        characters: NDArray[np.uint32],
        firsts: NDArray[np.uint32],
        orders: NDArray[np.uint8],
        inserted: NDArray[np.uint8],
        starts: NDArray[np.uint32],
        text: bytes,
    ) -> None: ...
    def of(self, text: str) -> str: ...
    def origins(self, text: str) -> NDArray[np.uint32]: ...

class _Prepared:
    @property
    def cuts_at_spaces(self) -> bool: ...
    def pretokens(self, text: bytes) -> list[bytes]: ...
    def added_places(self, text: bytes, *, specials: bool) -> list[tuple[int, int, int]]: ...
    def encode(
        self,
        text: str,
        *,
        specials: bool = False,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> list[int]: ...
    def encode_batch(
        self,
        texts: list[str],
        threads: int,
        *,
        specials: bool = False,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def encode_marked_batch(
        self, texts: list[str], threads: int, marks: bytearray, *, specials: bool = False
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], str]: ...
    def count_batch(
        self,
        texts: list[str],
        threads: int,
        *,
        specials: bool = False,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> NDArray[np.int64]: ...
    def place_batch(
        self,
        texts: list[str],
        threads: int,
        *,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...

class PreparedEncoder(_Prepared):
    def __init__(
        self,
        tokens: list[bytes],
        merges: NDArray[np.uint32] | None,
        *,
        whole_tokens_first: bool,
        pattern: str | CompiledPattern | None,
        added: tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]],
        added_with_specials: tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]],
        steps: list[tuple[Any, ...]] | None,
        sets: NDArray[np.uint64] | None,
        byte_sets: NDArray[np.uint64] | None,
        marks_ends: bool,
        makes_nfc: bool,
    ) -> None: ...

class PreparedWordBpe(_Prepared):
    def __init__(
        self,
        tokens: list[bytes],
        merges: NDArray[np.uint32],
        *,
        prefix: str,
        suffix: str,
        unknown: int | None,
        joins_unknown: bool,
        byte_ids: NDArray[np.uint32] | None,
        whole_words_first: bool,
        added: tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]],
        added_with_specials: tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]],
        steps: list[tuple[Any, ...]],
        sets: NDArray[np.uint64],
        byte_sets: NDArray[np.uint64],
        makes_nfc: bool,
    ) -> None: ...

class PreparedWordPiece(_Prepared):
    def __init__(
        self,
        pieces: list[bytes],
        ids: NDArray[np.uint32],
        *,
        prefix: str,
        unknown: int,
        most_characters: int,
        counts_bytes: bool = False,
        added: tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]],
        added_with_specials: tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]],
        steps: list[tuple[Any, ...]],
        sets: NDArray[np.uint64],
        byte_sets: NDArray[np.uint64],
        makes_nfc: bool,
    ) -> None: ...

class PreparedWordUnigram(_Prepared):
    def __init__(
        self,
        pieces: list[bytes],
        ids: NDArray[np.uint32],
        scores: NDArray[np.float64],
        *,
        unknown: int,
        unknown_score: float,
        byte_ids: NDArray[np.uint32] | None,
        added: tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]],
        added_with_specials: tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]],
        steps: list[tuple[Any, ...]],
        sets: NDArray[np.uint64],
        byte_sets: NDArray[np.uint64],
        makes_nfc: bool,
    ) -> None: ...

class Encoder:
    def __init__(self, merges: NDArray[np.uint32], pattern: str | CompiledPattern | None) -> None: ...
    @staticmethod
    def from_ranks(tokens: list[bytes], pattern: str | CompiledPattern | None) -> Encoder: ...
    @staticmethod
    def from_parts(
        tokens: list[bytes],
        merges: NDArray[np.uint32],
        *,
        whole_tokens_first: bool,
        pattern: str | CompiledPattern | None,
    ) -> Encoder: ...
    @staticmethod
    def from_ranked_block(
        block: bytes, starts: memoryview, gaps: list[int], pattern: str | CompiledPattern | None
    ) -> Encoder: ...
    @staticmethod
    def from_merged_block(
        block: bytes,
        starts: memoryview,
        gaps: list[int],
        merges: memoryview,
        *,
        whole_tokens_first: bool,
        pattern: str | CompiledPattern | None,
    ) -> Encoder: ...
    def with_pattern(self, pattern: str | CompiledPattern | None) -> Encoder: ...
    def complete(self) -> None: ...
    def encode(self, text: str) -> list[int]: ...
    def encode_bytes(self, text: bytes) -> list[int]: ...
    def encode_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def encode_marked_batch(
        self, texts: list[str], threads: int, marks: bytearray
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], str]: ...
    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]: ...
    def encode_split(self, text: str, ends: list[int]) -> NDArray[np.uint32]: ...
    def tokens(self) -> list[bytes]: ...
    def __len__(self) -> int: ...

class Decoder:
    def __init__(self, entries: list[bytes]) -> None: ...
    def decode(self, ids: NDArray[np.uint32], threads: int = 1) -> bytes: ...
