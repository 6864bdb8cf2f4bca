"""What a folder holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the data of every file in a folder and below it, by its path in the folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def json_of(path: Path) -> Any:
    """Return the value in a JSON file."""
    return json.loads(path.read_bytes())
