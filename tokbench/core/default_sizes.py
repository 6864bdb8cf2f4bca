"""Default vocabulary sizes."""

from __future__ import annotations

DEFAULT_WORDS = 32_768
"""Tokens of a vocabulary of whole words, which any text could fill."""

_SMALLEST = 512
_WORDS_FOR_AN_ENTRY = 8


def fitted_size(distinct_words: int, *, reserved: int = 0, largest: int = 65_536) -> int:
    """A vocabulary size that fits a text: about one token for eight distinct words, as a power of two.

    A token worth having serves several words: on the bundled text and on 100 MB of web text, larger vocabularies
    spend most of their last tokens on single words.

    Args:
        distinct_words: distinct words, or pre-tokens, of the text.
        reserved: tokens that are there in any case, as the characters of the text; a tenth of them more must fit.
        largest: the largest size, a power of two; 512 is the smallest.

    >>> fitted_size(300_000), fitted_size(30_000, reserved=3_000)
    (32768, 8192)
    """
    sizes = [1 << power for power in range(_SMALLEST.bit_length() - 1, largest.bit_length())]
    wanted = reserved + distinct_words / _WORDS_FOR_AN_ENTRY
    nearest = min(sizes, key=lambda size: abs(size - wanted))
    return nearest if nearest >= reserved * 1.1 else nearest * 2
