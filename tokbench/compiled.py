"""Compiled modules and their twins in Python: which of the two runs, and what the user is told of it.

The environment variable TOKBENCH_KERNEL chooses: "auto" (the compiled one where it is installed,
the default), "native" (an error where it is not), "python".
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from tokbench.errors import BackendUnavailableError, ConfigError

if TYPE_CHECKING:
    from types import ModuleType


def chosen_module(*, compiled: str, fallback: str) -> tuple[str, ModuleType]:
    """The one of two modules that TOKBENCH_KERNEL asks for; the slow one says on stderr that it runs, once.

    Args:
        compiled: the module's full name.
        fallback: that of its twin.

    Returns:
        "native" or "python", and the module.

    Raises:
        ConfigError: the variable holds another word.
        BackendUnavailableError: the compiled module is demanded and not installed.
    """
    choice = os.environ.get("TOKBENCH_KERNEL", "auto") or "auto"
    if choice not in ("auto", "native", "python"):
        raise ConfigError(f"TOKBENCH_KERNEL is {choice!r}", hint="it may be auto, native or python")
    native = None if choice == "python" else _imported(compiled)
    if native is not None:
        return "native", native
    if choice == "native":
        raise BackendUnavailableError(
            "TOKBENCH_KERNEL=native, but the compiled kernel is not installed",
            hint="install a C++20 compiler, then: pip install --force-reinstall --no-cache-dir tokbench",
        )
    _tell_of_slow_kernel(
        "TOKBENCH_KERNEL=python" if choice == "python" else "the compiled kernel is not installed"
    )
    return "python", import_module(fallback)


def is_installed(compiled: str) -> bool:
    """Whether a compiled module is there and loads."""
    return _imported(compiled) is not None


@cache
def _imported(compiled: str) -> ModuleType | None:
    try:
        return import_module(compiled)
    except ImportError:
        return None


@cache
def _tell_of_slow_kernel(reason: str) -> None:
    print(f"tokbench: running the slow Python kernel ({reason})", file=sys.stderr)
