"""A `tokenizer.json` with tokens behind its own: old ids stay, whatever the library would number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import ConfigError, SurgeryError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def extended_document(
    document: Mapping[str, Any],
    pieces: Mapping[str, int],
    *,
    merges: Sequence[tuple[str, str]] = (),
    scores: Mapping[str, float] | None = None,
    special_tokens: Mapping[str, int],
) -> dict[str, Any]:
    """A `tokenizer.json` with pieces behind its own, and with more special tokens.

    Args:
        document: parsed.
        pieces: the new ones, as the file spells them, → ids. A Unigram numbers pieces by their places, so that those
            of added tokens behind its own come first, where any come.
        merges: of a BPE, what they are made of.
        scores: of a Unigram, piece → score.
        special_tokens: text → id, behind those.

    Raises:
        ConfigError: a special token is there already.
        SurgeryError: the pieces of a Unigram would have other ids than their places.

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
        # Their ids would follow the vocabulary, which grows: an id that is to stay can only be said there.
        vocab |= added_outside(document) | dict(pieces) | dict(special_tokens)
        changed = {**model, "vocab": dict(sorted(vocab.items(), key=lambda item: item[1]))}
    if "merges" in model:
        as_text = not model["merges"] or isinstance(model["merges"][0], str)
        written = (f"{left} {right}" if as_text else [left, right] for left, right in merges)
        changed["merges"] = [*model["merges"], *written]
    added += [_special(text, id) for text, id in special_tokens.items()]
    made = {**document, "model": changed}
    return {**made, "added_tokens": added} if added else made


def added_outside(document: Mapping[str, Any]) -> dict[str, int]:
    """Text → id of the added tokens that the vocabulary of a document does not have."""
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
                f"the pieces of a Unigram are numbered by their places, and {piece!r} with the id {id} would be in "
                f"place {place}: no token has that id",
                hint="tokens can only be added to it as special ones",
            )


def _special(text: str, id: int) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id, "content": text, **flags, "special": True}
