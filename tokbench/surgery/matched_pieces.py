"""The pieces of a WordPiece, and the choice of those to remove: a fast `reference.prune_matches`.

Pieces are chosen by the tokens that a text gains. The loss of a piece is a sum over the words that contain it as a
token. For each word, the number of tokens without each of its own tokens is stored, with all pieces involved; when one
of these is removed, the word is matched again. An unknown word is matched again when one of its matched pieces is
removed, since a shorter match may succeed.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.core.wording import counted
from tokbench.surgery.leaves import Remaining
from tokbench.surgery.proofs import wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tokbench.surgery.id_map import IdMap

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class MatchedPieces:
    """The tokens of a WordPiece.

    Attributes:
        ids: every id that has a token.
        texts: id → piece, for the pieces that words are matched with.
        prefix: the prefix of pieces inside words.
        kept: ids that are never removed: single characters, special, unknown and added tokens.
        needed: ids of pieces with a character that is not a piece by itself at its position (word start or inside).
    """

    ids: frozenset[int]
    texts: Mapping[int, str]
    prefix: str
    kept: frozenset[int]
    needed: frozenset[int]

    @property
    def token_bytes(self) -> dict[int, bytes]:
        """Id → bytes of the pieces that words are matched with, without their prefix."""
        return {id: text.removeprefix(self.prefix).encode() for id, text in self.texts.items()}

    def words(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield the words that ids spell; unknown and special tokens separate words and are skipped.

        >>> model = {"unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "##b": 2}}
        >>> list(pieces_of_document({"model": model}).words([1, 2, 2, 0, 1]))
        ['abb', 'a']
        """
        word = ""
        for id in ids:
            text = self.texts.get(id, "")
            if word and text.startswith(self.prefix) and text != self.prefix:
                word += text.removeprefix(self.prefix)
                continue
            if word:
                yield word
            word = text
        if word:
            yield word


def pieces_of_document(document: Mapping[str, Any]) -> MatchedPieces:
    """Read the pieces of a `tokenizer.json` whose model is a WordPiece.

    >>> vocab = {"[UNK]": 0, "a": 1, "##b": 2, "ab": 3, "ax": 4}
    >>> found = pieces_of_document({"model": {"unk_token": "[UNK]", "vocab": vocab}})
    >>> sorted(found.kept), sorted(found.needed)
    ([0, 1, 2], [4])
    """
    model = document["model"]
    prefix = model.get("continuing_subword_prefix", "##")
    added = document.get("added_tokens") or []
    others = {token["content"] for token in added} | {model.get("unk_token")}
    texts = {id: text for text, id in model["vocab"].items() if text not in others}
    every = frozenset([*model["vocab"].values(), *(token["id"] for token in added)])
    known = set(texts.values())
    single = {id for id, text in texts.items() if len(text.removeprefix(prefix)) <= 1}
    needed = {id for id, text in texts.items() if not known.issuperset(_characters(text, prefix))}
    return MatchedPieces(
        every, texts, prefix, frozenset((every - texts.keys()) | single), frozenset(needed - single)
    )


def _characters(text: str, prefix: str) -> list[str]:
    """Split a piece into pieces of one character.

    >>> _characters("abc", "##"), _characters("##bc", "##")
    (['a', '##b', '##c'], ['##b', '##c'])
    """
    if text.startswith(prefix):
        return [prefix + character for character in text.removeprefix(prefix)]
    return [text[:1], *(prefix + character for character in text[1:])]


def characters_without_piece(pieces: MatchedPieces) -> Counter[str]:
    """Count the characters in pieces that are not pieces by themselves at their position."""
    known = set(pieces.texts.values())
    return Counter(
        character
        for id in pieces.needed
        for character in _characters(pieces.texts[id], pieces.prefix)
        if character not in known
    )


def notes_of_characters(pieces: MatchedPieces) -> tuple[str, ...]:
    """Return a note that words of other text can become unknown, if that is possible."""
    without = characters_without_piece(pieces)
    if not without:
        return ()
    some = ", ".join(piece for piece, _ in without.most_common(_SHOWN))
    return (
        f"{counted(len(without), 'character')} of its pieces, as {some}, are not pieces by themselves: on "
        f"other text a word with one may become unknown",
    )


