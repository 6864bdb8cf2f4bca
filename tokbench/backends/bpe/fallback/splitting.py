"""Splitting in Python by the named patterns, which the native kernel has scanners for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern, split_offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokbench.backends.bpe.split_patterns import SplitPattern


def split(pattern: str, text: bytes) -> NDArray[np.int64]:
    """Return the byte offsets at which the pre-tokens of a text end."""
    return np.asarray(split_offsets(named_pattern(pattern), text.decode()), dtype=np.int64)


def named_pattern(pattern: str | None) -> SplitPattern:
    """Return the pattern with a name (None: "none"). Raises `ValueError` if no scanner has the name."""
    if pattern is not None and pattern not in PATTERN_NAMES:
        raise ValueError(f'no scanner for the pattern "{pattern}"')
    return resolve_pattern(pattern or "none")
