"""Models of a `tokenizer.json` that encode words, as our kernel runs them: BPE, WordPiece, WordLevel and Unigram.

The words are the parts that pre-tokenizers split a text into (splitting/steps.py). The checks mirror
models/bpe/model.rs, models/wordpiece/mod.rs, models/wordlevel/mod.rs and models/unigram/model.rs of Hugging Face's
`tokenizers`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.formats.sentencepiece.pieces import BYTE_PIECES
from tokbench.formats.sentencepiece.unigram_scores import UNKNOWN_PENALTY
from tokbench.formats.tokenizer_json import all_from_byte_level, to_byte_level
from tokbench.libraries.huggingface.tokenizer_json import model_type
from tokbench.opening.character_bpe import byte_ids_of, check_size, listed_merges, merges_any, tokens_by_id
from tokbench.opening.tokenizer_json_tokens import NotNativeError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.native._bpe import PreparedWordBpe, PreparedWordPiece, PreparedWordUnigram

_MOST_CHARACTERS = 1 << 31

_MOST_PIECES, _MOST_LENGTH, _MOST_MEAN_LENGTH, _SPARED_LENGTH = 1 << 23, 3 << 20, 15, 1 << 16
"""Bounds within which the kernel's tree holds all pieces: their number, their characters in total and on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordBpe:
    """A BPE over the characters of words.

    Attributes:
        tokens: tokens by id; empty if no text becomes the token.
        merges: uint32[n, 3] of the left, the right and the merged id, in the order of their ranks.
        prefix: the prefix of symbols that do not begin a word.
        suffix: the suffix of symbols that end a word.
        unknown: the id of unknown characters; None if they are dropped.
        joins_unknown: whether adjacent unknown characters become one token.
        byte_ids: the ids of the 256 bytes if the model has byte fallback.
        whole_words_first: whether a word found in the vocabulary becomes that token without merging.
        refused: the id given to unknown characters if the library refuses texts with them; no token has it.
    """

    tokens: tuple[bytes, ...]
    merges: NDArray[np.uint32]
    prefix: str
    suffix: str
    unknown: int | None
    joins_unknown: bool
    byte_ids: tuple[int, ...] | None
    whole_words_first: bool
    refused: int | None

    def encoder(self, **prepared: Any) -> PreparedWordBpe:
        """Build the kernel's encoder for texts prepared as the keyword arguments say."""
        from tokbench.native._bpe import PreparedWordBpe

        return PreparedWordBpe(
            list(self.tokens),
            self.merges,
            prefix=self.prefix,
            suffix=self.suffix,
            unknown=self.unknown,
            joins_unknown=self.joins_unknown,
            byte_ids=None if self.byte_ids is None else np.array(self.byte_ids, np.uint32),
            whole_words_first=self.whole_words_first,
            **prepared,
        )

    def __str__(self) -> str:
        """Describe in words how words are encoded."""
        return "merges of characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPieces:
    """The pieces of a WordPiece, for longest matches, or of a WordLevel, for whole words.

    Attributes:
        pieces: piece → id, without special tokens.
        prefix: the prefix of pieces inside words.
        unknown: the id of the unknown token.
        most_characters: the length limit in characters; longer words are unknown.
        of: the matching algorithm, in words.
        refused: `unknown` if the library refuses texts with unknown words.
        of_bytes: whether the characters of pieces are those of the byte-level alphabet, and stand for bytes.
    """

    pieces: Mapping[str, int]
    prefix: str
    unknown: int
    most_characters: int
    of: str
    refused: int | None
    of_bytes: bool = False

    def encoder(self, **prepared: Any) -> PreparedWordPiece:
        """Build the kernel's encoder for texts prepared as the keyword arguments say."""
        from tokbench.native._bpe import PreparedWordPiece

        pieces = {data: id for data, id in zip(self._data(), self.pieces.values(), strict=True) if data}
        return PreparedWordPiece(
            list(pieces),
            np.fromiter(pieces.values(), np.uint32, len(pieces)),
            prefix=self.prefix,
            unknown=self.unknown,
            most_characters=self.most_characters,
            counts_bytes=self.of_bytes,
            **prepared,
        )

    def _data(self) -> Iterable[bytes | None]:
        """Return the bytes of each piece; None if no word contains it."""
        return (
            all_from_byte_level(self.pieces) if self.of_bytes else (piece.encode() for piece in self.pieces)
        )

    def __str__(self) -> str:
        """Describe in words how words are encoded."""
        return self.of


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPieces:
    """The pieces of a Unigram with their scores.

    Attributes:
        pieces: piece → id, without special tokens.
        scores: returns the scores by id.
        unknown: the id of unknown characters.
        byte_ids: the ids of the 256 bytes if the model has byte fallback.
        refused: `unknown` if the library refuses texts with a character that is no piece; then no piece has such a
            character.
    """

    pieces: Mapping[str, int]
    scores: Callable[[], Sequence[float]]
    unknown: int
    byte_ids: tuple[int, ...] | None
    refused: int | None

    def encoder(self, **prepared: Any) -> PreparedWordUnigram:
        """Build the kernel's encoder for texts prepared as the keyword arguments say."""
        from tokbench.native._bpe import PreparedWordUnigram

        scores = np.array(self.scores(), np.float64)
        ids = np.fromiter(self.pieces.values(), np.uint32, len(self.pieces))
        return PreparedWordUnigram(
            [piece.encode() for piece in self.pieces],
            ids,
            scores[ids],
            unknown=self.unknown,
            unknown_score=float(scores.min()) - UNKNOWN_PENALTY,
            byte_ids=None if self.byte_ids is None else np.array(self.byte_ids, np.uint32),
            **prepared,
        )

    def __str__(self) -> str:
        """Describe in words how words are encoded."""
        return "best sums of scores"


