"""Unigram of a `tokenizer.json` as the data of `unigram_document.js`."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import orjson

from tokbench.errors import PageError
from tokbench.opening.unigram_description import LeftToLibraryError
from tokbench.play_page.added_tokens import added_fields
from tokbench.play_page.joined_characters import joined_characters

if TYPE_CHECKING:
    from tokbench.opening.unigram_document import UnigramDocument


def unigram_document_data(tokenizer: UnigramDocument) -> dict[str, Any]:
    """The fields of a Unigram.

    Args:
        tokenizer: made of a `tokenizer.json`.

    Raises:
        PageError: the document asks for what the encoder does not do.
    """
    try:
        described = tokenizer.described
    except LeftToLibraryError as error:
        raise _not_run(str(error)) from None
    if described.only_spaces:
        raise _not_run("it does not split by WhitespaceSplit")
    if described.normalization:
        raise _not_run(f"it normalises by {', '.join(described.normalization.kinds)}")
    spelled = tokenizer.spelled_ids
    pieces: list[str | None] = [None] * tokenizer.info.vocab_size
    for piece, id in spelled.items():
        pieces[id] = piece
    return {
        "model": "unigram_document",
        "pieces": pieces,
        "scores": list(map(list, described.pieces.values())),
        "special_scores": list(map(list, described.special_pieces.values())),
        "unknown": described.unknown,
        "unknown_score": described.unknown_score,
        "reset": None,
        "is_double": True,
        "bytes": described.byte_ids,
        "charsmap": b64encode(described.charsmap).decode(),
        "joined": joined_characters(described.charsmap),
        "special": added_fields(orjson.loads(tokenizer.document), spelled),
    }


def _not_run(why: str) -> PageError:
    return PageError(
        f"no encoder of the page runs this Unigram: {why}", hint="`tokbench play` in the terminal does"
    )
