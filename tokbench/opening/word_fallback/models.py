"""Encode single words, by BPE over characters or by longest matches.

Source: models/bpe and models/wordpiece of Hugging Face's `tokenizers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tokbench.backends.wordpiece.reference import longest_match
from tokbench.core.merging import merge_symbols
from tokbench.opening.word_vocabulary import WordBpe, WordPieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.opening.word_vocabulary import WordVocabulary

_UNKNOWN = -1


class WordToken(NamedTuple):
    """A token of a word.

    Attributes:
        id: its id.
        size: the number of bytes of the word that it covers.
    """

    id: int
    size: int


class MergedCharacters:
    """A BPE over the characters of words.

    Symbols at the beginning, inside and at the end of a word may differ. A character without a symbol is dropped: the
    tokens after it start where it started.
    """

    def __init__(self, described: WordBpe) -> None:
        self._described = described
        self._ids = {token.decode(): id for id, token in enumerate(described.tokens) if token}
        self._merges = {
            (left, right): (rank, merged)
            for rank, (left, right, merged) in enumerate(described.merges.tolist())
        }

    def tokens(self, word: str) -> list[WordToken]:
        """Return the tokens of a non-empty word, in order."""
        whole = self._ids.get(word) if self._described.whole_words_first else None
        if whole is not None:
            return [WordToken(whole, len(word.encode()))]
        tokens: list[WordToken] = []
        after_unknown = False
        start = 0
        data = word.encode()
        for id, size in merge_symbols(self._symbols(word), self._merge):
            if id != _UNKNOWN:
                tokens.append(WordToken(id, size))
            elif self._described.byte_ids is not None:
                tokens += [
                    WordToken(self._described.byte_ids[byte], 1) for byte in data[start : start + size]
                ]
            elif after_unknown and self._described.joins_unknown:
                tokens[-1] = WordToken(tokens[-1].id, tokens[-1].size + size)
            else:
                assert self._described.unknown is not None  # otherwise there is no such symbol
                tokens.append(WordToken(self._described.unknown, size))
            after_unknown = id == _UNKNOWN
            start += size
        return tokens

    def _symbols(self, word: str) -> Iterator[WordToken]:
        described = self._described
        leaves_out = described.unknown is None and described.byte_ids is None
        for place, character in enumerate(word):
            prefix = described.prefix if place else ""
            suffix = described.suffix if place + 1 == len(word) else ""
            id = self._ids.get(prefix + character + suffix, _UNKNOWN)
            if id != _UNKNOWN or not leaves_out:
                yield WordToken(id, len(character.encode()))

    def _merge(self, pair: tuple[WordToken, WordToken]) -> tuple[int, WordToken] | None:
        left, right = pair
        found = self._merges.get((left.id, right.id))
        return None if found is None else (found[0], WordToken(found[1], left.size + right.size))


class LongestPieces:
    """The longest matches of a WordPiece, or the whole words of a WordLevel."""

    def __init__(self, described: WordPieces) -> None:
        self._described = described
        self._longest = max(map(len, described.pieces), default=0)
        self._sizes = {id: len(piece.encode()) for piece, id in described.pieces.items()}

    def tokens(self, word: str) -> list[WordToken]:
        """Return the tokens of a non-empty word, in order; a single token covers all of it, known or unknown."""
        described = self._described
        ids = longest_match(
            word,
            described.pieces,
            unknown=described.unknown,
            prefix=described.prefix,
            max_characters=described.most_characters,
            longest=self._longest,
        )
        if len(ids) == 1:
            return [WordToken(ids[0], len(word.encode()))]
        mark = len(described.prefix.encode())
        return [WordToken(id, self._sizes[id] - (mark if place else 0)) for place, id in enumerate(ids)]


WordModel = MergedCharacters | LongestPieces


def word_model(described: WordVocabulary) -> WordModel:
    """Return the model that encodes words with a vocabulary."""
    if isinstance(described, WordBpe):
        return MergedCharacters(described)
    assert isinstance(described, WordPieces)  # `KernelDocument.runs_in_python` checked it
    return LongestPieces(described)
