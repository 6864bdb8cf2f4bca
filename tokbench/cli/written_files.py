"""The files that commands write: refused before any work if a run could not create them, or would lose others."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.errors import ConfigError, CorpusError, StoreError
from tokbench.files.storage.open import refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WRITTEN = ("out", "vocab_out", "html", "svg", "plot", "npz", "junit", "sarif", "verdicts")
"""The parameters that name a file to write."""

_PATH_OF_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:)/(.*)", re.DOTALL)

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
                    f"{other} and {option} both name {path}", hint="name a different file for each"
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
    """Raise `StoreError`, before any work, if an output file cannot be created, or would end with this process.

    Commands with `--force` check the place of `--out` themselves.

    Args:
        options: the parameters of a command by their names, with their values.
    """
    for name in (*_WRITTEN, "parts"):
        for value in _values(options.get(name)):
            refuse_unwritable(value, is_for_others=True)
            if isinstance(value, Path):
                _refuse_url(value)
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
    """The folder or pattern that reads a file as a text; None if none does."""
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


def _refuse_url(path: Path) -> None:
    """Raise `StoreError` for a URL given as a path, which has lost a slash: it would become a folder named `s3:`."""
    match = _PATH_OF_URL.match(path.as_posix())
    if match is not None and not Path(match[1]).exists():
        raise StoreError(
            f"{match[1]}//{match[2]} cannot be written: this command writes to files of this machine",
            hint="name a path, and copy what is written there",
        )


def _texts(value: Any) -> list[str]:
    return list(map(str, _values(value)))


def _values(value: Any) -> list[str | Path]:
    values = value if isinstance(value, list | tuple) else [value]
    return [one for one in values if isinstance(one, str | Path)]


def _is_file(text: str, file: Path) -> bool:
    try:
        return file.samefile(text)
    except (OSError, ValueError):  # no file at all, or not a path
        return False
