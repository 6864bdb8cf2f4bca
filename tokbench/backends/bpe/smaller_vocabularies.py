"""The tokenizers inside a trained one: BPE learns the merges of every smaller vocabulary on its way."""

from __future__ import annotations

import numpy as np

from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.reference import NUM_BYTES
from tokbench.backends.bpe.tokenizer import BpeTokenizer


def smaller(tokenizer: BpeTokenizer, vocab_size: int) -> BpeTokenizer | None:
    """What a training to a smaller size gives: the first merges, and the special tokens behind them.

    Args:
        tokenizer: one that was trained here.
        vocab_size: its size, special tokens included.

    Returns:
        None where the merges are not known, and for a size below the base vocabulary (with superwords, below
        that at which they begin) or above the tokenizer's.
    """
    num_merges = vocab_size - NUM_BYTES - len(tokenizer.info.special_tokens)
    if tokenizer.merges is None or not 0 <= num_merges <= len(tokenizer.merges):
        return None
    if NUM_BYTES + num_merges < tokenizer.config.get("superwords", 0):
        return None  # a training to that size learns no superwords, and splits by words
    kernel, pattern = current_kernel(), tokenizer.pattern
    merges = tokenizer.merges[:num_merges]
    pairs = np.array([(merge.left, merge.right) for merge in merges], dtype=np.uint32).reshape(-1, 2)
    first_special = NUM_BYTES + num_merges
    return BpeTokenizer(
        name=f"bpe-{vocab_size}",
        pattern=pattern,
        encoder=kernel.encoder_from_merges(pairs, pattern.kernel_name),
        kernel=kernel,
        special_tokens={text: first_special + i for i, text in enumerate(tokenizer.info.special_tokens)},
        merges=merges,
        config=tokenizer.config,
    )
