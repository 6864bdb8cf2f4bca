"""Documents (`tokenizer.json`) and SentencePiece models with tokens removed or added, and unchanged settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.errors import ConfigError, SurgeryError
from tokbench.formats.protobuf import fields, length_field, varint_field, written_field
from tokbench.formats.sentencepiece.model import TRAINER_FIELDS, dump_model, parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.tokenizer_json import dump_json
from tokbench.opening.native_bpe import merge_pairs
from tokbench.surgery.id_map import IdMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tokbench.formats.sentencepiece.pieces import ModelPiece


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


_PIECES, _TRAINER, _SELF_TEST = 1, 2, 4
_ROLE_IDS = ("unk_id", "bos_id", "eos_id", "pad_id")


def extended_model(proto: bytes, pieces: Sequence[ModelPiece]) -> bytes:
    """Append pieces to a `ModelProto`; everything else is kept, except the self-test.

    Args:
        proto: the serialized model.
        pieces: the new pieces.

    >>> from tokbench.formats.sentencepiece.model import ModelPiece
    >>> proto = dump_model([ModelPiece("<unk>", 0.0, PieceType.UNKNOWN)], trainer={"unk_id": 0}, normalizer={})
    >>> made = parse_model(extended_model(proto, [ModelPiece("a", -1.0, PieceType.NORMAL)]))
    >>> [piece.text for piece in made.pieces], made.trainer["vocab_size"]
    (['<unk>', 'a'], 2)
    """
    size = len(parse_model(proto).pieces)
    every = range(size)
    same = pruned_model(proto, IdMap.of_pairs(zip(every, every, strict=True), sizes=(size, size)))
    counted = varint_field(TRAINER_FIELDS["vocab_size"].number, size + len(pieces))
    # Readers take the last occurrence of a repeated scalar field; pieces may be anywhere in the message.
    return same + dump_model(pieces, trainer={}, normalizer={}) + length_field(_TRAINER, counted)


def scores_below(pieces: Iterable[ModelPiece], *, number: int) -> list[float]:
    """Return descending single-precision scores, all below those of the existing mergeable pieces.

    >>> from tokbench.formats.sentencepiece.model import ModelPiece
    >>> scores_below([ModelPiece("ab", -3.0, PieceType.NORMAL)], number=2)
    [-4.0, -5.0]
    """
    merged = (piece.score for piece in pieces if piece.type in (PieceType.NORMAL, PieceType.UNUSED))
    score, found = np.float32(min(merged, default=0.0)), []
    for _ in range(number):
        score = min(score - np.float32(1), np.nextafter(score, np.float32(-np.inf)))
        found.append(float(score))
    return found


def pruned_model(proto: bytes, id_map: IdMap) -> bytes:
    """Remove the pieces without a new id from a `ModelProto`; scores, tables and options are kept.

    The self-test, which lists the segmentations of some texts, is dropped: the library rejects a model that fails it.

    Args:
        proto: the serialized model.
        id_map: the map from its ids to the new ids, which must preserve the order.

    >>> from tokbench.formats.sentencepiece.model import ModelPiece, PieceType
    >>> from tokbench.formats.sentencepiece.model import dump_model
    >>> from tokbench.surgery.id_map import IdMap
    >>> pieces = [ModelPiece("a", -1.0, PieceType.NORMAL), ModelPiece("<unk>", 0.0, PieceType.UNKNOWN)]
    >>> proto = dump_model(pieces, trainer={"vocab_size": 2, "unk_id": 1}, normalizer={})
    >>> made = parse_model(pruned_model(proto, IdMap.closing_up([1], size=2)))
    >>> made.pieces, made.trainer["vocab_size"], made.trainer["unk_id"]
    ((ModelPiece(text='<unk>', score=0.0, type=<PieceType.UNKNOWN: 2>),), 1, 0)
    """
    before = parse_model(proto).trainer
    changed = {"vocab_size": len(id_map.new_to_old)}
    for role in _ROLE_IDS:
        new = id_map.new(before[role])
        changed[role] = -1 if new is None else new
    # Readers take the last occurrence of a repeated scalar field.
    trainer = b"".join(varint_field(TRAINER_FIELDS[name].number, value) for name, value in changed.items())
    made, id = [], 0
    for number, value in fields(proto):
        if number == _PIECES:
            stays, id = id_map.new(id) is not None, id + 1
        else:
            stays = number != _SELF_TEST
        if stays:
            made.append(written_field(number, value))
    # Readers merge repeated occurrences of an embedded message.
    return b"".join([*made, length_field(_TRAINER, trainer)])
