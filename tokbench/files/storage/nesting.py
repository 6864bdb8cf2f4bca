"""Whether one place is within another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.files.storage.open import place_of

if TYPE_CHECKING:
    from collections.abc import Callable


def within(folder: str | Path) -> Callable[[str | Path], bool]:
    """Tells of paths and URLs whether they are a folder, or below it, where links lead to.

    >>> [within("memory://b/words")(name) for name in ("memory://b/words/a", "memory://b/words2", "words/a")]
    [True, False, False]
    """
    place = place_of(folder)
    if place.local is None:
        prefix = str(place)
        return lambda name: str(name).rstrip("/") == prefix or str(name).startswith(f"{prefix}/")
    root, folders = place.local.resolve(), dict[Path, Path]()

    def is_within(name: str | Path) -> bool:
        path = place_of(name).local
        if path is None:
            return False
        if path.parent not in folders:  # of many files each folder is looked up once
            folders[path.parent] = path.parent.resolve()
        found = folders[path.parent] / path.name
        return found.is_relative_to(root) or (path.is_symlink() and path.resolve().is_relative_to(root))

    return is_within
