"""The folder that surgery writes: which files it may have, and so what may be replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.opening.request import Opened

DOCUMENT_NAME = "tokenizer.json"
RANKS_NAME = "ranks.tiktoken"
MODEL_NAME = "tokenizer.model"
WORD_LIST_NAME = "vocab.txt"
MODEL_SUFFIX = ".model"
MAP_NAME = "id_map.json"
INIT_NAME = "init.json"
PATCH_NAME = "config_patch.json"
SCRIPT_NAME = "resize_embeddings.py"
_NAMES = {
    *(DOCUMENT_NAME, RANKS_NAME, WORD_LIST_NAME, MAP_NAME, INIT_NAME, PATCH_NAME, SCRIPT_NAME),
    *("tokenizer_config.json", "generation_config.json", "chat_template.jinja"),
}


def model_name(opened: Opened) -> str:
    """What the `.model` of a changed tokenizer is called: as that of the old one, where that was one."""
    names = [path.name for path in opened.source.files if path.suffix == MODEL_SUFFIX]
    return names[0] if names else MODEL_NAME


def check_place(out: Path, *, overwrite: bool) -> None:
    """Refuse, before any work, a place where something would be lost that surgery did not write.

    Args:
        out: the folder to write.
        overwrite: whether a folder that holds nothing else is replaced.

    Raises:
        StoreError: a file is there, or a folder with other files, or any folder with files without `overwrite`.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise StoreError(f"{out} is a file", hint="--out names the folder to write")
    entries = sorted(path.name for path in out.iterdir())
    if entries and not overwrite:
        raise StoreError(f"{out} exists", hint="--force replaces it; --out names another folder")
    strangers = [name for name in entries if name not in _NAMES and not name.endswith(MODEL_SUFFIX)]
    if strangers:
        raise StoreError(
            f"{out} will not be replaced: it holds {strangers[0]!r}, which would not be written",
            hint="move that away, or name another folder with --out",
        )
