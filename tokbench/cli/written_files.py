"""Finds files that a run would lose, because it both reads and writes them, or writes them twice, or cannot write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.errors import ConfigError, CorpusError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WRITTEN = ("out", "vocab_out", "html", "svg", "plot", "npz", "junit", "sarif", "verdicts")
"""The parameters that name a file to write."""

_CORPORA = ("paths", "inputs", "corpus")
"""The parameters that name texts to read, also as folders and patterns."""


def refuse_lost_files(options: Mapping[str, Any]) -> None:
    """Raise `ConfigError`, before any work, if an output file is also an input, is given twice, or is named `-`.

    A command with `--force` says by itself what it replaces. Devices and pipes are written as often as one likes.

    Args:
        options: the parameters of a command by their names, with their values.
    """
    for name in _WRITTEN:
        if "-" in _texts(options.get(name)):
            raise ConfigError(
                f"--{name.replace('_', '-')} - is not stdout: it would write a file named -",
                hint="name a file or folder",
            )
    if "force" in options:
        return
    seen: dict[Path, str] = {}
    for name in _WRITTEN:
        option = f"--{name.replace('_', '-')}"
        for path in map(Path, _texts(options.get(name))):
            if path.exists() and not path.is_file():
                continue
            if (other := seen.setdefault(path.resolve(), option)) != option:
                raise ConfigError(
                    f"{other} and {option} both name {path}", hint="give each a file of its own"
                )
            if path.exists() and any(_is_file(read, path) for read in _read(options)):
                raise ConfigError(
                    f"{option} would write over {path}, which is read", hint="name another file to write"
                )
            if path.exists() and (folder := _corpus_with(path, options)) is not None:
                raise ConfigError(
                    f"{option} would write over {path}, which is read as a part of {folder}",
                    hint="name a file outside, or remove it where an earlier run wrote it",
                )


def refuse_unwritable_files(options: Mapping[str, Any]) -> None:
    """Raise `StoreError`, before any work, if an output file cannot be created where it is to be.

    Commands with `--force` check the place of `--out` themselves.

    Args:
        options: the parameters of a command by their names, with their values.
    """
    for name in _WRITTEN:
        if name == "out" and "force" in options:
            continue
        for text in _texts(options.get(name)):
            path = Path(text)
            if "://" in text or (path.exists() and not path.is_file()):
                continue
            parent = next(parent for parent in path.absolute().parents if parent.exists())
            if not parent.is_dir():
                problem = f"{parent.name} is a file"
            elif not os.access(parent, os.W_OK | os.X_OK):
                problem = f"no permission to write to {parent}"
            else:
                continue
            raise StoreError(f"{text} cannot be written: {problem}", hint="name another file to write")


def _read(options: Mapping[str, Any]) -> Iterator[str]:
    """Return the values that may be input files: all except output files."""
    for name, value in options.items():
        if name not in _WRITTEN:
            yield from _texts(value)


def _corpus_with(file: Path, options: Mapping[str, Any]) -> str | None:
    """The folder or pattern that reads a file as a text; None where none does."""
    named = (text for name in _CORPORA for text in _texts(options.get(name)))
    return next((text for text in named if _reads(text, file)), None)


def _reads(text: str, file: Path) -> bool:
    from tokbench.corpus.bytes import looks_binary
    from tokbench.corpus.files import find_files
    from tokbench.corpus.paths import WILDCARDS

    try:
        if Path(text).is_dir():
            if not file.resolve().is_relative_to(Path(text).resolve()):
                return False
        elif WILDCARDS.isdisjoint(text):
            return False
        found, _ = find_files([text], is_binary=looks_binary)
        return any(each.url is None and file.samefile(each.path) for each in found)
    except (CorpusError, OSError, ValueError):  # reported where it is read, or not a path
        return False


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [str(one) for one in values if isinstance(one, str | Path)]


def _is_file(text: str, file: Path) -> bool:
    try:
        return file.samefile(text)
    except (OSError, ValueError):  # no file at all, or not a path
        return False
