"""The options with which a text is segmented at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokbench.core.sampling import Sampling


def chosen_sampling(dropout: float | None, seed: int | None) -> Sampling | None:
    """What --dropout and --seed ask for. Raises `ConfigError`."""
    from tokbench.core.sampling import Sampling
    from tokbench.errors import ConfigError

    if dropout is None and seed is not None:
        raise ConfigError(
            "--seed chooses among random segmentations", hint="add --dropout 0.1, or leave it out"
        )
    return None if dropout is None else Sampling(dropout=dropout, seed=seed or 0)
