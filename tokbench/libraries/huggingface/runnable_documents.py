"""The documents that the library runs for a `tokenizer.json`: without limits, special tokens or the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.libraries.huggingface.tokenizer_json import model_type, needed_by_texts

if TYPE_CHECKING:
    from collections.abc import Mapping


def runnable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without truncation, padding, dropout and trimming of offsets."""
    model = {**document["model"], "dropout": None} if "dropout" in document["model"] else document["model"]
    return {
        **document,
        "truncation": None,
        "padding": None,
        "model": model,
        "post_processor": _untrimmed(document.get("post_processor")),
    }


def _untrimmed(processor: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if processor is None:
        return None
    changed = dict(processor)
    if "trim_offsets" in changed or changed.get("type") == "ByteLevel":
        changed["trim_offsets"] = False
    if isinstance(changed.get("processors"), list):
        changed["processors"] = [_untrimmed(step) for step in changed["processors"]]
    return changed


def with_unspeakable_specials(document: Mapping[str, Any], spellings: Mapping[str, str]) -> dict[str, Any]:
    """Return the document with other spellings of its special tokens, so that no text becomes one.

    The library's option `encode_special_tokens` is not enough: a Unigram, WordLevel or WordPiece
    model still finds "</s>" in its vocabulary. The ids do not change.

    Args:
        document: a document as returned by `runnable`.
        spellings: the text of each special token → its new spelling.
    """
    model = dict(document["model"])
    vocabulary = model.get("vocab")
    needed = needed_by_texts(document)
    kept = {text: other for text, other in spellings.items() if text not in needed}
    if isinstance(vocabulary, list):
        model["vocab"] = [[kept.get(piece, piece), *rest] for piece, *rest in vocabulary]
    elif isinstance(vocabulary, dict):
        if model_type(document) == "BPE":
            model["merges"] = _merges_without(model, kept)
        model["vocab"] = {kept.get(piece, piece): id for piece, id in vocabulary.items()}
    if isinstance(model.get("unk_token"), str):
        model["unk_token"] = kept.get(model["unk_token"], model["unk_token"])
    added = [
        {**token, "content": spellings[token["content"]]} if token["content"] in kept else token
        for token in document["added_tokens"]
        if not (token["content"] in spellings and token["content"] not in kept)
    ]
    return {**document, "model": model, "added_tokens": added}


def _merges_without(model: Mapping[str, Any], pieces: Mapping[str, str]) -> list[Any]:
    """Return the merges of a BPE that neither join nor create any of the given pieces.

    The result of such a merge begins or ends with one of the pieces, so only these few results are considered, as
    there may be a million merges.
    """
    merges: list[Any] = model.get("merges") or []
    if model.get("continuing_subword_prefix"):
        parts = [merge.split(" ") if type(merge) is str else merge for merge in merges]
        touched = [not pieces.keys().isdisjoint(part) or "".join(part) in pieces for part in parts]
        return [merge for merge, is_touched in zip(merges, touched, strict=True) if not is_touched]
    ends = tuple(pieces)
    affected = [token for token in model["vocab"] if token.startswith(ends) or token.endswith(ends)]
    cuts = ((token[:at], token[at:]) for token in affected for at in range(1, len(token)))
    unwanted = {cut for cut in cuts if not pieces.keys().isdisjoint((*cut, "".join(cut)))}
    spelled = set(map(" ".join, unwanted))
    return [
        merge for merge in merges if not (merge in spelled if type(merge) is str else (*merge,) in unwanted)
    ]


def without_vocabulary(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with an empty vocabulary and no merges, which the library parses in no time."""
    model = {**document["model"], "vocab": {}}
    if "merges" in model:
        model["merges"] = []
    return {**document, "model": model}
