"""The group of a document, as its file or the way of grouping tells it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from tokbench.corpus.files import CorpusFile

BUNDLED_FOLDERS = frozenset({"parallel", "code"})
NO_EXTENSION = "(none)"

_FIELD = "field:"
_WAYS = ("auto", "path", "script", "extension")


def check_group_by(group_by: str) -> None:
    """Raise `ConfigError` for a way of grouping that there is not."""
    if group_by not in _WAYS and not group_field(group_by):
        raise ConfigError(
            f"unknown way of grouping {group_by!r}",
            hint=f"choose {', '.join(_WAYS)} or field:NAME (--group-by)",
        )


def group_field(group_by: str) -> str | None:
    """The field that holds the group, or None where groups come from elsewhere.

    >>> group_field("field:lang"), group_field("auto")
    ('lang', None)
    """
    return group_by.removeprefix(_FIELD) if group_by.startswith(_FIELD) else None


def file_group(file: CorpusFile, group_by: str) -> str | None:
    """The group that all documents of a file have, or None where each has its own."""
    match group_by:
        case "auto":
            return _bundled_group(file)
        case "path":
            return _bundled_group(file) or _place(file)
        case "extension":
            return PurePath(file.plain_name).suffix.lower().lstrip(".") or NO_EXTENSION
        case _:
            return None


def _bundled_group(file: CorpusFile) -> str | None:
    """What follows a folder `parallel` or `code`: "de" for parallel/de.txt, "python" for code/python/a.py.

    Of an absolute path only the folder that was named and what is below it count, so that a
    project that lives in ~/code is not one group.
    """
    parts = file.path.parts
    if file.path.is_absolute():
        parts = parts[-1 - len(file.below) :]
    for folder, entry in pairwise(parts[:-1]):
        if folder in BUNDLED_FOLDERS:
            return entry
    return _stem(file) if len(parts) > 1 and parts[-2] in BUNDLED_FOLDERS else None


def _place(file: CorpusFile) -> str:
    """The first folder below the one that was named, or the file's name without extensions."""
    return file.below[0] if len(file.below) > 1 else _stem(file)


def _stem(file: CorpusFile) -> str:
    return "stdin" if file.is_stdin else PurePath(file.plain_name).stem
