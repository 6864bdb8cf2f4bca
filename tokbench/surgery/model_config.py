"""Changes to the `config.json` of a model whose tokenizer changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import TokbenchError
from tokbench.formats.tokenizer_config.fields import GENERATION_IDS, config_of, token_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.core.interfaces import Tokenizer
    from tokbench.opening.request import Opened
    from tokbench.surgery.id_map import IdMap

_CONFIG_NAME = "config.json"
_MAX_CONFIG_BYTES = 1 << 24
_ID_SUFFIX = "_token_id"
_ID_SUFFIXES = (_ID_SUFFIX, "_token_index")
"""Endings of the names of ids; the second is that of tokens for images, as in LLaVA's and Gemma 3's config.json."""
_SIZE = "vocab_size"
_TEXT_CONFIGS = ("text_config", "language_config", "llm_config", "thinker_config")
"""Where the config.json of a model for more than text has the settings of its language model, maybe one in another."""


def config_patch(opened: Opened, new: Tokenizer, id_map: IdMap, *, pad_multiple: int) -> dict[str, Any]:
    """Return the changes to the config.json of a model whose tokenizer changes.

    Where a config.json has its language model's settings in an object, such as `text_config`, so does the result.

    Args:
        opened: the old tokenizer. The ids in a config.json beside it are renumbered, and null if their tokens were
            removed; without a config.json, the ids of the roles are returned.
        new: the new tokenizer.
        id_map: the map from the old ids to the new ids.
        pad_multiple: the vocabulary size is rounded up to a multiple of this. It remains that of the config.json if
            no token was removed and there is room for the new ones: a model may have more rows than tokens.
    """
    size = len(id_map.new_to_old)
    rows = -(-size // pad_multiple) * pad_multiple
    beside = _config_beside(opened)
    if beside is None:
        roles = config_of(new).roles or config_of(opened.tokenizer).roles
        known = ((role, token_id(new, roles[role])) for role in GENERATION_IDS if role in roles)
        return {_SIZE: rows} | {f"{role}{_ID_SUFFIX}": id for role, id in known if id is not None}
    sizes = [part[_SIZE] for part in _parts(beside) if type(part.get(_SIZE)) is int]
    if sizes and id_map.keeps_all:
        rows = max(rows, *sizes)
    patch = _changes(beside, id_map, rows)
    if not sizes:
        [*_, innermost] = _parts(patch)
        innermost[_SIZE] = rows
    return patch


def embedding_rows(patch: Mapping[str, Any]) -> int:
    """Return the number of embedding rows that a patch asks for.

    >>> embedding_rows({"eos_token_id": 2, "text_config": {"vocab_size": 320}})
    320
    """
    return next(int(part[_SIZE]) for part in _parts(patch) if _SIZE in part)


def _parts(config: Mapping[str, Any]) -> Iterator[Any]:
    """Yield a configuration, and the ones in it that are of the language model."""
    yield config
    for name in _TEXT_CONFIGS:
        if isinstance(config.get(name), dict):
            yield from _parts(config[name])


def _changes(config: Mapping[str, Any], id_map: IdMap, rows: int) -> dict[str, Any]:
    changes: dict[str, Any] = {_SIZE: rows} if type(config.get(_SIZE)) is int else {}
    for name, value in config.items():
        if name.endswith(_ID_SUFFIXES) and value is not None:
            changes[name] = _renumbered(value, id_map)
        elif name in _TEXT_CONFIGS and isinstance(value, dict):
            changes[name] = _changes(value, id_map, rows)
    return changes


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
