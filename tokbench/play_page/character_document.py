"""BPE over characters of a `tokenizer.json` as data of `character_document.js`."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.formats.sentencepiece.model import crosses_words
from tokbench.opening.character_bpe import character_bpe
from tokbench.opening.native_bpe import NotNativeError
from tokbench.play_page.added_tokens import added_fields, cannot_run

if TYPE_CHECKING:
    from collections.abc import Mapping


def character_document_data(document: Mapping[str, Any], *, ids: Mapping[str, int]) -> dict[str, Any]:
    """Return the fields of a BPE over characters.

    Args:
        document: a parsed `tokenizer.json`.
        ids: the id of each token by its spelling.

    Raises:
        PageError: the encoder does not support the document.
    """
    try:
        described = character_bpe(document, ids=ids)
    except NotNativeError as error:
        raise cannot_run("BPE", str(error)) from None
    vocab: Mapping[str, int] = document["model"]["vocab"]
    merges: list[list[int]] = described.merges.tolist()
    operands = set(chain.from_iterable(merge[:2] for merge in merges))
    if described.spaces.normalization:
        raise cannot_run("BPE", f"it normalizes by {', '.join(described.spaces.normalization.kinds)}")
    if len(set(vocab.values())) != len(vocab):
        raise cannot_run("BPE", "two of its tokens have the same id")
    if described.byte_ids is None and described.unknown in operands:
        raise cannot_run("BPE", "it merges the unknown token")
    if not described.finds_specials:
        raise cannot_run("BPE", "its special tokens are among its merges")
    pieces: list[str | None] = [None] * (max(ids.values()) + 1)
    for piece, id in ids.items():
        pieces[id] = piece
    texts = {id: token.decode() for id, token in enumerate(described.tokens)}
    return {
        "model": "character_document",
        "pieces": pieces,
        "pairs": [merge[:2] for merge in merges],
        "merged": [],
        "found": [id for id, text in texts.items() if "\0\0" not in text],
        "unused": [],
        "cuts_words": described.spaces.are_marked
        and not any(crosses_words(texts[made]) for _, _, made in merges),
        "unknown": described.unknown,
        "surface": pieces[described.unknown],
        "joins_unknown": described.joins_unknown,
        "bytes": described.byte_ids,
        "charsmap": "",
        "symbols": [],
        "removes_spaces": False,
        "marks_spaces": described.spaces.are_marked,
        "in_front": described.spaces.in_front,
        "special": added_fields(document, ids),
    }
