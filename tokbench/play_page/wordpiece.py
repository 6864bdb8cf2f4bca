"""WordPiece as the data of `wordpiece.js`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tokbench.errors import PageError
from tokbench.opening.described_models import described_wordpiece
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.play_page.added_tokens import added_fields
from tokbench.play_page.bert_characters import bert_characters

if TYPE_CHECKING:
    from collections.abc import Mapping


def wordpiece_data(document: Mapping[str, Any], *, ids: Mapping[str, int]) -> dict[str, Any]:
    """The fields of a WordPiece.

    Args:
        document: a `tokenizer.json`.
        ids: the id of each token as it spells it.

    Raises:
        PageError: it does something that the encoder does not.
    """
    try:
        described = described_wordpiece(document)
    except NotNativeError as error:
        raise PageError(
            f"no encoder of the page runs this WordPiece: {error}",
            hint="`tokbench play` in the terminal does",
        ) from None
    pieces: list[str | None] = [None] * (max(described.pieces.values(), default=-1) + 1)
    for piece, id in described.pieces.items():
        pieces[id] = piece
    return {
        "model": "wordpiece",
        "pieces": pieces,
        "prefix": described.prefix,
        "unknown": described.unknown,
        "most_characters": described.max_characters_per_word,
        "characters": bert_characters(**asdict(described.rules)),
        "special": added_fields(document, ids),
    }
