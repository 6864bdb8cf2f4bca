"""Upper bounds of the memory that merging takes, computed before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.word_input import MOST_STEPS, STEP_UNITS, Room, is_short, merger_room

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokbench.backends.bpe.config import BpeConfig
    from tokbench.core.counted_words import CountedWords

_MOST_SMALL_SYMBOLS = 1 << 16
_HEADER_SYMBOLS = 3
_LIST_HEADER_BYTES = 3
_POSTING_BYTES = 4
_NODE_BYTES = 20
_TOKEN_BYTES = 256
"""The bytes for one merge: its pairs in the tables."""


def merging_rooms(words: CountedWords, config: BpeConfig) -> tuple[Room, ...]:
    """Return the limits on merging: the number of symbols that the kernel can address, and the memory limit."""
    if words.memory is None:
        return (merger_room(),)
    return merger_room(), _memory_room(words.memory, vocab_size=config.vocab_size or _MOST_SMALL_SYMBOLS)


def merging_bytes(sizes: NDArray[np.int64], *, vocab_size: int, step_units: int = 1) -> NDArray[np.int64]:
    """Return the maximal number of bytes of memory that each word takes while it is merged.

    Args:
        sizes: the lengths of the words, in bytes.
        vocab_size: the requested vocabulary size: symbols have 16 bits if that is enough.
        step_units: 8 if there may be so many words that they are addressed in steps of 8 symbols, else 1.

    >>> import numpy as np
    >>> merging_bytes(np.array([1, 2, 10]), vocab_size=32_000).tolist()
    [4, 19, 135]
    >>> merging_bytes(np.array([1, 2, 10]), vocab_size=32_000, step_units=8).tolist()
    [4, 25, 141]
    """
    import numpy as np

    symbol_bytes = 2 if vocab_size <= _MOST_SMALL_SYMBOLS else 4
    listed = sizes + _LIST_HEADER_BYTES
    # The initial pairs, and two new pairs for each merge, except one for the second last and none for the last.
    postings = (sizes > 1) * _POSTING_BYTES * np.maximum(3 * sizes - 6, 1)
    symbols = is_short(sizes) * symbol_bytes * step_units * -(-(sizes + _HEADER_SYMBOLS) // step_units)
    nodes = (sizes > 1) * ~is_short(sizes) * _NODE_BYTES * sizes
    total: NDArray[np.int64] = listed + postings + symbols + nodes
    return total


def _memory_room(memory: int, *, vocab_size: int) -> Room:
    step_units = STEP_UNITS if memory > MOST_STEPS else 1  # less memory cannot hold that many words
    return Room(
        max(memory - vocab_size * _TOKEN_BYTES, 0),
        lambda sizes: merging_bytes(sizes, vocab_size=vocab_size, step_units=step_units),
        lambda needed: (
            f"merging the distinct words takes up to {needed / 1e6:,.0f} MB of memory, and "
            f"{memory / 1e6:,.0f} MB are left for it"
        ),
        more=", or give --memory more",
    )
