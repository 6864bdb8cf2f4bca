"""The cache that `huggingface_hub` keeps of a model: `models--ORG--NAME`, with a folder for each of its versions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from pathlib import Path

_MAX_REF_BYTES = 256
_COMMIT = re.compile(r"[0-9a-f]{6,64}")


def cached_folder(folder: Path) -> Path:
    """The version of a cached model that `refs/main` names, or the only one; a folder of any other kind itself.

    Raises:
        ModelFormatError: there are several versions, and no name for one of them.
    """
    snapshots = folder / "snapshots"
    if not folder.name.startswith("models--") or not snapshots.is_dir():
        return folder
    named = _named(folder / "refs" / "main")
    if named is not None and (snapshots / named).is_dir():
        return snapshots / named
    found = sorted(path for path in snapshots.iterdir() if path.is_dir())
    if len(found) == 1:
        return found[0]
    names = ", ".join(path.name for path in found) or "none"
    raise ModelFormatError(snapshots, "one version of a model", names, hint="name the folder of one of them")


def _named(ref: Path) -> str | None:
    if not ref.is_file():
        return None
    with ref.open("rb") as stream:
        text = stream.read(_MAX_REF_BYTES).decode(errors="replace").strip()
    return text if _COMMIT.fullmatch(text) else None


def cached_model_name(folder: Path) -> str | None:
    """The name of the model whose version a folder is, without who made it; None for a folder of another kind.

    >>> from pathlib import Path
    >>> cached_model_name(Path("models--openai--clip/snapshots/0123abc"))
    'clip'
    """
    place = folder.absolute().parent
    if place.name != "snapshots" or not place.parent.name.startswith("models--"):
        return None
    return place.parent.name.rpartition("--")[2] or None
