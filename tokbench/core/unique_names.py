"""Names that differ, for tokenizers that are shown together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo


def unique_names(names: Sequence[str]) -> list[str]:
    """Make names unique by appending numbers.

    >>> unique_names(["a", "b", "a", "a"])
    ['a', 'b', 'a#2', 'a#3']
    """
    unique: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in unique:
            number += 1
            candidate = f"{name}#{number}"
        unique.append(candidate)
    return unique


def distinct_infos(tokenizers: Sequence[Tokenizer]) -> list[TokenizerInfo]:
    """What tokenizers are, each under a name of its own."""
    infos = [tokenizer.info for tokenizer in tokenizers]
    names = unique_names([info.name for info in infos])
    return [replace(info, name=name) for info, name in zip(infos, names, strict=True)]
