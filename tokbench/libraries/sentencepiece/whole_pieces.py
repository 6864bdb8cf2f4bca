"""SentencePiece's word and character models: each word or character is a piece or unknown, without segmentation.

A run of unknown words or characters is one token. Words begin at each ▁ of the normalized text. A character model
first matches its user-defined symbols, the longest at each position.

Source: word_model.cc, char_model.cc and model_interface.cc of SentencePiece 0.2.3.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokbench.core.alternatives import longest_first
from tokbench.core.kernel_or_library import EncodesOneByOne
from tokbench.core.token_arrays import offsets_of
from tokbench.formats.sentencepiece.model import SPACE, ModelType, iter_user_defined
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.libraries.sentencepiece import unigram
from tokbench.native.kernel_choice import chosen_module

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokbench.core.kernel_or_library import KernelEncoder
    from tokbench.formats.sentencepiece.model import SentencePieceFile

COMPILED = unigram.COMPILED

_NEVER_WRITTEN = (PieceType.CONTROL, PieceType.BYTE)
_ANY_CHARACTER = [[1, 0, 1, 1, 1, 0], [0] * 6]
"""A split program (native/bpe/split_program.hpp) that matches one character of set 0."""
_ISOLATED = 0
_LONGEST = 1 << 31


def library_reason(model: SentencePieceFile) -> str:
    """Return why a model runs on its library; "" if the kernel gives the same ids for every text."""
    trainer, normalizer = model.trainer, model.normalizer
    if trainer["byte_fallback"]:
        return "a model of whole pieces with byte fallback"
    if trainer["treat_whitespace_as_suffix"] or not normalizer["escape_whitespaces"]:
        return f"its words do not begin with {SPACE}"
    if any("\0" in piece.text for piece in model.pieces):
        return "a piece contains the character NUL"
    if any(piece.type in _NEVER_WRITTEN and _may_be_found(piece.text, model) for piece in model.pieces):
        return "a text may become a control token"
    table = normalizer["precompiled_charsmap"]
    try:
        table[4 + int.from_bytes(table[:4], "little") :].decode()
    except UnicodeDecodeError:
        return "its table of replacements writes no UTF-8"
    return ""


def _may_be_found(text: str, model: SentencePieceFile) -> bool:
    """Return whether a text may be one of the words or characters that are looked up."""
    if model.model_type is ModelType.CHAR:
        return len(text) == 1
    return text.startswith(SPACE) or not model.normalizer["add_dummy_prefix"]


def new_encoder(model: SentencePieceFile) -> KernelEncoder:
    """Build the encoder of a model for which `library_reason` returns "".

    Raises:
        ValueError: the normalization table is damaged.
        BackendUnavailableError: the compiled module is required and not installed.
    """
    name, _ = chosen_module(compiled=COMPILED, fallback=unigram.FALLBACK)
    return (Encoder if name == "native" else Definition)(model, unigram.new_normalizer(model))


def _pieces(model: SentencePieceFile) -> dict[str, int]:
    """Return piece → id of the pieces that a word or a character can be, without unused pieces."""
    types = (PieceType.NORMAL, PieceType.USER_DEFINED)
    return {piece.text: id for id, piece in enumerate(model.pieces) if piece.type in types}


class Definition(EncodesOneByOne):
    """The reference encoder; see `tokbench.core.kernel_or_library.KernelEncoder`.

    Args:
        model: a word or character model.
        normalizer: the normalizer of the model.
    """

    def __init__(self, model: SentencePieceFile, normalizer: Any) -> None:
        self._normalizer = normalizer
        self._ids, self._unknown = _pieces(model), model.unknown_id
        symbols = longest_first(iter_user_defined(model))
        is_word_model = model.model_type is ModelType.WORD
        self._part = re.compile(
            f"{SPACE}?[^{SPACE}]+|{SPACE}" if is_word_model else f"{symbols}|.", re.DOTALL
        )

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        normal = self._normalizer.normalize(text.encode()).decode()
        ids = [self._ids.get(part, self._unknown) for part in self._part.findall(normal)]
        runs = ((id, list(run)) for id, run in groupby(ids))
        return [kept for id, run in runs for kept in (run[:1] if id == self._unknown else run)]


class _Lookup(Protocol):
    """Looks up each word, or each character, of normalized texts."""

    def ids(self, normal: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return their ids, and int64[len(normal) + 1] offsets."""

    def sized(
        self, normal: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
        """Return their ids, offsets, and sizes in bytes."""


class _CharacterTable:
    """Looks up characters, in a model without symbols of several characters: a table by code point."""

    def __init__(self, model: SentencePieceFile) -> None:
        self._ids = np.full(0x110000, model.unknown_id, np.uint32)
        for piece, id in _pieces(model).items():
            if len(piece) == 1:
                self._ids[ord(piece)] = id

    def ids(self, normal: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        del threads
        ids, offsets, _ = self._looked_up(normal)
        return ids, offsets

    def sized(
        self, normal: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
        del threads
        ids, offsets, characters = self._looked_up(normal)
        sizes = np.ones(len(ids), np.int64)
        for first in (0x80, 0x800, 0x10000):
            sizes += characters >= first
        return ids, offsets, sizes

    def _looked_up(
        self, normal: list[str]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]:
        characters = np.frombuffer("".join(normal).encode("utf-32-le"), np.uint32)
        return self._ids[characters], offsets_of(list(map(len, normal))), characters


class _WordTable:
    """Looks up words, or symbols and characters, with the kernel's WordPiece."""

    def __init__(self, model: SentencePieceFile) -> None:
        from tokbench.native._bpe import PreparedWordPiece

        pieces = _pieces(model)
        is_word_model = model.model_type is ModelType.WORD
        symbols = [] if is_word_model else list(iter_user_defined(model))
        found = [(symbol.encode(), pieces[symbol], 0) for symbol in symbols]
        character = (np.array(_ANY_CHARACTER, np.uint32), 1, False, _ISOLATED, False)
        inside = "\uffff"
        while any(piece.startswith(inside) for piece in pieces):
            inside += "\uffff"
        self._words = PreparedWordPiece(
            [piece.encode() for piece in pieces],
            np.fromiter(pieces.values(), np.uint32, len(pieces)),
            prefix=inside,  # no piece has this prefix, so only whole words match
            unknown=model.unknown_id,
            most_characters=_LONGEST,
            added=([], found),
            added_with_specials=([], found),
            steps=[(SPACE, False, True) if is_word_model else character],
            sets=np.ones(0x110000, np.uint64),
            byte_sets=np.ones(256, np.uint64),
            makes_nfc=False,
        )

    def ids(self, normal: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        return self._words.encode_batch(normal, threads, normalized=True)

    def sized(
        self, normal: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
        ids, starts, stops, counts = self._words.place_batch(normal, threads, normalized=True)
        return ids, offsets_of(counts), stops - starts


class Encoder:
    """The encoder on the kernel: its normalizer, and a lookup of words or characters.

    Args:
        model: a word or character model.
        normalizer: the kernel's normalizer of the model.
    """

    def __init__(self, model: SentencePieceFile, normalizer: Any) -> None:
        is_table = model.model_type is ModelType.CHAR and all(
            len(symbol) == 1 for symbol in iter_user_defined(model)
        )
        self._lookup: _Lookup = (_CharacterTable if is_table else _WordTable)(model)
        self._normalizer = normalizer
        self._unknown = model.unknown_id

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        ids: list[int] = self.encode_batch([text], 1)[0].tolist()
        return ids

    def encode_batch(self, texts: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of many texts, and int64[len(texts) + 1] offsets."""
        ids, offsets = self._lookup.ids(self._normalizer.normalize_batch(texts, threads), threads)
        firsts, new_offsets = self._joined(ids, offsets)
        return ids[firsts], new_offsets

    def sized_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
        """Return the same, and the size of each token in the normalized text in bytes."""
        ids, offsets, sizes = self._lookup.sized(self._normalizer.normalize_batch(texts, threads), threads)
        firsts, new_offsets = self._joined(ids, offsets)
        joined_sizes = np.add.reduceat(sizes, firsts) if len(firsts) else sizes
        return ids[firsts], new_offsets, joined_sizes

    def _joined(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the index of each token, or of the first token of each unknown run, and the offsets of the texts."""
        is_first = np.ones(len(ids), np.bool_)
        is_first[1:] = (ids[1:] != self._unknown) | (ids[:-1] != self._unknown)
        is_first[offsets[:-1][offsets[:-1] < len(ids)]] = True
        new_offsets: NDArray[np.int64] = offsets_of(is_first.astype(np.int64))[offsets]
        return np.flatnonzero(is_first), new_offsets

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        """Return the number of ids of each text."""
        return np.diff(self.encode_batch(texts, threads)[1])
