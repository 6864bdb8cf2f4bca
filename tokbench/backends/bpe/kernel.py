"""The interface of the BPE kernels, the choice between the compiled one and the Python fallback, and what they take.

Both have a counter of pre-tokens, `train`, an encoder, a decoder, `split` and `read_ranks`;
`tokbench.native.kernel_choice` chooses between them. TOKBENCH_SIMD selects the instructions with which the compiled
kernel scans text: "scalar", "swar", "avx2" or "avx512", all with the same results; by default the best available.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from tokbench.backends.bpe.reference import NUM_BYTES
from tokbench.core.counted_words import WordCounter
from tokbench.core.kernel_or_library import KernelEncoder
from tokbench.core.token_table import MergeTable, TokenTable
from tokbench.core.training import DocumentCounter
from tokbench.errors import ConfigError, ConversionError
from tokbench.native.kernel_choice import chosen_module, is_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.backends.bpe.reference import Merge
    from tokbench.backends.bpe.split_patterns import SplitPattern
    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.formats.tiktoken import RankBlock
    from tokbench.native._bpe import CompiledPattern


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

    def with_pattern(self, pattern: str | CompiledPattern | None) -> Encoder:
        """Return an encoder of the same vocabulary that splits by another pattern."""

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
        new_counter: keyword arguments pattern (a name, a compiled pattern for the native kernel, or None if pre-tokens
            are added with `add_counted`), special_tokens, threads, seed → a counter.
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


def encoder_of(description: ByteLevelBpe, kernel: Kernel, pattern: str | None) -> Encoder:
    """Build the encoder of a description; it has a token for each id, gaps included."""
    tokens = description.tokens
    if isinstance(tokens, TokenTable) and description.merges is None:
        return kernel.encoder_from_ranked_block(tokens.block, tokens.starts, sorted(tokens.gaps), pattern)
    if isinstance(tokens, TokenTable) and isinstance(description.merges, MergeTable):
        return kernel.encoder_from_merged_block(
            tokens.block,
            tokens.starts,
            sorted(tokens.gaps),
            description.merges.numbers,
            whole_tokens_first=description.whole_tokens_first,
            pattern=pattern,
        )
    if description.merges is None:
        return kernel.encoder_from_ranks(
            [_token_or_filler(id, token) for id, token in enumerate(tokens)], pattern
        )
    import numpy as np

    return kernel.encoder_from_parts(
        [token or b"" for token in tokens],
        np.array(description.merges, dtype=np.uint32).reshape(-1, 3),
        whole_tokens_first=description.whole_tokens_first,
        pattern=pattern,
    )


def described(
    tokens: Sequence[bytes],
    *,
    merges: Sequence[Merge] | None,
    pattern: SplitPattern,
    special_tokens: Mapping[str, int],
) -> ByteLevelBpe:
    """Return the description of a tokenizer that tokbench trained, or that was built from ranks (`merges` is None).

    Args:
        tokens: the bytes of each id.
        merges: the merges in the order in which they were learned.
        pattern: the split pattern.
        special_tokens: text → id.
    """
    from tokbench.core.descriptions import ByteLevelBpe

    return ByteLevelBpe(
        tokens=tuple(tokens),
        merges=None
        if merges is None
        else tuple((merge.left, merge.right, id) for id, merge in enumerate(merges, NUM_BYTES)),
        pattern=pattern.regex,
        pattern_name=pattern.name,
        normalization=pattern.normalization,
        special_tokens=special_tokens,
        whole_tokens_first=merges is None,
    )


def check_fits_tiktoken(description: ByteLevelBpe | None, pattern: SplitPattern) -> None:
    """Check that tiktoken can represent a tokenizer; `description` is None for one that tokbench trained.

    Raises:
        ConversionError: the tokenizer has a list of merges, or normalizes text.
    """
    if description is not None and description.merges is not None:
        raise ConversionError(
            "it has a list of merges, and tiktoken merges any pair that makes a token",
            hint="`tokbench convert` checks whether the ids are the same",
        )
    if pattern.normalization is not None:
        raise ConversionError(
            f"the pattern {pattern.name!r} normalizes text to {pattern.normalization.upper()} first, "
            "and tiktoken has no normalizer",
            hint="the saved ranks.tiktoken can be used on text that you normalize first",
        )


def gaps_of(tokens: Sequence[bytes | None]) -> frozenset[int]:
    """Return the ids without a token."""
    if isinstance(tokens, TokenTable):
        return tokens.gaps
    return frozenset(id for id, token in enumerate(tokens) if token is None)


def fillers_of(tokens: Sequence[bytes | None]) -> frozenset[int]:
    """Return the ids to which `_token_or_filler` gives filler bytes; none if the kernel takes the block of a table."""
    if isinstance(tokens, TokenTable):
        return frozenset()
    return frozenset(id for id, token in enumerate(tokens) if not token)


def _token_or_filler(id: int, token: bytes | None) -> bytes:
    """Return the token, or for a gap and an empty token bytes that occur in no text: 0xFF is never in UTF-8."""
    return token or b"\xff\xff" + id.to_bytes(4, "big")


def id_array(ids: Sequence[int]) -> NDArray[np.uint32] | array[int]:
    """Convert ids to an array for the kernel, of 32-bit integers.

    Raises TypeError, ValueError or OverflowError for invalid ids.
    """
    given: object = ids
    if isinstance(given, list | tuple):
        return array("I", given)
    import numpy as np

    if isinstance(given, np.ndarray) and given.dtype == np.uint32:  # the type that encode_batch returns
        return np.ascontiguousarray(given)
    known = np.asarray(ids)
    if known.dtype.kind not in "iu":  # a cast would drop the fractions of numbers
        raise TypeError(f"ids of type {known.dtype}")
    wide = known.astype(np.int64, copy=False)
    if wide.size and wide.view(np.uint64).max() >= 2**32:  # as uint64, negative ids are large
        raise ValueError("there are no such ids")
    return wide.astype(np.uint32)


def id_sequence(ids: Sequence[int]) -> Sequence[int]:
    """Convert ids of any accepted type to a sequence of Python integers."""
    import numpy as np

    given: object = ids
    return given.tolist() if isinstance(given, np.ndarray) else ids
