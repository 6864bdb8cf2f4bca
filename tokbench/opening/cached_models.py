"""Models in the cache of `huggingface_hub`: models--ORGANIZATION--NAME/snapshots/COMMIT."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from pathlib import Path

_MAX_REF_BYTES = 256
_COMMIT = re.compile(r"[0-9a-f]{6,64}")


def cached_folder(folder: Path) -> Path:
    """Return the revision of a model in `huggingface_hub`'s cache that `refs/main` names, or its only one.

    Any other folder is returned as is.

    Raises:
        ModelFormatError: there are several revisions, and `refs/main` names none of them.
    """
    snapshots = folder / "snapshots"
    if not folder.name.startswith("models--") or not snapshots.is_dir():
        return folder
    commit = _commit_in(folder / "refs" / "main")
    if commit is not None and (snapshots / commit).is_dir():
        return snapshots / commit
    revisions = sorted(path for path in snapshots.iterdir() if path.is_dir())
    if len(revisions) == 1:
        return revisions[0]
    names = ", ".join(path.name for path in revisions) or "none"
    raise ModelFormatError(snapshots, "one version of a model", names, hint="name the folder of one of them")


def _commit_in(ref: Path) -> str | None:
    if not ref.is_file():
        return None
    with ref.open("rb") as stream:
        text = stream.read(_MAX_REF_BYTES).decode(errors="replace").strip()
    return text if _COMMIT.fullmatch(text) else None


def cached_model_name(folder: Path) -> str | None:
    """Return the model name, without its organization, of a cached revision's folder; None for any other folder.

    >>> from pathlib import Path
    >>> cached_model_name(Path("models--openai--clip/snapshots/0123abc"))
    'clip'
    """
    place = folder.absolute().parent
    if place.name != "snapshots" or not place.parent.name.startswith("models--"):
        return None
    return place.parent.name.rpartition("--")[2] or None
