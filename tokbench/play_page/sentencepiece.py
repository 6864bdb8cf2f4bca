"""SentencePiece models as data of `sentencepiece.js`."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.formats.sentencepiece.model import ModelType, crosses_words, iter_user_defined
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.libraries.sentencepiece import bpe, unigram
from tokbench.play_page.added_tokens import cannot_run, special_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokbench.formats.sentencepiece.model import SentencePieceFile

_MOST_PIECE_BYTES = 1 << 23
"""Maximum total size of all pieces, which the encoder's packed numbers can address."""


def sentencepiece_data(model: SentencePieceFile, *, special_tokens: Mapping[str, int]) -> dict[str, Any]:
    """Return the fields of a model.

    Args:
        model: the parsed model file.
        special_tokens: text → id.

    Raises:
        PageError: the encoders do not support the model.
    """
    if model.model_type is ModelType.UNIGRAM:
        reason, own = unigram.library_reason(model), _unigram_fields
    elif model.model_type is ModelType.BPE:
        reason, own = bpe.library_reason(model), _bpe_fields
    else:
        reason, own = f"its pieces are {model.model_type.name.lower()}s", _bpe_fields
    if not reason and sum(len(piece.text.encode()) for piece in model.pieces) >= _MOST_PIECE_BYTES:
        reason = "its pieces are too many"
    if reason:
        raise cannot_run("SentencePiece model", reason)
    return {**_shared_fields(model), **own(model), "special": special_fields(special_tokens, {})}


def _shared_fields(model: SentencePieceFile) -> dict[str, Any]:
    normalizer, trainer = model.normalizer, model.trainer
    byte_ids = unigram.ids_of_bytes(model)
    is_suffix = trainer["treat_whitespace_as_suffix"]
    unknown = next(id for id, piece in enumerate(model.pieces) if piece.type is PieceType.UNKNOWN)
    return {
        "pieces": [piece.text for piece in model.pieces],
        "unknown": unknown,
        "joins_unknown": True,
        "surface": trainer["unk_surface"],
        "bytes": [byte_ids[byte] for byte in range(256)] if trainer["byte_fallback"] else None,
        "charsmap": b64encode(normalizer["precompiled_charsmap"]).decode(),
        "symbols": list(iter_user_defined(model)),
        "add_prefix": normalizer["add_dummy_prefix"] and not is_suffix,
        "add_suffix": normalizer["add_dummy_prefix"] and is_suffix,
        "removes_spaces": normalizer["remove_extra_whitespaces"],
        "marks_spaces": normalizer["escape_whitespaces"],
    }


def _unigram_fields(model: SentencePieceFile) -> dict[str, Any]:
    found = {id: unigram.score_in_text(piece) for id, piece in unigram.pieces_in_text(model).items()}
    return {
        "model": "unigram",
        "scores": [[id, _shortest(score)] for id, score in found.items()],
        "unknown_score": unigram.unknown_score(model),
        "reset": unigram.RESET,
    }


def _shortest(score: float) -> float:
    """Return the shortest decimal number with the same 32-bit value."""
    number = np.float32(score)
    short = float(str(number))
    return short if np.float32(short) == number else float(number)


def _bpe_fields(model: SentencePieceFile) -> dict[str, Any]:
    types = dict(enumerate(bpe.kinds_of(model.pieces)))

    def ids_of(*wanted: PieceType) -> Iterable[int]:
        return [id for id, type in types.items() if type in wanted]

    merged = ids_of(PieceType.NORMAL, PieceType.UNUSED)
    scores = sorted({model.pieces[id].score for id in merged}, reverse=True)
    rank_of = {score: rank for rank, score in enumerate(scores)}
    texts = [
        model.pieces[id].text for id in ids_of(PieceType.NORMAL, PieceType.UNUSED, PieceType.USER_DEFINED)
    ]
    return {
        "model": "character_bpe",
        "merged": [[id, rank_of[model.pieces[id].score]] for id in merged],
        "found": ids_of(PieceType.NORMAL, PieceType.USER_DEFINED),
        "unused": ids_of(PieceType.UNUSED),
        "cuts_words": model.normalizer["escape_whitespaces"] and not any(map(crosses_words, texts)),
    }
