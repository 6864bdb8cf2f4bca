"""SentencePiece's Unigram models on our kernel: which models it supports, and their encoders."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.formats.sentencepiece.model import byte_of, iter_user_defined
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.sentencepiece.unigram_scores import symbol_score
from tokbench.native.kernel_choice import chosen_module

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from tokbench.core.kernel_or_library import KernelEncoder
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.formats.sentencepiece.pieces import ModelPiece

COMPILED = "tokbench.native._unigram"
FALLBACK = "tokbench.libraries.sentencepiece.unigram_fallback"

_FOUND_IN_TEXT = (PieceType.NORMAL, PieceType.USER_DEFINED)
_UNKNOWN_PENALTY = np.float32(10)
RESET = 100_000.0
"""The absolute value beyond which the running sum of scores restarts at 0."""
_LARGEST_SCORE = 1e6
_MOST_PIECES = 1 << 23
_DEFINED_BY = (0, 2, 3)


def library_reason(model: SentencePieceFile) -> str:
    """Return why a Unigram model runs on its library; "" if the kernel gives the same ids for every text."""
    types = {piece.type for piece in model.pieces}
    if PieceType.NORMAL not in types or PieceType.UNKNOWN not in types:
        return "it has no normal pieces, or no unknown one"
    if len(model.pieces) > _MOST_PIECES:
        return f"it has more than {_MOST_PIECES:,} pieces"
    if max(abs(piece.score) for piece in model.pieces) > _LARGEST_SCORE:
        return f"scores of more than {_LARGEST_SCORE:,.0f}"
    installed = version("sentencepiece")
    if tuple(int(part) for part in installed.split(".")[:3] if part.isdigit()) < _DEFINED_BY:
        return f"sentencepiece {installed} adds up scores in another way than 0.2.3"
    return ""


def new_encoder(model: SentencePieceFile) -> KernelEncoder:
    """Build the encoder of a model for which `library_reason` returns "".

    Raises:
        ValueError: the normalization table is damaged, or a piece occurs twice.
        BackendUnavailableError: the compiled module is required and not installed.
    """
    _, module = chosen_module(compiled=COMPILED, fallback=FALLBACK)
    pieces = pieces_in_text(model)
    encoder: KernelEncoder = module.Encoder(
        [piece.text.encode() for piece in pieces.values()],
        np.array(list(pieces), np.uint32),
        scores_in_text(pieces.values()),
        unknown=model.unknown_id,
        unknown_score=unknown_score(model),
        bytes=byte_ids(model),
        reset=RESET,
        symbols=[symbol.encode() for symbol in iter_user_defined(model)],
        **normalization_of(model),
    )
    return encoder


def pieces_in_text(model: SentencePieceFile) -> dict[int, ModelPiece]:
    """Return id → piece of the pieces that a text can contain."""
    return {id: piece for id, piece in enumerate(model.pieces) if piece.type in _FOUND_IN_TEXT}


def unknown_score(model: SentencePieceFile) -> float:
    """Return the score of a character that is not a piece."""
    normal = PieceType.NORMAL
    lowest = min([piece.score for piece in model.pieces if piece.type is normal])
    return float(np.float32(lowest) - _UNKNOWN_PENALTY)


def score_in_text(piece: ModelPiece) -> float:
    """Return the score of a piece that a text can contain."""
    if piece.type is PieceType.NORMAL:
        return piece.score
    return symbol_score(piece.text)


def scores_in_text(pieces: Collection[ModelPiece]) -> NDArray[np.float32]:
    """Return the scores of pieces that a text can contain.

    Normal pieces are handled inline, as there are many, and a function call for each would take most of the time.
    """
    normal = PieceType.NORMAL
    return np.array(
        [piece.score if piece.type is normal else score_in_text(piece) for piece in pieces], np.float32
    )


def normalization_of(model: SentencePieceFile) -> dict[str, Any]:
    """Return the arguments of the kernel's encoders for the normalization of a model."""
    names = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    return {
        "charsmap": model.normalizer["precompiled_charsmap"],
        **{name: model.normalizer[name] for name in names},
        "treat_whitespace_as_suffix": model.trainer["treat_whitespace_as_suffix"],
    }


def new_normalizer(model: SentencePieceFile) -> Any:
    """Build the kernel's normalizer of a model, or the one in Python.

    Raises:
        ValueError: the normalization table is damaged.
        BackendUnavailableError: the compiled module is required and not installed.
    """
    _, module = chosen_module(compiled=COMPILED, fallback=FALLBACK)
    symbols = [symbol.encode() for symbol in iter_user_defined(model)]
    return module.Normalizer(symbols=symbols, **normalization_of(model))


def byte_ids(model: SentencePieceFile) -> NDArray[np.uint32] | None:
    """Return the ids of the 256 bytes; None for a model without byte fallback."""
    if not model.trainer["byte_fallback"]:
        return None
    ids = ids_of_bytes(model)
    return np.array([ids[byte] for byte in range(256)], np.uint32)


def ids_of_bytes(model: SentencePieceFile) -> dict[int, int]:
    """Return byte → id of its piece, such as `<0x0A>`."""
    byte = PieceType.BYTE
    return {byte_of(piece.text): id for id, piece in enumerate(model.pieces) if piece.type is byte}
