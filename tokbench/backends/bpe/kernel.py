"""Which kernel runs: the compiled one, or the Python fallback.

Both offer the same things: a counter of pre-tokens, `train`, an encoder, a decoder, `split`, `read_ranks`;
`tokbench.native.kernel_choice` chooses. TOKBENCH_SIMD names the tier in which the compiled one reads text,
"scalar", "swar", "avx2" or "avx512", all of the same results; unset, it is the best.
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
    from collections.abc import Callable
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.backends.bpe.rank_file import RankBlock

_COMPILED = "tokbench.native._bpe"


class CountedPretokens(Protocol):
    """Distinct pre-tokens and their counts, as merges are learned from them."""

    def finish(self) -> None:
        """End the counting; nothing is added afterwards."""

    def items(self) -> list[tuple[bytes, int]]:
        """Each distinct pre-token and its count, in no order."""

    @property
    def pretokens(self) -> int:
        """The number of pre-tokens counted."""

    @property
    def distinct_pretokens(self) -> int:
        """How many of them are distinct."""

    @property
    def documents(self) -> int:
        """The number of documents that are not empty."""

    @property
    def num_bytes(self) -> int:
        """The number of their bytes."""


class PretokenCounter(CountedPretokens, DocumentCounter, WordCounter, Protocol):
    """Counts pre-tokens."""

    def add_counted(self, pretoken: str, count: int) -> None:
        """Occurrences of a pre-token that was split off elsewhere."""


class WordList(CountedPretokens, Protocol):
    """Words that were counted elsewhere, in little more memory than their bytes."""

    def add_arrays(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None:
        """Words, each of them once. Raises ValueError for invalid ones."""

    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None:
        """Add the totals, which `add_arrays` does not contain."""


class Encoder(KernelEncoder, Protocol):
    """Turns text into ids; knows no special tokens."""

    def complete(self) -> None:
        """Prepare for much text now, instead of after some text has been encoded."""

    def encode_bytes(self, text: bytes) -> list[int]:
        """The ids of one pre-token of any bytes, UTF-8 or not; without a pattern."""

    def encode_split(self, text: str, ends: list[int]) -> NDArray[np.uint32]:
        """The ids of a text that was split elsewhere; `ends` in bytes."""

    def tokens(self) -> list[bytes]:
        """The bytes of each id."""

    def __len__(self) -> int:
        """How many ids there are."""


class Decoder(Protocol):
    """Turns ids into bytes."""

    def decode(self, ids: NDArray[np.uint32], threads: int = 1) -> bytes:
        """The bytes of known ids. Raises ValueError for an unknown one."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel.

    Attributes:
        name: "native" or "python".
        new_counter: keyword arguments pattern (a name, or None where pre-tokens come from elsewhere),
            special_tokens, threads, seed.
        new_word_list: makes a list for words that were counted elsewhere.
        train: a finished counter, or such a list, and keyword arguments → (uint32[n, 2] merges, int64[n] counts,
            tokens).
        continue_training: words cut into tokens (uint32 ids, int64 offsets, int64 counts), the bytes of each token by
            id and keyword arguments → as `train`, the merges after those of the tokens; see
            `reference.continue_training`.
        train_for_parity: lists of finished counters, of the languages and of their development texts, and keyword
            arguments → as `train`, the language of each merge (int32[n]) and the tokens of the development texts; see
            `parity/reference.py`.
        encoder_from_merges: uint32[n, 2] merges (an array, or a view of one) and a pattern name (or None)
            → an encoder.
        encoder_from_ranks: token bytes by rank and a pattern name (or None) → an encoder that merges as
            tiktoken does.
        encoder_from_parts: token bytes by id (empty for a gap), uint32[n, 3] merges (left, right, made) in
            the order of their ranks, and keyword arguments whole_tokens_first, pattern (a name, or None)
            → an encoder that merges as tokenizers does.
        encoder_from_ranked_block, encoder_from_merged_block: the same two of the block, starts and gaps of a
            `tokbench.core.token_table.TokenTable` instead of token bytes; merges are three numbers each, one after
            another.
        read_ranks: the bytes of a rank file and a limit of ranks → what `rank_file.read_ranks` says.
        decoder: the bytes of each id (none for a gap) → a decoder.
        split: a pattern name and UTF-8 bytes → int64 ends of the pre-tokens.
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
    """The kernel that TOKBENCH_KERNEL asks for.

    Raises:
        ConfigError: the variable holds another word, or TOKBENCH_SIMD does.
        BackendUnavailableError: the native kernel is demanded and not installed.
    """
    name, module = chosen_module(compiled=_COMPILED, fallback="tokbench.backends.bpe.fallback")
    if name == "native":
        _check_simd_tier(module)
    return _kernel(name, module)


def has_native_kernel() -> bool:
    """Whether the compiled kernel is installed."""
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
