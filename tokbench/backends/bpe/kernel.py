"""The interface of the BPE kernels, and the choice between the compiled kernel and the Python fallback.

Both have a counter of pre-tokens, `train`, an encoder, a decoder, `split` and `read_ranks`;
`tokbench.native.kernel_choice` chooses between them. TOKBENCH_SIMD selects the instructions with which the compiled
kernel scans text: "scalar", "swar", "avx2" or "avx512", all with the same results; by default the best available.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from tokbench.core.counted_words import WordCounter
from tokbench.core.kernel_or_library import KernelEncoder
from tokbench.core.training import DocumentCounter
from tokbench.errors import ConfigError
from tokbench.native.kernel_choice import chosen_module, is_installed

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.backends.bpe.rank_file import RankBlock

_COMPILED = "tokbench.native._bpe"


class CountedPretokens(Protocol):
    """Distinct pre-tokens and their counts, from which merges are learned."""

    def finish(self) -> None:
        """End counting; nothing may be added afterwards."""

    def items(self) -> list[tuple[bytes, int]]:
        """Return each distinct pre-token and its count, in no particular order."""

    @property
    def pretokens(self) -> int:
        """The number of pre-tokens counted."""

    @property
    def distinct_pretokens(self) -> int:
        """The number of distinct pre-tokens."""

    @property
    def documents(self) -> int:
        """The number of non-empty documents."""

    @property
    def num_bytes(self) -> int:
        """The number of bytes of the documents."""


class PretokenCounter(CountedPretokens, DocumentCounter, WordCounter, Protocol):
    """A counter of pre-tokens."""

    def add_counted(self, pretoken: str, count: int) -> None:
        """Add occurrences of a pre-token that the caller split off."""


class WordList(CountedPretokens, Protocol):
    """A list of words that were already counted, in little more memory than their bytes."""

    def add_arrays(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None:
        """Add distinct words with their counts. Raises ValueError for invalid arrays."""

    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None:
        """Add to the totals, which `add_arrays` does not change."""


class Encoder(KernelEncoder, Protocol):
    """An encoder of text into ids, without special tokens."""

    def complete(self) -> None:
        """Build the tables for large amounts of text now, instead of after some text has been encoded."""

    def encode_bytes(self, text: bytes) -> list[int]:
        """Return the ids of one pre-token of any bytes, UTF-8 or not, without splitting it."""

    def encode_split(self, text: str, ends: list[int]) -> NDArray[np.uint32]:
        """Return the ids of a text whose pre-tokens end at the byte offsets `ends`."""

    def tokens(self) -> list[bytes]:
        """Return the bytes of each id."""

    def __len__(self) -> int:
        """Return the number of ids."""


class Decoder(Protocol):
    """A decoder of ids into bytes."""

    def decode(self, ids: NDArray[np.uint32] | array[int], threads: int = 1) -> bytes:
        """Return the bytes of ids of 32 bits. Raises ValueError for an unknown id."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The functions and classes of one kernel.

    Attributes:
        name: "native" or "python".
        new_counter: keyword arguments pattern (a name, or None if pre-tokens are added with `add_counted`),
            special_tokens, threads, seed → a counter.
        new_word_list: → an empty list for words that were already counted.
        train: a finished counter or word list, and keyword arguments → (uint32[n, 2] merges, int64[n] counts,
            number of tokens of the text).
        continue_training: words as tokens (uint32 ids, int64 offsets, int64 counts), the bytes of each token by
            id and keyword arguments → as `train`, the merges that follow the merges of these tokens; see
            `reference.continue_training`.
        train_for_parity: a list of finished counters of the languages, a list of those of their development texts,
            and keyword arguments → as `train`, then the language of each merge (int32[n]) and the number of tokens
            of each development text; see `parity/reference.py`.
        encoder_from_merges: uint32[n, 2] merges (an array, or a view of one) and a pattern name (or None)
            → an encoder.
        encoder_from_ranks: token bytes by rank and a pattern name (or None) → an encoder that merges as
            tiktoken does.
        encoder_from_parts: token bytes by id (empty for a gap), uint32[n, 3] merges (left, right, merged id) in
            the order of their ranks, and keyword arguments whole_tokens_first, pattern (a name, or None)
            → an encoder that merges as tokenizers does.
        encoder_from_ranked_block, encoder_from_merged_block: as the two above, but with the block, starts and gaps
            of a `tokbench.core.token_table.TokenTable` instead of token bytes; the merges are a flat sequence of
            three numbers per merge.
        read_ranks: the bytes of a rank file and an upper bound of ranks → see `rank_file.read_ranks`.
        decoder: the bytes of each id (empty for a gap) → a decoder.
        split: a pattern name and UTF-8 bytes → int64 byte offsets at which the pre-tokens end.
    """

    name: str
    new_counter: Callable[..., PretokenCounter]
    new_word_list: Callable[[], WordList]
    train: Callable[..., tuple[NDArray[np.uint32], NDArray[np.int64], int]]
    continue_training: Callable[..., tuple[NDArray[np.uint32], NDArray[np.int64], int]]
    train_for_parity: Callable[
        ..., tuple[NDArray[np.uint32], NDArray[np.int64], int, NDArray[np.int32], NDArray[np.int64]]
    ]
    encoder_from_merges: Callable[[NDArray[np.uint32] | memoryview, str | None], Encoder]
    encoder_from_ranks: Callable[[list[bytes], str | None], Encoder]
    encoder_from_parts: Callable[..., Encoder]
    encoder_from_ranked_block: Callable[[bytes, memoryview, list[int], str | None], Encoder]
    encoder_from_merged_block: Callable[..., Encoder]
    read_ranks: Callable[[bytes, int], RankBlock | None]
    decoder: Callable[[list[bytes]], Decoder]
    split: Callable[[str, bytes], NDArray[np.int64]]


def current_kernel() -> Kernel:
    """Return the kernel that the environment variable TOKBENCH_KERNEL asks for.

    Raises:
        ConfigError: TOKBENCH_KERNEL or TOKBENCH_SIMD has an invalid value.
        BackendUnavailableError: the native kernel is required and not installed.
    """
    name, module = chosen_module(compiled=_COMPILED, fallback="tokbench.backends.bpe.fallback")
    if name == "native":
        _check_simd_tier(module)
    return _kernel(name, module)


def has_native_kernel() -> bool:
    """Return whether the compiled kernel is installed."""
    return is_installed(_COMPILED)


@cache
def _check_simd_tier(module: ModuleType) -> None:
    try:
        module.simd_tier()
    except ValueError as error:
        raise ConfigError(str(error), hint="unset it: the best one of the processor is the default") from None


@cache
def _kernel(name: str, module: ModuleType) -> Kernel:
    return Kernel(
        name=name,
        new_counter=module.PretokenCounter,
        new_word_list=module.WordList,
        train=module.train,
        continue_training=module.continue_training,
        train_for_parity=module.train_for_parity,
        encoder_from_merges=module.Encoder,
        encoder_from_ranks=module.Encoder.from_ranks,
        encoder_from_parts=module.Encoder.from_parts,
        encoder_from_ranked_block=module.Encoder.from_ranked_block,
        encoder_from_merged_block=module.Encoder.from_merged_block,
        read_ranks=module.read_ranks,
        decoder=module.Decoder,
        split=module.split,
    )
