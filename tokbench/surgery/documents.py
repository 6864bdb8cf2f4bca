"""Documents (`tokenizer.json`) with tokens removed or added, and otherwise unchanged settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import ConfigError, SurgeryError
from tokbench.formats.tokenizer_json import dump_json
from tokbench.opening.native_bpe import merge_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tokbench.surgery.id_map import IdMap


def dumped(content: bytes | Mapping[str, Any]) -> bytes:
    """Return a SentencePiece model unchanged, or serialize a `tokenizer.json`."""
    return content if isinstance(content, bytes) else dump_json(content)


def pruned_document(document: Mapping[str, Any], id_map: IdMap, *, path: Path | str) -> dict[str, Any]:
    """Remove the tokens without a new id from a `tokenizer.json`, and renumber the others everywhere.

    Args:
        document: a parsed `tokenizer.json` of a BPE, a Unigram or a WordPiece.
        id_map: the new ids; every added token must have one.
        path: its path for error messages.

    A merge is kept if its two parts and its result are kept; scores do not change.

    >>> from tokbench.surgery.id_map import IdMap
    >>> model = {"vocab": {"a": 0, "b": 1, "ab": 2, "aab": 3}, "merges": ["a b", "a ab"]}
    >>> pruned_document({"model": model}, IdMap.closing_up([0, 1, 2], size=4), path="tokenizer.json")["model"]
    {'vocab': {'a': 0, 'b': 1, 'ab': 2}, 'merges': ['a b']}
    """
    changed = {**document, "model": _pruned_model(document["model"], id_map, path=path)}
    if document.get("added_tokens"):
        changed["added_tokens"] = [
            {**token, "id": _new_id(id_map, token["id"])} for token in document["added_tokens"]
        ]
    if document.get("post_processor"):
        changed["post_processor"] = _renumbered(document["post_processor"], id_map)
    if document.get("padding"):
        changed["padding"] = {**document["padding"], "pad_id": _new_id(id_map, document["padding"]["pad_id"])}
    return changed


def _pruned_model(model: Mapping[str, Any], id_map: IdMap, *, path: Path | str) -> dict[str, Any]:
    if isinstance(model["vocab"], list):
        left = [entry for id, entry in enumerate(model["vocab"]) if id_map.new(id) is not None]
        unknown = model.get("unk_id")
        return {**model, "vocab": left, "unk_id": None if unknown is None else _new_id(id_map, unknown)}
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
    """Renumber the tokens that a post-processor inserts."""
    changed = dict(processor)
    if isinstance(processor.get("processors"), list):
        changed["processors"] = [_renumbered(step, id_map) for step in processor["processors"]]
    for role in ("sep", "cls"):
        if role in processor:
            text, id = processor[role]
            changed[role] = [text, _new_id(id_map, id)]
    if isinstance(processor.get("special_tokens"), dict):
        changed["special_tokens"] = {
            name: {**token, "ids": [_new_id(id_map, id) for id in token["ids"]]}
            for name, token in processor["special_tokens"].items()
        }
    return changed


def _new_id(id_map: IdMap, old: int) -> int:
    """Return the new id of a token that a setting refers to. Raises `SurgeryError` if it would be removed."""
    new = id_map.new(old)
    if new is None:
        raise SurgeryError(f"the id {old} is used by the file's settings, and its token would be removed")
    return new


def extended_document(
    document: Mapping[str, Any],
    pieces: Mapping[str, int],
    *,
    merges: Sequence[tuple[str, str]] = (),
    scores: Mapping[str, float] | None = None,
    special_tokens: Mapping[str, int],
) -> dict[str, Any]:
    """Append pieces and special tokens to a `tokenizer.json`.

    Args:
        document: the parsed `tokenizer.json`.
        pieces: new piece as the file spells it → id. Unigram ids are positions in the vocabulary, so placeholders
            for added tokens outside the vocabulary must precede the new pieces.
        merges: for a BPE, the merges that produce the new pieces.
        scores: for a Unigram, piece → score.
        special_tokens: text → id, after the pieces.

    Raises:
        ConfigError: a special token exists already.
        SurgeryError: the ids of a Unigram's pieces would not equal their positions.

    >>> letters = {"a": 0, "b": 1}
    >>> model = {"vocab": letters, "merges": []}
    >>> extended_document({"model": model}, {"ab": 2}, merges=[("a", "b")], special_tokens={})["model"]
    {'vocab': {'a': 0, 'b': 1, 'ab': 2}, 'merges': ['a b']}
    """
    model, added = document["model"], list(document.get("added_tokens") or [])
    by_place = isinstance(model["vocab"], list)
    vocab = {text: id for id, (text, _) in enumerate(model["vocab"])} if by_place else dict(model["vocab"])
    known = {*vocab, *(token["content"] for token in added)}
    for text in special_tokens:
        if text in known:
            raise ConfigError(f"{text!r} is a token already", hint="leave it out")
    changed: dict[str, Any]
    if by_place:
        _check_places(pieces, first=len(vocab))
        changed = {**model, "vocab": [*model["vocab"], *([text, (scores or {})[text]] for text in pieces)]}
    else:
        # The library numbers added tokens after the vocabulary, which grows: only entries of the vocabulary fix an id.
        vocab |= added_outside(document) | dict(pieces) | dict(special_tokens)
        changed = {**model, "vocab": dict(sorted(vocab.items(), key=lambda item: item[1]))}
    if "merges" in model:
        as_text = not model["merges"] or isinstance(model["merges"][0], str)
        written = (f"{left} {right}" if as_text else [left, right] for left, right in merges)
        changed["merges"] = [*model["merges"], *written]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added += [{"id": id, "content": text, **flags, "special": True} for text, id in special_tokens.items()]
    made = {**document, "model": changed}
    return {**made, "added_tokens": added} if added else made


def added_outside(document: Mapping[str, Any]) -> dict[str, int]:
    """Return text → id of the added tokens that are not in the vocabulary of a document."""
    vocab = document["model"]["vocab"]
    inside = {text for text, _ in vocab} if isinstance(vocab, list) else vocab
    return {
        token["content"]: token["id"]
        for token in document.get("added_tokens") or []
        if token["content"] not in inside
    }


def _check_places(pieces: Mapping[str, int], *, first: int) -> None:
    for place, (piece, id) in enumerate(pieces.items(), first):
        if id != place:
            raise SurgeryError(
                f"the ids of Unigram pieces are positions in their list; no token has the id {place}, so {piece!r} "
                f"cannot have the id {id}",
                hint="tokens can only be added to it as special ones",
            )
