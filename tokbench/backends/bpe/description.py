"""Conversion between the description of a byte-level BPE and the encoder of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.backends.bpe.reference import NUM_BYTES
from tokbench.core.token_table import MergeTable, TokenTable
from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.backends.bpe.kernel import Encoder, Kernel
    from tokbench.backends.bpe.reference import Merge
    from tokbench.backends.bpe.split_patterns import SplitPattern
    from tokbench.core.descriptions import ByteLevelBpe


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
