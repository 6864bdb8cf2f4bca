"""Files for adapting a model to its changed tokenizer: id map, initial rows, configuration patch, and a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.errors import StoreError, TokbenchError
from tokbench.formats.tokenizer_config.fields import GENERATION_IDS, config_of, token_id
from tokbench.store import check_parent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.core.interfaces import Tokenizer
    from tokbench.opening.request import Opened
    from tokbench.surgery.id_map import IdMap, InitialRows

_CONFIG_NAME = "config.json"
_ID_SUFFIX = "_token_id"
_ID_SUFFIXES = (_ID_SUFFIX, "_token_index")
"""Endings of the names of ids; the second is that of tokens for images, as in LLaVA's and Gemma 3's config.json."""
_MAX_CONFIG_BYTES = 1 << 24

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


def config_patch(opened: Opened, new: Tokenizer, id_map: IdMap, *, pad_multiple: int) -> dict[str, Any]:
    """Return the changes to the config.json of a model whose tokenizer changes.

    Args:
        opened: the old tokenizer. The ids in a config.json beside it are renumbered, and null if their tokens were
            removed; without a config.json, the ids of the roles are returned.
        new: the new tokenizer.
        id_map: the map from the old ids to the new ids.
        pad_multiple: the vocabulary size is rounded up to a multiple of this.
    """
    size = len(id_map.new_to_old)
    patch: dict[str, Any] = {"vocab_size": -(-size // pad_multiple) * pad_multiple}
    beside = _config_beside(opened)
    if beside is None:
        roles = config_of(new).roles or config_of(opened.tokenizer).roles
        known = ((role, token_id(new, roles[role])) for role in GENERATION_IDS if role in roles)
        return patch | {f"{role}{_ID_SUFFIX}": id for role, id in known if id is not None}
    return patch | {
        name: _renumbered(value, id_map)
        for name, value in beside.items()
        if name.endswith(_ID_SUFFIXES) and value is not None
    }


def _renumbered(value: object, id_map: IdMap) -> Any:
    if isinstance(value, list):
        return [new for new in (_renumbered(item, id_map) for item in value) if new is not None]
    return id_map.new(value) if type(value) is int else None


def _config_beside(opened: Opened) -> Mapping[str, Any] | None:
    """Return the model's config.json beside the old tokenizer; None if there is none that can be read."""
    from tokbench.opening.files import parse_json, read_file

    if not opened.source.files:
        return None
    path = opened.source.files[0].parent / _CONFIG_NAME
    try:
        found = parse_json(read_file(path, limit=_MAX_CONFIG_BYTES), path=path) if path.is_file() else None
    except TokbenchError:
        return None
    return found if isinstance(found, dict) else None


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
