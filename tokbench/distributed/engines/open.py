"""Engines by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, get_args

from tokbench.core.near_names import meant
from tokbench.distributed.engines.local import LocalEngine
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from tokbench.distributed.tasks import Engine

EngineName = Literal["local"]


def open_engine(name: str = "local", *, workers: int | None = None) -> Engine:
    """An engine, to be used in a `with` statement.

    Args:
        name: "local" for processes of this machine.
        workers: processes to start on this machine, by default one for each processor.

    Raises:
        ConfigError: no such engine, or fewer workers than one.

    >>> open_engine("local", workers=3).workers
    3
    """
    if name not in get_args(EngineName):
        raise ConfigError(f"unknown engine {name!r}", hint=meant(name, get_args(EngineName)))
    if workers is not None and workers < 1:
        raise ConfigError("--workers must be at least 1")
    processors = _processors()
    started = workers or processors
    return LocalEngine(workers=started, threads=max(1, processors // started))


def _processors() -> int:
    """Those that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1
