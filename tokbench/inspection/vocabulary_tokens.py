r"""The tokens of a vocabulary: their bytes, and the properties that the file gives them.

A token is bytes. Its text is their UTF-8 decoding; bytes that are not whole characters have no text, and are written
with `\xNN` for each byte that belongs to no character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.inspection.token_merges import NoTokenMerges, token_merges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.inspection.contents import TokenizerContents
    from tokbench.inspection.token_merges import TokenMerges

_BYTE_PIECE = re.compile(r"<0x[0-9A-F]{2}>")


class VocabularyTokenKind(StrEnum):
    """The kind of a token in a vocabulary."""

    NORMAL = "normal"
    BYTE = "byte"
    """One byte of a character that the vocabulary has no token for (byte fallback)."""
    UNKNOWN = "unknown"
    """Stands for a character, or a word, that the vocabulary cannot spell."""
    ADDED = "added"
    """An added token that is not special: found in every text before the model runs."""
    SPECIAL = "special"


@dataclass(frozen=True, slots=True)
class VocabularyToken:
    r"""A token of a vocabulary.

    Attributes:
        id: its id.
        data: its bytes.
        kind: its kind.
        spelling: its spelling in the file, where that may differ from its text (`▁the`, `##ing`); else None.
        score: its score, if the algorithm has scores.
        rank: the rank of the merge that makes it, if the algorithm merges.

    >>> VocabularyToken(0, "é".encode()).text, VocabularyToken(1, b"\xc3").text
    ('é', None)
    """

    id: int
    data: bytes
    kind: VocabularyTokenKind = VocabularyTokenKind.NORMAL
    spelling: str | None = None
    score: float | None = None
    rank: float | None = None

    @property
    def text(self) -> str | None:
        """Its text; None if its bytes are not whole characters."""
        return text_of_bytes(self.data)


class VocabularyTokens:
    """The tokens of a tokenizer's vocabulary, built on demand.

    Args:
        contents: the contents of the tokenizer.
    """

    def __init__(self, contents: TokenizerContents) -> None:
        self.contents = contents

    def __iter__(self) -> Iterator[VocabularyToken]:
        return (self[id] for id in self.tokens)

    def __getitem__(self, id: int) -> VocabularyToken:
        """Return the token with this id. Raises `KeyError` if there is none."""
        rank = self.ranks.get(id)
        return VocabularyToken(
            id=id,
            data=self.tokens[id],
            kind=self._kind(id),
            spelling=self.spellings.get(id),
            score=self.scores.get(id),
            rank=int(rank) if rank is not None and rank == int(rank) else rank,
        )

    @cached_property
    def tokens(self) -> Mapping[int, bytes]:
        """The bytes of each id that has a token, in the order of ids."""
        return self.contents.tokens

    @cached_property
    def merges(self) -> TokenMerges | NoTokenMerges:
        """The merges between the tokens, or the reason why there are none."""
        try:
            return token_merges(self.contents)
        except NoTokenMerges as none:
            return none

    @cached_property
    def ranks(self) -> Mapping[int, float]:
        """The rank at which each token is made; empty if the algorithm does not merge."""
        return {} if isinstance(self.merges, NoTokenMerges) else self.merges.ranks

    @cached_property
    def spellings(self) -> Mapping[int, str]:
        """The spellings of the pieces of a SentencePiece model, or a `tokenizer.json` without byte-level pieces."""
        contents = self.contents
        if contents.bpe is not None:
            return {}
        if contents.sentencepiece is not None:
            return {id: piece.text for id, piece in enumerate(contents.sentencepiece.pieces)}
        if contents.document is None:
            return {}
        vocab = contents.document["model"]["vocab"]
        if isinstance(vocab, list):
            return {id: piece for id, (piece, _) in enumerate(vocab)}
        return {id: piece for piece, id in vocab.items()}

    @cached_property
    def scores(self) -> Mapping[int, float]:
        """The scores of SentencePiece and Unigram pieces; empty for other algorithms."""
        contents = self.contents
        if contents.sentencepiece is not None:
            return {id: piece.score for id, piece in enumerate(contents.sentencepiece.pieces)}
        document = None if contents.bpe is not None else contents.document
        vocab = None if document is None else document["model"]["vocab"]
        return {id: float(score) for id, (_, score) in enumerate(vocab)} if isinstance(vocab, list) else {}

    def _kind(self, id: int) -> VocabularyTokenKind:
        if id in self._special_ids:
            return VocabularyTokenKind.SPECIAL
        if id in self.contents.added_ids:
            return VocabularyTokenKind.ADDED
        if id == self._unknown_id:
            return VocabularyTokenKind.UNKNOWN
        is_byte = len(self.tokens[id]) == 1 and _BYTE_PIECE.fullmatch(self.spellings.get(id, ""))
        return VocabularyTokenKind.BYTE if is_byte else VocabularyTokenKind.NORMAL

    @cached_property
    def _unknown_id(self) -> int | None:
        """The id of the unknown token; None if the files name none."""
        contents = self.contents
        if contents.sentencepiece is not None:
            types = [piece.type for piece in contents.sentencepiece.pieces]
            return types.index(PieceType.UNKNOWN) if PieceType.UNKNOWN in types else None
        if contents.bpe is not None or contents.document is None:
            return None
        model = contents.document["model"]
        vocab = model["vocab"]
        id = model.get("unk_id") if isinstance(vocab, list) else vocab.get(model.get("unk_token"))
        return id if isinstance(id, int) else None

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        return frozenset(self.contents.tokenizer.info.special_tokens.values())


def text_of_bytes(data: bytes) -> str | None:
    r"""Return the text of bytes, or None if they are not whole characters.

    >>> text_of_bytes(b"a"), text_of_bytes(b"\xe2\x82")
    ('a', None)
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def escaped(data: bytes) -> str:
    r"""Return bytes as one line of text from which they can be recovered unambiguously.

    A backslash is doubled. Invisible characters become `\t`, `\n`, `\r` or `\u{HEX}`, with their code point; a byte
    that belongs to no character becomes `\xNN`.

    >>> print(escaped(b"a\tb\\n"), escaped("\u200b".encode()), escaped(b"\xe2\x82!"))
    a\tb\\n \u{200b} \xe2\x82!
    """
    return "".join(map(_escaped, data.decode(errors="surrogateescape")))


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if character in _NAMED:
        return _NAMED[character]
    return character if character.isprintable() else f"\\u{{{code:x}}}"


_NAMED = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