def check_pieces(old: MatchedPieces, new: MatchedPieces, id_map: IdMap) -> int:
    """Check that the remaining pieces are unchanged, and return their number.

    That suffices: a longest match among all pieces is also the longest among the remaining ones.

    Raises:
        SurgeryError: an id has a different piece.
    """
    for id, text in new.texts.items():
        if old.texts.get(id_map.new_to_old[id]) != text:
            raise wrong(f"the piece {text!r} would have the id of another")
    return len(new.texts)


class _Word(NamedTuple):
    """The current matches of a word.

    Attributes:
        tokens: ids of its pieces; empty for an unknown word.
        gains: token → number of tokens that the word gains without it; None if the word would become unknown.
        looked_at: all pieces that these values depend on, including the matches before a failure.
    """

    tokens: tuple[int, ...]
    gains: Mapping[int, int | None]
    looked_at: frozenset[int]


class MatchLosses(Remaining):
    """A WordPiece from which pieces are removed, those that add the fewest tokens first, unless words become unknown.

    Args:
        vocabulary: the pieces.
        words: word → count.
    """

    def __init__(self, vocabulary: MatchedPieces, words: Mapping[str, int] | None = None) -> None:
        super().__init__(vocabulary.ids, vocabulary.kept)
        self._vocabulary = vocabulary
        self._pieces = {piece: id for id, piece in vocabulary.texts.items()}
        self._longest = max(map(len, self._pieces), default=0)
        self._fixed = vocabulary.kept | vocabulary.needed
        self._counts = dict(words or {})
        self._words: dict[str, _Word] = {}
        self._words_of: defaultdict[int, set[str]] = defaultdict(set)
        self._losses: Counter[int] = Counter()
        self._needing: Counter[int] = Counter()
        self._changed: set[int] = set()
        for word in self._counts:
            self._add(word)

    def remove(self, may_go: Callable[[int], bool], *, most: int = 0) -> None:
        """Remove pieces that satisfy `may_go`, in order of ascending loss, while more than `most` tokens remain."""
        waiting = [(self._losses[id], -id) for id in self.ids if self._may_be_removed(id)]
        heapq.heapify(waiting)
        while waiting and len(self.ids) > most:
            loss, negative = heapq.heappop(waiting)
            if -negative not in self.ids or loss != self._losses[-negative]:
                continue  # an outdated item
            if not self._may_be_removed(-negative) or not may_go(-negative):
                continue
            self._changed.clear()
            self._remove(-negative)
            for id in self._changed & self.ids:
                if self._may_be_removed(id):
                    heapq.heappush(waiting, (self._losses[id], -id))

    def _may_be_removed(self, id: int) -> bool:
        return id not in self._fixed and not self._needing[id]

    def _remove(self, id: int) -> None:
        del self._pieces[self._vocabulary.texts[id]]
        self.ids.remove(id)
        self.removed.append(id)
        for word in sorted(self._words_of.pop(id, ())):
            self._count_word(word, sign=-1)
            self._add(word)

    def _add(self, word: str) -> None:
        """Match a word, and add its counts."""
        found, is_known = self._longest_matches(word)
        tokens = found if is_known else ()
        others = {token: self._longest_matches(word, without=token) for token in set(tokens)}
        gains = {
            token: len(other) - len(tokens) if still_known else None
            for token, (other, still_known) in others.items()
        }
        looked_at = frozenset(found).union(*(other for other, _ in others.values()))
        self._words[word] = _Word(tokens, gains, looked_at)
        for piece in looked_at:
            self._words_of[piece].add(word)
        self._count_word(word, sign=1)

    def _count_word(self, word: str, *, sign: int) -> None:
        """Add the counts of a word (sign 1), or subtract them (sign -1)."""
        found, count = self._words[word], sign * self._counts[word]
        for token in found.tokens:
            self.frequencies[token] += count
        for token, gain in found.gains.items():
            self._changed.add(token)
            if gain is None:
                self._needing[token] += sign
            else:
                self._losses[token] += count * gain
        if sign < 0:
            for piece in found.looked_at:
                self._words_of[piece].discard(word)

    def _longest_matches(self, word: str, *, without: int | None = None) -> tuple[tuple[int, ...], bool]:
        """Return the longest matches in a word from left to right, and whether they cover the whole word."""
        found: list[int] = []
        pieces, prefix, start = self._pieces, "", 0
        while start < len(word):
            for stop in range(min(len(word), start + self._longest), start, -1):
                id = pieces.get(prefix + word[start:stop])
                if id is not None and id != without:
                    break
            else:
                return tuple(found), False
            found.append(id)
            start, prefix = stop, self._vocabulary.prefix
        return tuple(found), True
