"""Check the installation: libraries, kernel, backends and folders."""

from __future__ import annotations

import hashlib
import locale
import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tokbench import __version__
from tokbench.core.capabilities import Check
from tokbench.errors import TokbenchError
from tokbench.files.bundled import bundled_files, configs_directory, corpora_directory
from tokbench.opening.saved import default_directory
from tokbench.registry import backend_names, get_backend

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class DoctorResult:
    """The checks of the installation."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.passed is not False for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return {
            "schema": "tokbench.doctor/1",
            "passed": self.passed,
            "checks": [check.to_json() for check in self.checks],
        }


_REQUIRED = (
    "jinja2",
    "numpy",
    "orjson",
    "platformdirs",
    "regex",
    "rich",
    "sentencepiece",
    "tiktoken",
    "tokenizers",
    "typer",
)


_OPTIONAL = {
    "distributed": "cluster",
    "fsspec": "cluster",
    "pyarrow": "parquet",
    "ray": "ray",
    "textual": "play",
    "transformers": "transformers",
    "zstandard": "zstd",
}

_IN_PYTHON = {"zstandard": (3, 14)}
"""Optional modules that Python replaces, with the version that introduced the replacement."""


def examine() -> DoctorResult:
    """Run all checks without changing anything; only importing the backends takes time."""
    return DoctorResult(checks=(*_machine(), *_libraries(), *_bundled(), *_backends(), *_places()))


def _machine() -> Iterator[Check]:
    yield Check(
        "tokbench", f"{__version__} on Python {platform.python_version()}, {platform.platform(terse=True)}"
    )
    yield Check("processors", f"{os.cpu_count()} ({platform.machine()})")
    encoding = locale.getencoding()
    is_utf8 = encoding.lower().replace("-", "") == "utf8"
    yield Check(
        "locale",
        encoding,
        passed=True if is_utf8 else None,
        hint=None if is_utf8 else "output is UTF-8 anyway; LC_ALL=C.UTF-8 sets it for other programs",
    )


def _libraries() -> Iterator[Check]:
    for name in _REQUIRED:
        installed = _version(name)
        yield Check(name, installed or "missing", passed=installed is not None, hint="pip install tokbench")
    for name, extra in _OPTIONAL.items():
        installed = _version(name)
        if installed is None and name in _IN_PYTHON and sys.version_info >= _IN_PYTHON[name]:
            yield Check(name, "not needed: Python itself reads such files")
            continue
        yield Check(
            name,
            installed or "not installed",
            hint=None if installed else f"optional: pip install 'tokbench[{extra}]'",
        )


def _version(name: str) -> str | None:
    try:
        return version(name) if find_spec(name) else None
    except PackageNotFoundError:
        return None


def _bundled() -> Iterator[Check]:
    import tomllib

    try:
        presets = sorted(path.stem for path in configs_directory().glob("*.toml"))
        yield Check("presets", ", ".join(presets), passed=bool(presets))
        table = tomllib.loads((corpora_directory() / "MANIFEST.toml").read_text(encoding="utf-8"))
        sums = {entry["path"]: entry["sha256"] for entry in table["file"]}
        files = bundled_files()
        wrong = [
            file.name
            for file in files
            if hashlib.sha256(file.path.read_bytes()).hexdigest() != sums[file.name]
        ]
    except (TokbenchError, OSError, KeyError, ValueError) as error:
        yield Check("bundled texts", str(error), passed=False, hint="pip install --force-reinstall tokbench")
        return
    size = sum(file.bytes for file in files)
    found = f"changed: {', '.join(wrong)}" if wrong else f"{len(files)} files, {size:,} bytes, unchanged"
    yield Check("bundled texts", found, passed=not wrong, hint="pip install --force-reinstall tokbench")


def _backends() -> Iterator[Check]:
    for name in backend_names():
        try:
            backend = get_backend(name)
            yield Check(f"backend {name}", f"runs on {backend.kernel}", passed=True)
            examine_backend = getattr(backend, "examine", None)
            if examine_backend is not None:
                yield from examine_backend()
        except TokbenchError as error:
            yield Check(f"backend {name}", error.message, passed=False, hint=error.hint)


def _places() -> Iterator[Check]:
    directory = default_directory()
    state = "kept" if directory.is_dir() else "trained at its first use, kept"
    if not directory.is_dir() and not _can_create(directory):
        hint = "set XDG_CACHE_HOME to a folder that can be written"
        yield Check("default tokenizer", f"trained at every use: {directory} cannot be written", hint=hint)
        return
    yield Check("default tokenizer", f"{state} in {directory}")


def _can_create(directory: Path) -> bool:
    """Whether a folder, and the missing ones above it, can be created."""
    above = next(folder for folder in directory.parents if folder.exists())
    return above.is_dir() and os.access(above, os.W_OK | os.X_OK)