WordVocabulary = WordBpe | WordPieces | ScoredPieces


def byte_pieces(document: Mapping[str, Any], *, specials: Collection[str], free_id: int) -> WordPieces:
    """Parse the WordPiece of a document whose pre-tokenizers write bytes as characters.

    Args:
        document: a parsed `tokenizer.json`.
        specials: pieces that text must not become.
        free_id: an id that no token has.

    Raises:
        NotNativeError: pieces inside words have a prefix that no bytes are written as.
    """
    pieces = _word_pieces(document["model"], specials=specials, free_id=free_id)
    if to_byte_level(pieces.prefix.encode()) != pieces.prefix:
        raise NotNativeError(
            f"its pieces inside words begin with {pieces.prefix!r}, and the others are bytes"
        )
    return replace(pieces, of_bytes=True)


def word_vocabulary(
    document: Mapping[str, Any],
    *,
    specials: Collection[str],
    scores: Callable[[], Sequence[float]],
    free_id: int,
) -> WordVocabulary:
    """Parse the model of a document that encodes words.

    Args:
        document: a parsed `tokenizer.json`, whose merges have been checked against its vocabulary.
        specials: pieces that text must not become.
        scores: returns the scores of a Unigram's pieces as the library parses them.
        free_id: an id that no token has.

    Raises:
        NotNativeError: the model does something that our kernel does not.
    """
    model = document["model"]
    match model_type(document):
        case "BPE":
            return _bpe(model, specials=specials, free_id=free_id)
        case "WordPiece":
            return _word_pieces(model, specials=specials, free_id=free_id)
        case "WordLevel":
            return _whole_words(model, specials=specials, free_id=free_id)
        case "Unigram":
            return _scored(model, specials=specials, scores=scores, free_id=free_id)
        case kind:
            raise NotNativeError(f"the native kernel does not run {kind} with this way of splitting words")


