"""Which files of a folder describe its texts: those that its `MANIFEST.toml` does not list, and READMEs.

That is a table `[[file]]` with a `path` for each text, as the bundled texts have one. A file of that name that says
nothing of the kind is a text like any other. Beside translations, where each file is a language, names that
describe texts (`README.md`, `SOURCE.txt`) are no language either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.errors import ModelFormatError
from tokbench.files.untrusted import read_regular

if TYPE_CHECKING:
    from pathlib import Path

NAME = "MANIFEST.toml"
_MOST_BYTES = 16 << 20
_ABOUT = {"COPYING", "LANGUAGES", "LICENCE", "LICENSE", "MANIFEST", "NOTICE", "README", "SOURCE", "SOURCES"}


def holds_translations(folder: str) -> bool:
    """Whether the files of a folder of this name are translations of one another.

    >>> holds_translations("parallel"), holds_translations("parallel_web"), holds_translations("parallels")
    (True, True, False)
    """
    return folder == "parallel" or folder.startswith(("parallel_", "parallel-"))


def is_about_translations(path: Path) -> bool:
    """Whether a file in a folder of translations describes them, by its name without extensions.

    >>> from pathlib import Path
    >>> is_about_translations(Path("parallel/README.md")), is_about_translations(Path("docs/README.md"))
    (True, False)
    """
    return path.name.partition(".")[0].upper() in _ABOUT and holds_translations(path.absolute().parent.name)


class Listings:
    """What the manifests of folders list, each read once."""

    def __init__(self) -> None:
        self._listed: dict[Path, frozenset[str] | None] = {}

    def leave_out(self, path: Path, *, root: Path) -> bool:
        """Whether the nearest manifest from a file's folder up to `root` does not list it; no manifest lists all."""
        for folder in path.parents:
            if folder not in self._listed:
                self._listed[folder] = _listed_in(folder)
            listed = self._listed[folder]
            if listed is not None:
                return path.relative_to(folder).as_posix() not in listed
            if folder == root:
                break
        return False


def _listed_in(folder: Path) -> frozenset[str] | None:
    """The paths that a folder's manifest lists, None where there is none."""
    import tomllib

    try:
        entries = tomllib.loads(read_regular(folder / NAME, limit=_MOST_BYTES).decode())["file"]
        return frozenset(str(entry["path"]) for entry in entries) or None
    except (OSError, ModelFormatError, ValueError, LookupError, TypeError, RecursionError):
        return None
