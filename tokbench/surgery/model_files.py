"""Files for adapting a model to its changed tokenizer: id map, initial rows, configuration patch, and a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.errors import StoreError
from tokbench.store import check_parent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.opening.request import Opened
    from tokbench.surgery.id_map import IdMap, InitialRows

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


def model_files(id_map: IdMap, rows: InitialRows, patch: Mapping[str, Any]) -> dict[str, bytes]:
    """Return file name → content of the files for the model.

    Args:
        id_map: the map between the old and the new ids.
        rows: the initial rows of the new embedding.
        patch: changes to config.json.
    """
    return {
        MAP_NAME: _dumped(id_map.to_json()),
        INIT_NAME: _dumped(rows.to_json()),
        PATCH_NAME: _dumped(dict(patch)),
        SCRIPT_NAME: Path(__file__).with_name("resize_embeddings.py").read_bytes(),
    }


def _dumped(document: Mapping[str, Any]) -> bytes:
    import orjson

    return orjson.dumps(document) + b"\n"


def model_name(opened: Opened) -> str:
    """Return the file name for a changed `.model`: the name of the old one if there is one, else `MODEL_NAME`."""
    names = [path.name for path in opened.source.files if path.suffix == MODEL_SUFFIX]
    return names[0] if names else MODEL_NAME


def check_place(out: Path, *, overwrite: bool) -> None:
    """Refuse, before any work, an output folder whose replacement would lose files that surgery did not write.

    Args:
        out: the folder to write.
        overwrite: whether to replace a folder that contains only files of surgery.

    Raises:
        StoreError: `out` is a file, below a file, a folder with other files, or a non-empty folder without `overwrite`.
    """
    if not out.exists():
        check_parent(out)
        return
    if not out.is_dir():
        raise StoreError(f"{out} is a file", hint="--out names the folder to write")
    entries = sorted(path.name for path in out.iterdir())
    if entries and not overwrite:
        raise StoreError(f"{out} exists", hint="--force replaces it; --out names another folder")
    strangers = [name for name in entries if name not in _NAMES and not name.endswith(MODEL_SUFFIX)]
    if strangers:
        raise StoreError(
            f"{out} will not be replaced: it contains {strangers[0]!r}, which would not be written",
            hint="move it elsewhere, or name another folder with --out",
        )
