"""File system paths: the files below a folder, the matches of a pattern, names similar to a missing one.

Folders that tokbench has written (saved tokenizers, counted words, shards) are not texts, and are left out.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tokbench.core.wording import near_names
from tokbench.errors import CorpusError, ModelFormatError
from tokbench.files.storage.open import is_url
from tokbench.files.untrusted import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WILDCARDS = frozenset("*?[")
"""The characters that make a path a pattern."""

_INDEXES = ("tokbench.json", "words.json", "index.json", "journal.jsonl", "plan.json")
"""Names of the files that describe the contents of folders that tokbench has written, finished or not."""
_BEGINNING = re.compile(rb'\{\s*(?:"schema":\s*"tokbench\.|"files":\s*\[\s*\{\s*"address":)')
"""The schema comes first, except in a plan, whose keys are sorted."""
_HEAD_BYTES = 64


def status_of(path: Path) -> os.stat_result | None:
    """Return the status of a path, following links; None if it does not exist."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise CorpusError(f"{str(path)!r} cannot be a path: {error}") from None
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link to itself
            return None
        raise unreadable(str(path), error) from error


def is_folder(path: Path) -> bool:
    """Whether a path is a folder, following links."""
    status = status_of(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def files_below(root: Path, *, hidden: set[str], results: set[str]) -> Iterator[Path]:
    """Yield everything but folders below a folder.

    Paths with hidden names are added to `hidden` instead, and folders that tokbench has written to `results`.

    Links come after all real entries, so that a file that has both is known by its real path. Each folder is entered
    once, so that circular links end.
    """
    links: list[Path] = []
    folders: list[Path] = [root]
    entered: set[object] = set()
    while folders or links:
        path = folders.pop() if folders else links.pop(0)
        if not is_folder(path):
            yield path
            continue
        if (real := path.resolve()) in entered:
            continue
        entered.add(real)
        if path != root and is_result(path):
            results.add(str(path))
            continue
        for entry in _entries(path):
            if _is_hidden(entry.name):
                hidden.add(entry.path)
            elif entry.is_symlink():
                links.append(path / entry.name)
            elif entry.is_dir():
                folders.append(path / entry.name)
            else:
                yield path / entry.name


def is_result(folder: Path) -> bool:
    """Whether tokbench has written a folder, by the beginning of the file that describes its contents.

    >>> from pathlib import Path
    >>> is_result(Path("no/such/folder"))
    False
    """
    return any(_BEGINNING.match(_head(folder / name)) for name in _INDEXES)


def _head(path: Path) -> bytes:
    try:
        with open_regular(path) as stream:
            return stream.read(_HEAD_BYTES)
    except (OSError, ModelFormatError):
        return b""


def expand(folder: Path, pattern: tuple[str, ...]) -> Iterator[Path]:
    """Yield the matches of a pattern below a folder. Hidden names match only components that start with a dot too.

    >>> from pathlib import Path
    >>> sorted(str(path) for path in expand(Path(), ("no", "such", "*.txt")))
    []
    """
    if not pattern:
        yield folder
        return
    head, *rest = pattern
    if WILDCARDS.isdisjoint(head):
        if status_of(folder / head) is not None:
            yield from expand(folder / head, tuple(rest))
    elif not is_folder(folder):
        return
    elif head == "**" and not rest:
        yield folder
    elif head == "**":
        for below in _folders_below(folder):
            yield from expand(below, tuple(rest))
    else:
        for entry in _entries(folder):
            if fnmatchcase(entry.name, head) and (head.startswith(".") or not entry.name.startswith(".")):
                yield from expand(folder / entry.name, tuple(rest))


def _folders_below(root: Path) -> Iterator[Path]:
    """Yield a folder and all folders below it, without hidden ones and without following links."""
    yield root
    for entry in _entries(root):
        if entry.is_dir(follow_symlinks=False) and not _is_hidden(entry.name):
            yield from _folders_below(root / entry.name)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise unreadable(str(folder), error) from error


def _is_hidden(name: str) -> bool:
    """Whether a name in a folder is not one of its texts; pip compiles even texts that end in .py."""
    return name.startswith(".") or name == "__pycache__"


def unreadable(name: str, error: OSError) -> CorpusError:
    """Return the error for a file or folder that the system cannot read."""
    reason = error.strerror or str(error)
    how = "your credentials" if is_url(name) else f"its permissions: ls -ld {name}"
    hint = f"check {how}" if isinstance(error, PermissionError) else None
    return CorpusError(f"{name}: cannot be read ({reason})", hint=hint)


def missing_path(path: Path) -> CorpusError:
    """Return the error for a missing path, with the most similar existing names."""
    if path.is_symlink():
        return CorpusError(f"{path}: a broken symbolic link", hint=f"it points to {path.readlink()}")
    lost = path
    while lost.parent != lost and not lost.parent.is_dir():
        lost = lost.parent
    if lost.exists():
        return CorpusError(f"{path} does not exist", hint=f"{lost} is a file, not a folder")
    close = near_names(lost.name, [entry.name for entry in _entries(lost.parent)], most=3)
    if close:
        return CorpusError(f"{path} does not exist", hint="did you mean " + _alternatives(lost.parent, close))
    if lost != path:
        return CorpusError(f"{path} does not exist", hint=f"there is no folder {lost}")
    return CorpusError(
        f"{path} does not exist", hint=f"no file or folder of that name in {lost.parent.resolve()}"
    )


def _alternatives(folder: Path, names: list[str]) -> str:
    """Return paths as a question: "docs/a.txt, docs/b.txt or docs/c.txt?"."""
    *others, last = [str(folder / name) for name in names]
    return f"{', '.join(others)} or {last}?" if others else f"{last}?"
