"""SentencePiece's BPE models on our kernel: which models it supports, and their encoders."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.libraries.sentencepiece.unigram import byte_ids, normalization_of
from tokbench.native.kernel_choice import chosen_module

if TYPE_CHECKING:
    from tokbench.core.kernel_or_library import KernelEncoder
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.formats.sentencepiece.pieces import ModelPiece

COMPILED = "tokbench.native._character_bpe"
FALLBACK = "tokbench.libraries.sentencepiece.bpe_fallback"

_MOST_PIECES = 1 << 20
_MOST_UNUSED = 100
"""The largest length of an unused piece in bytes: the library splits such pieces recursively, to a limited depth."""


def library_reason(model: SentencePieceFile) -> str:
    """Return why a BPE model runs on its library; "" if the kernel gives the same ids for every text."""
    if len(model.pieces) >= _MOST_PIECES:
        return f"it has {_MOST_PIECES:,} pieces or more"
    if any("\0" in piece.text and piece.text != "\0" for piece in model.pieces):
        return "a piece contains the character NUL"
    unused = [piece.text for piece in model.pieces if piece.type is PieceType.UNUSED]
    if any(len(text.encode()) > _MOST_UNUSED for text in unused):
        return "it has a long piece that is not used"
    if unused and _is_merged_ambiguously(unused, model.pieces):
        return "a piece that is not used can be merged in two ways, of which the last one in the text counts"
    return ""


def new_encoder(model: SentencePieceFile) -> KernelEncoder:
    """Build the encoder of a model for which `library_reason` returns "".

    Raises:
        ValueError: the normalization table is damaged, or the pieces repeat more than a table can hold.
        BackendUnavailableError: the compiled module is required and not installed.
    """
    _, module = chosen_module(compiled=COMPILED, fallback=FALLBACK)
    pieces = model.pieces
    encoder: KernelEncoder = module.Encoder(
        [piece.text.encode() for piece in pieces],
        np.array([piece.score for piece in pieces], np.float32),
        np.frombuffer(bytes(kinds_of(pieces)), np.uint8),
        unknown=model.unknown_id,
        byte_ids=byte_ids(model),
        **normalization_of(model),
    )
    return encoder


def kinds_of(pieces: tuple[ModelPiece, ...]) -> list[PieceType]:
    """Return the types with which the library treats pieces: one of the character NUL alone counts as unused."""
    unused = PieceType.UNUSED
    return [unused if text == "\0" else type for text, _, type in pieces]


def _is_merged_ambiguously(texts: list[str], pieces: tuple[ModelPiece, ...]) -> bool:
    """Return whether one of the texts can be merged from two symbols in more than one way."""
    merged = {piece.text for piece in pieces if piece.type in (PieceType.NORMAL, PieceType.UNUSED)}

    def is_symbol(text: str) -> bool:
        return len(text) == 1 or text in merged

    ways = Counter(
        text for text in texts for i in range(1, len(text)) if is_symbol(text[:i]) and is_symbol(text[i:])
    )
    return any(count > 1 for count in ways.values())
