"""Tokenizers that are given as they are, or by their paths and names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from typing import TypeAlias

    from tokbench.core.interfaces import Tokenizer

    GivenTokenizer: TypeAlias = Tokenizer | str | os.PathLike[str]


def opened(given: GivenTokenizer) -> Tokenizer:
    """Return the tokenizer, after opening one that is given by its path or name.

    Raises:
        ConfigError: it is neither a tokenizer nor a path or name.
        StoreError, ModelFormatError: as `tokbench.load`.
    """
    import tokbench  # its lazy public names: opening/ stands above core/

    if isinstance(given, str | os.PathLike):
        return tokbench.load(given)
    if getattr(given, "segment", None) is None:
        raise ConfigError(f"{given!r:.60} is not a tokenizer, nor the path or name of one")
    return given


def all_opened(given: Iterable[GivenTokenizer]) -> list[Tokenizer]:
    """Return the tokenizers of a list; raises as `opened`, and `ConfigError` for what is not a list.

    >>> all_opened([])
    []
    """
    if isinstance(given, str | os.PathLike) or not isinstance(given, Iterable):
        raise ConfigError(f"tokenizers is {given!r:.60}, where a list is needed", hint="put it into one")
    return list(map(opened, given))