def _bpe(model: Mapping[str, Any], *, specials: Collection[str], free_id: int) -> WordBpe:
    vocab: Mapping[str, int] = model["vocab"]
    prefix, suffix = model.get("continuing_subword_prefix") or "", model.get("end_of_word_suffix") or ""
    byte_ids = byte_ids_of(vocab) if model.get("byte_fallback") else None
    if byte_ids is not None and (prefix or suffix):
        raise NotNativeError("it has byte fallback, and a prefix or suffix that marks the place in a word")
    unknown = model.get("unk_token")
    refused = free_id if unknown is not None and unknown not in vocab and byte_ids is None else None
    unknown_id = refused if unknown is None else vocab.get(unknown, refused)
    merges, _ = listed_merges(model, vocab, specials=specials)
    if merges_any(merges, [unknown_id, *(map(vocab.get, BYTE_PIECES) if byte_ids is not None else ())]):
        raise NotNativeError("it merges byte tokens, or the unknown token")
    tokens = tokens_by_id(vocab, specials=specials, never_made=b"")
    check_size(tokens, merges)
    return WordBpe(
        tokens=tokens,
        merges=merges,
        prefix=prefix,
        suffix=suffix,
        unknown=unknown_id,
        joins_unknown=bool(model.get("fuse_unk")),
        byte_ids=byte_ids,
        whole_words_first=bool(model.get("ignore_merges")),
        refused=refused,
    )


def _word_pieces(model: Mapping[str, Any], *, specials: Collection[str], free_id: int) -> WordPieces:
    unknown, refused = _unknown(model, free_id)
    return WordPieces(
        pieces=_ordinary(model["vocab"], specials),
        prefix=model["continuing_subword_prefix"],
        unknown=unknown,
        most_characters=model["max_input_chars_per_word"],
        of="longest matches",
        refused=refused,
    )


def _whole_words(model: Mapping[str, Any], *, specials: Collection[str], free_id: int) -> WordPieces:
    """Express a WordLevel as a WordPiece without pieces inside words: each word is one piece, or unknown."""
    pieces = _ordinary(model["vocab"], specials)
    prefix = "\uffff"
    while any(piece.startswith(prefix) for piece in pieces):
        prefix += "\uffff"
    unknown, refused = _unknown(model, free_id)
    return WordPieces(
        pieces=pieces,
        prefix=prefix,
        unknown=unknown,
        most_characters=_MOST_CHARACTERS,
        of="whole words",
        refused=refused,
    )


def _scored(
    model: Mapping[str, Any],
    *,
    specials: Collection[str],
    scores: Callable[[], Sequence[float]],
    free_id: int,
) -> ScoredPieces:
    if any(model.get(name) is not None for name in ("alpha", "nbest_size")):
        raise NotNativeError("it samples tokens at random")
    vocab = {piece: id for id, (piece, _) in enumerate(model["vocab"])}
    length = sum(map(len, vocab))
    if (
        max(len(vocab), free_id) >= _MOST_PIECES
        or length > _MOST_LENGTH
        or length > _MOST_MEAN_LENGTH * len(vocab) + _SPARED_LENGTH
    ):
        raise NotNativeError("its pieces are too many, or too long")
    pieces = _ordinary(vocab, specials)
    if model.get("unk_id") is None:
        letters = {piece for piece in pieces if len(piece) == 1}
        spelled = {piece: id for piece, id in pieces.items() if letters.issuperset(piece)}
        return ScoredPieces(pieces=spelled, scores=scores, unknown=free_id, byte_ids=None, refused=free_id)
    return ScoredPieces(
        pieces=pieces,
        scores=scores,
        unknown=model["unk_id"],
        byte_ids=byte_ids_of_pieces(vocab) if model.get("byte_fallback") else None,
        refused=None,
    )


def byte_ids_of_pieces(vocab: Mapping[str, int]) -> tuple[int, ...]:
    """Return the ids of the pieces that spell the 256 bytes. Raises `NotNativeError` if one is missing."""
    if any(piece not in vocab for piece in BYTE_PIECES):
        raise NotNativeError("it has byte fallback without a piece for each byte")
    return tuple(vocab[piece] for piece in BYTE_PIECES)


def _ordinary(vocab: Mapping[str, int], specials: Collection[str]) -> dict[str, int]:
    return {piece: id for piece, id in vocab.items() if piece and piece not in specials}


def _unknown(model: Mapping[str, Any], free_id: int) -> tuple[int, int | None]:
    """Return the id of unknown words, and that id again if the library refuses texts with them."""
    id = model["vocab"].get(model.get("unk_token"))
    return (free_id, free_id) if id is None else (id, None)
