"""A `tokenizer.json` from which tokens went: the same settings, fewer pieces and merges, other ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import SurgeryError
from tokbench.opening.native_bpe import merge_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.surgery.id_map import IdMap


def dumped(content: bytes | Mapping[str, Any]) -> bytes:
    """A model as it is, or a `tokenizer.json` as it is written."""
    import orjson

    if isinstance(content, bytes):
        return content
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def pruned_document(document: Mapping[str, Any], id_map: IdMap, *, path: Path | str) -> dict[str, Any]:
    """A `tokenizer.json` without the tokens that have no new id, and with the new ids everywhere.

    Args:
        document: a parsed `tokenizer.json` of a BPE, a Unigram or a WordPiece.
        id_map: the new ids; every added token has one.
        path: what error messages call it.

    A merge stays where both its parts and what it makes do; scores stay as they are.

    >>> from tokbench.surgery.id_map import IdMap
    >>> model = {"vocab": {"a": 0, "b": 1, "ab": 2, "aab": 3}, "merges": ["a b", "a ab"]}
    >>> pruned_document({"model": model}, IdMap.closing_up([0, 1, 2], size=4), path="tokenizer.json")["model"]
    {'vocab': {'a': 0, 'b': 1, 'ab': 2}, 'merges': ['a b']}
    """
    changed = {**document, "model": _pruned_model(document["model"], id_map, path=path)}
    if document.get("added_tokens"):
        changed["added_tokens"] = [
            {**token, "id": _new(id_map, token["id"])} for token in document["added_tokens"]
        ]
    if document.get("post_processor"):
        changed["post_processor"] = _renumbered(document["post_processor"], id_map)
    if document.get("padding"):
        changed["padding"] = {**document["padding"], "pad_id": _new(id_map, document["padding"]["pad_id"])}
    return changed


def _pruned_model(model: Mapping[str, Any], id_map: IdMap, *, path: Path | str) -> dict[str, Any]:
    if isinstance(model["vocab"], list):
        left = [entry for id, entry in enumerate(model["vocab"]) if id_map.new(id) is not None]
        unknown = model.get("unk_id")
        return {**model, "vocab": left, "unk_id": None if unknown is None else _new(id_map, unknown)}
    kept = {piece: new for piece, old in model["vocab"].items() if (new := id_map.new(old)) is not None}
    vocab = dict(sorted(kept.items(), key=lambda item: item[1]))
    if "merges" not in model:
        return {**model, "vocab": vocab}
    pairs = zip(model["merges"], merge_pairs(model, path=path), strict=True)
    merges = [
        merge for merge, (left, right) in pairs if left in vocab and right in vocab and left + right in vocab
    ]
    return {**model, "vocab": vocab, "merges": merges}


def _renumbered(processor: Mapping[str, Any], id_map: IdMap) -> dict[str, Any]:
    """A post-processor with the new ids of the tokens that it writes."""
    changed = dict(processor)
    if isinstance(processor.get("processors"), list):
        changed["processors"] = [_renumbered(each, id_map) for each in processor["processors"]]
    for role in ("sep", "cls"):
        if role in processor:
            text, id = processor[role]
            changed[role] = [text, _new(id_map, id)]
    if isinstance(processor.get("special_tokens"), dict):
        changed["special_tokens"] = {
            name: {**token, "ids": [_new(id_map, id) for id in token["ids"]]}
            for name, token in processor["special_tokens"].items()
        }
    return changed


def _new(id_map: IdMap, old: int) -> int:
    """The new id of a token that something else names. Raises `SurgeryError` where it is gone."""
    new = id_map.new(old)
    if new is None:
        raise SurgeryError(f"the id {old} is used by the file's settings, and has no token that stays")
    return new
