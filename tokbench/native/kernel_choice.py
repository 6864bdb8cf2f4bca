"""Choose between a compiled module and its Python fallback, and warn about the slow one.

The environment variable TOKBENCH_KERNEL chooses: "auto" (the compiled one where it is installed,
the default), "native" (an error where it is not), "python".

A Python that is started in a clone imports the package of that folder, which holds no compiled modules.
It takes those of the installed package, where they were built from the very sources that stand in the folder.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.errors import BackendUnavailableError, ConfigError

if TYPE_CHECKING:
    from types import ModuleType

_PACKAGE = Path(__file__).parents[1]
_SOURCES = (
    "bpe",
    "character_bpe",
    "common",
    "corpus",
    "encoding",
    "metrics",
    "normalization",
    "sentencepiece_training",
    "training",
    "unigram",
    "wordpiece",
)
"""The folders of C++, in the order in which CMake digests them."""


@dataclass(frozen=True, slots=True)
class _Import:
    """A compiled module, or why there is none."""

    module: ModuleType | None
    reason: str = ""


def chosen_module(*, compiled: str, fallback: str) -> tuple[str, ModuleType]:
    """The module that TOKBENCH_KERNEL asks for; warns once on stderr when the slow one runs.

    Args:
        compiled: the module's full name.
        fallback: the full name of its Python fallback.

    Returns:
        "native" or "python", and the module.

    Raises:
        ConfigError: the variable holds another word.
        BackendUnavailableError: the compiled module is demanded and not installed.
    """
    choice = os.environ.get("TOKBENCH_KERNEL", "auto") or "auto"
    if choice not in ("auto", "native", "python"):
        raise ConfigError(f"TOKBENCH_KERNEL is {choice!r}", hint="it must be auto, native or python")
    if choice == "python":
        _tell_of_slow_kernel("TOKBENCH_KERNEL=python")
        return "python", import_module(fallback)
    native = _imported(compiled)
    if native.module is not None:
        return "native", native.module
    if choice == "native":
        raise BackendUnavailableError(
            f"TOKBENCH_KERNEL=native, but {native.reason}",
            hint="install a C++20 compiler, then: pip install --force-reinstall --no-cache-dir tokbench",
        )
    _tell_of_slow_kernel(native.reason)
    return "python", import_module(fallback)


def is_installed(compiled: str) -> bool:
    """Whether a compiled module is there and loads."""
    return _imported(compiled).module is not None


def digest_of_sources(package: Path) -> str:
    """SHA-256 over the names and the contents of the C++ sources of a package, as CMakeLists.txt computes it.

    Args:
        package: the folder `tokbench`.

    Returns:
        Hexadecimal digits; of no line at all where the folder holds no sources, as in an installed package.
    """
    import hashlib

    lines = [
        f"{folder}/{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for folder in _SOURCES
        for path in sorted((package / "native" / folder).glob("*.[ch]pp"))
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@cache
def _imported(compiled: str) -> _Import:
    try:
        return _Import(import_module(compiled))
    except ImportError:
        path = None if compiled in sys.modules else _installed_file(compiled)
    if path is None:
        return _Import(None, "the compiled kernel is not installed")
    module = _loaded(compiled, path)
    if getattr(module, "SOURCES", None) != digest_of_sources(_PACKAGE):
        return _Import(
            None, f"the installed kernel was not built from the sources in {_PACKAGE}: pip install ."
        )
    parent, _, name = compiled.rpartition(".")
    sys.modules[compiled] = module
    setattr(import_module(parent), name, module)
    return _Import(module)


def _installed_file(compiled: str) -> Path | None:
    """A compiled module of the installed package, where that is another one than the package that runs."""
    from importlib.machinery import EXTENSION_SUFFIXES
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        site = Path(str(distribution("tokbench").locate_file("")))
    except PackageNotFoundError:
        return None
    stem = site.joinpath(*compiled.split("."))
    files = [stem.with_name(stem.name + suffix) for suffix in EXTENSION_SUFFIXES]
    return next((file for file in files if file.is_file()), None)


def _loaded(name: str, path: Path) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # its suffix is one of an extension module
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _tell_of_slow_kernel(reason: str) -> None:
    print(f"tokbench: running the slow Python kernel ({reason})", file=sys.stderr)
