"""Tokenizers that are given as they are, or by their paths and names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer


def opened(tokenizers: Iterable[Tokenizer | str | os.PathLike[str]]) -> list[Tokenizer]:
    """Return the tokenizers, opening those given by path or name.

    Raises:
        ConfigError: it is not a list, or has other values than tokenizers, paths and names.
        StoreError, ModelFormatError: as `tokbench.load`.
    """
    import tokbench  # its lazy public names: the type of what `load` returns names a result of `viz`

    if isinstance(tokenizers, str | os.PathLike) or not isinstance(tokenizers, Iterable):
        raise ConfigError(f"tokenizers is {tokenizers!r:.60}, where a list is needed", hint="put it into one")
    found: list[Tokenizer] = []
    for given in tokenizers:
        if isinstance(given, str | os.PathLike):
            found.append(tokbench.load(given))
        elif hasattr(given, "segment"):
            found.append(given)
        else:
            raise ConfigError(f"{given!r:.60} is not a tokenizer, nor the path or name of one")
    return found
