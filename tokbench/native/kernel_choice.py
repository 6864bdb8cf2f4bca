"""The choice between a compiled module and its Python fallback, with a warning about the slow fallback.

The environment variable TOKBENCH_KERNEL chooses: "auto" (the default: the compiled module if it is
installed), "native" (an error if it is not installed), or "python".

If Python is started in a clone of the repository, it imports the package from there, which contains no
compiled modules. Then those of the installed package are used, provided that they were built from exactly
the sources in the clone.
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
"""The folders of C++ sources, in the order in which CMake hashes them."""


@dataclass(frozen=True, slots=True)
class _Import:
    """The result of importing a compiled module: the module, or the reason why there is none."""

    module: ModuleType | None
    reason: str = ""


def chosen_module(*, compiled: str, fallback: str) -> tuple[str, ModuleType]:
    """Return the module that TOKBENCH_KERNEL asks for; if it is the slow fallback, warn once on stderr.

    Args:
        compiled: the full name of the compiled module.
        fallback: the full name of its Python fallback.

    Returns:
        "native" or "python", and the module.

    Raises:
        ConfigError: the variable has an invalid value.
        BackendUnavailableError: the compiled module is required and not installed.
    """
    choice = os.environ.get("TOKBENCH_KERNEL", "auto") or "auto"
    if choice not in ("auto", "native", "python"):
        raise ConfigError(f"TOKBENCH_KERNEL is {choice!r}", hint="it must be auto, native or python")
    if choice == "python":
        _warn_of_slow_kernel("TOKBENCH_KERNEL=python")
        return "python", import_module(fallback)
    native = _imported(compiled)
    if native.module is not None:
        return "native", native.module
    if choice == "native":
        raise BackendUnavailableError(
            f"TOKBENCH_KERNEL=native, but {native.reason}",
            hint="install a C++20 compiler, then: pip install --force-reinstall --no-cache-dir tokbench",
        )
    _warn_of_slow_kernel(native.reason)
    return "python", import_module(fallback)


def is_installed(compiled: str) -> bool:
    """Return whether a compiled module is installed and can be imported."""
    return _imported(compiled).module is not None


def digest_of_sources(package: Path) -> str:
    """Return the SHA-256 over the names and contents of the C++ sources of a package, as in CMakeLists.txt.

    Args:
        package: the folder `tokbench`.

    Returns:
        Hexadecimal digits; the hash of empty input if the folder has no sources, as in an installed package.
    """
    import hashlib

    lines = [
        f"{folder}/{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for folder in _SOURCES
        for path in sorted((package / "native" / folder).glob("*.[ch]pp"))
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@cache
def _own_digest() -> str:
    return digest_of_sources(_PACKAGE)


@cache
def _imported(compiled: str) -> _Import:
    try:
        return _Import(import_module(compiled))
    except ImportError:
        path = None if compiled in sys.modules else _installed_file(compiled)
    if path is None:
        return _Import(None, "the compiled kernel is not installed")
    module = _loaded(compiled, path)
    if getattr(module, "SOURCES", None) != _own_digest():
        return _Import(
            None, f"the installed kernel was not built from the sources in {_PACKAGE}: pip install ."
        )
    parent, _, name = compiled.rpartition(".")
    sys.modules[compiled] = module
    setattr(import_module(parent), name, module)
    return _Import(module)


def _installed_file(compiled: str) -> Path | None:
    """Return the file of a compiled module in the installed package, which may not be the package that runs."""
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
    assert spec is not None and spec.loader is not None  # the file has the suffix of an extension module
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _warn_of_slow_kernel(reason: str) -> None:
    print(f"tokbench: running the slow Python kernel ({reason})", file=sys.stderr)
