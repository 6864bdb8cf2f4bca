"""The options with which a text is segmented at random."""

from __future__ import annotations

from typing import Annotated

import typer

from tokbench.core.sampling import Sampling
from tokbench.errors import ConfigError

DropoutOption = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Sample a segmentation: the probability of skipping a merge (BPE), or the smoothing (Unigram).",
    ),
]
SeedOption = Annotated[int | None, typer.Option(help="The random seed of --dropout; by default 0.")]


def chosen_sampling(dropout: float | None, seed: int | None) -> Sampling | None:
    """What --dropout and --seed ask for. Raises `ConfigError`."""
    if dropout is None and seed is not None:
        raise ConfigError("--seed needs --dropout", hint="add --dropout 0.1, or leave it out")
    return None if dropout is None else Sampling(dropout=dropout, seed=seed or 0)
