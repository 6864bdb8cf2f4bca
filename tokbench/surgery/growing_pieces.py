"""Growing sets of pieces of a BPE over characters, a Unigram and a WordPiece; see `piece_learning`."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from math import inf, log
from typing import TYPE_CHECKING

from tokbench.formats.merges import merged_parts
from tokbench.formats.sentencepiece.unigram_scores import STEP, UNKNOWN_PENALTY, rounded
from tokbench.surgery.piece_learning import UNKNOWN, GrowingPieces

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tokbench.surgery.piece_learning import Change, Parts


class MergedPieces(GrowingPieces):
    r"""Pieces of a BPE over characters: the lowest-ranked adjacent pair merges first.

    A piece that is merged last only joins existing parts, so every piece is accepted.

    Args:
        known: the existing pieces, including single characters.
        rank: returns the rank of an adjacent pair; infinite for pairs that do not merge.

    >>> pieces = MergedPieces(["a", "b", "ab"], by_text({"ab": 0}))
    >>> pieces.cut("abax"), list(pieces.votes(("ab", "a", "\0x")))
    (('ab', 'a', '\x00x'), ['aba', 'x'])
    """

    def __init__(self, known: Iterable[str], rank: Callable[[str, str], float]) -> None:
        self._known = set(known)
        self._rank = rank
        self._added_ranks: dict[str, int] = {}
        self.parts: dict[str, tuple[str, str]] = {}
        """New piece → the two parts that it is merged from."""

    def cut(self, word: str) -> Parts:
        """Segment a word."""
        parts = merged_parts(list(word), self._rank_of)
        return tuple(part if part in self._known else UNKNOWN + part for part in parts)

    def cut_with_new_piece(self, word: str, parts: Parts, text: str) -> Parts:
        """Join every adjacent pair of parts that forms the new piece.

        The new piece is merged last, and nothing merges with it yet, since all older pieces were formed without it.
        """
        del word
        left, right = self.parts.get(text, ("", UNKNOWN + text))
        joined: list[str] = []
        for part in parts:
            if part == right and (not left or joined[-1:] == [left]):
                joined[len(joined) - bool(left) :] = [text]
            else:
                joined.append(part)
        return tuple(joined)

    def votes(self, parts: Parts) -> Iterator[str]:
        """Yield the texts that could become pieces."""
        return _votes(parts)

    def value(self, text: str, votes: int) -> float:
        """Return the votes; 0 for a substring of an unreachable piece, which the new piece could make reachable."""
        return 0 if text in self._fixed else votes

    def add(self, text: str, votes: int) -> None:
        """Add a piece with a rank after all others."""
        del votes
        if len(text) > 1:
            left, right = self.cut(text)
            self.parts[text] = left, right
        self._known.add(text)
        self._fixed.add(text)
        self._added_ranks[text] = len(self._added_ranks)

    def drop(self, text: str) -> None:
        """Remove a piece that was added."""
        self._known.discard(text)
        self._fixed.discard(text)
        self._added_ranks.pop(text, None)
        self.parts.pop(text, None)

    def lost(self, used: Collection[str]) -> list[str]:
        """Return an empty list: the text of each piece is merged into it, and other pieces may need it."""
        del used
        return []

    @cached_property
    def _fixed(self) -> set[str]:
        """Texts that never become pieces; computed before the first piece is added."""
        return self._known | parts_of(text for text in self._known if self.cut(text) != (text,))

    def _rank_of(self, left: str, right: str) -> float:
        rank = self._rank(left, right)
        if rank != inf or not self._added_ranks:
            return rank
        made = self._added_ranks.get(left + right)
        return inf if made is None else _AFTER_ALL + made


def parts_of(texts: Iterable[str]) -> set[str]:
    """Return all substrings of some texts.

    >>> sorted(parts_of(["abc"]))
    ['a', 'ab', 'abc', 'b', 'bc', 'c']
    """
    return {
        text[start:stop]
        for text in texts
        for start in range(len(text))
        for stop in range(start + 1, len(text) + 1)
    }


_AFTER_ALL = 1e12
"""The first rank of new pieces, above all old ranks: indices of merges, or negated single-precision scores."""


def by_text(ranks: Mapping[str, float]) -> Callable[[str, str], float]:
    """Return a function that ranks a pair by the text that it forms, like SentencePiece."""
    return lambda left, right: ranks.get(left + right, inf)


def by_pair(ranks: Mapping[tuple[str, str], float]) -> Callable[[str, str], float]:
    """Return a function that ranks only listed pairs, like tokenizers."""
    return lambda left, right: ranks.get((left, right), inf)


class ScoredGrowing(GrowingPieces):
    r"""Pieces of a Unigram: words are segmented with the greatest sum of scores.

    Args:
        scores: piece → score.
        total: number of parts of the text, by which the votes for a new piece are divided.

    >>> ScoredGrowing({"a": -1.0, "b": -1.0, "ab": -1.5}, total=9).cut("abx")
    ('ab', '\x00x')
    """

    def __init__(self, scores: Mapping[str, float], *, total: int = 1) -> None:
        self.scores = dict(scores)
        self.new: dict[str, float] = {}
        self.total = total
        self._lowest, self._highest = min(scores.values()), max(scores.values())
        self._unknown = self._lowest - UNKNOWN_PENALTY
        self._longest = max(map(len, scores))
        self._spelled: dict[str, float] = {}
        self._words: list[str] = []

    def cut(self, word: str) -> Parts:
        """Segment a word."""
        scores, size = self.scores, len(word)
        sums, starts = [-inf] * (size + 1), [0] * (size + 1)
        sums[0] = 0.0
        for start in range(size):
            before = sums[start]
            for stop in range(start + 1, min(start + self._longest, size) + 1):
                score = scores.get(word[start:stop])
                if score is None:
                    if stop - start > 1:
                        continue
                    score = self._unknown
                if before + score > sums[stop]:
                    sums[stop], starts[stop] = before + score, start
        parts, stop = [], size
        while stop:
            part = word[starts[stop] : stop]
            parts.append(part if part in scores else UNKNOWN + part)
            stop = starts[stop]
        return tuple(reversed(parts))

    def sum(self, parts: Parts) -> float:
        """Return the sum of the scores of parts."""
        return sum(self.scores.get(part, self._unknown) for part in parts)

    def votes(self, parts: Parts) -> Iterator[str]:
        """Yield the texts that could become pieces."""
        for left, right in pairwise(parts):
            if left in self.scores and right in self.scores:
                text = left + right
                self._spelled[text] = self.scores[left] + self.scores[right]
                yield text
        yield from (part[1:] for part in parts if part[0] == UNKNOWN)

    def value(self, text: str, votes: int) -> float:
        """Return by how much a piece would raise the log-likelihood; 0 if by less than a step per vote."""
        if text in self.scores or votes <= 0:
            return 0
        above = self._score(votes) - self._spelled.get(text, self._unknown)
        return votes * above if above >= STEP else 0

    def add(self, text: str, votes: int) -> None:
        """Add a piece with a score that depends on its votes."""
        self._add_piece(text, self._score(votes))

    def add_word(self, word: str) -> bool:
        """Add a word as a piece that is e times as likely as its best segmentation, within the range of old scores.

        The word is not added if its segmentation is at least as likely. Return whether its segmentation is one piece.
        """
        known = self.cut(word)
        if known != (word,) and word not in self.scores:
            self._add_piece(word, self._clipped(rounded(self.sum(known)) + 1.0))
            if self.sum(known) + STEP > self.scores[word]:
                self.drop(word)
        if self.cut(word) == (word,):
            self._words.append(word)
            return True
        return False

    def drop(self, text: str) -> None:
        """Remove an added piece."""
        del self.scores[text], self.new[text]

    def accepts(self, text: str, changes: Sequence[Change]) -> bool:
        """Whether the words added by `add_word` are still segmented into one piece."""
        del changes
        return all(self.cut(word) == (word,) for word in self._words if text in word)

    def lost(self, used: Collection[str]) -> list[str]:
        """Return the new pieces that no word uses, and those whose text is segmented otherwise."""
        useless = (text for text in self.new if len(text) > 1 and text not in used)
        return [*useless, *(text for text in self.new if self.cut(text) != (text,))]

    def _add_piece(self, text: str, score: float) -> None:
        self.scores[text] = self.new[text] = score
        self._longest = max(self._longest, len(text))

    def _score(self, votes: int) -> float:
        return self._clipped(rounded(log(votes / self.total)))

    def _clipped(self, score: float) -> float:
        """Clip a score to the old range, on which the scores of unknown characters and user-defined symbols depend."""
        return min(max(score, self._lowest), self._highest)


class MatchedGrowing(GrowingPieces):
    r"""Pieces of a WordPiece: words are segmented by longest match.

    Args:
        known: the existing pieces.
        prefix: prefix of pieces inside words.

    >>> pieces = MatchedGrowing(["a", "ab", "##c"], prefix="##")
    >>> pieces.cut("abc"), pieces.cut("acd"), list(pieces.votes(("ab", "##c")))
    (('ab', '##c'), ('a', '##c', '\x00##d'), ['abc'])
    """

    def __init__(self, known: Collection[str], *, prefix: str) -> None:
        self._known = set(known)
        self._prefix = prefix
        self._new: dict[str, None] = {}
        self._longest = max(map(len, known), default=0)

    def cut(self, word: str) -> Parts:
        """Segment a word up to the first character at which no piece matches, which is the last part then."""
        if word.startswith(self._prefix) and word != self._prefix:
            return self._cut(word.removeprefix(self._prefix), self._prefix)
        return self._cut(word, "")

    def text_of(self, piece: str) -> str:
        """Return a piece without its prefix."""
        return piece.removeprefix(self._prefix)

    def votes(self, parts: Parts) -> Iterator[str]:
        """Yield the texts that could become pieces."""
        if parts and parts[-1][0] == UNKNOWN:
            yield parts[-1][1:]
            return
        size = len(self._prefix)
        for left, right in pairwise(parts):
            yield left + right[size:]

    def value(self, text: str, votes: int) -> float:
        """Return the votes; 0 for an existing piece."""
        return 0 if text in self._known else votes

    def add(self, text: str, votes: int) -> None:
        """Add a piece."""
        del votes
        self._known.add(text)
        self._new[text] = None
        self._longest = max(self._longest, len(text))

    def drop(self, text: str) -> None:
        """Remove an added piece."""
        self._known.remove(text)
        del self._new[text]

    def accepts(self, text: str, changes: Sequence[Change]) -> bool:
        """Whether a piece is a character, or reduces the tokens of known words without making one unknown."""
        if len(self.text_of(text)) == 1:
            return True
        known = [change for change in changes if change.before[-1][0] != UNKNOWN]
        if any(change.after[-1][0] == UNKNOWN for change in known):
            return False
        return sum(change.count * (len(change.before) - len(change.after)) for change in known) > 0

    def lost(self, used: Collection[str]) -> list[str]:
        """Return the new pieces, except characters, that no word uses."""
        return [text for text in self._new if len(self.text_of(text)) > 1 and text not in used]

    def _cut(self, word: str, mark: str) -> Parts:
        known, start = self._known, 0
        parts: list[str] = []
        while start < len(word):
            for stop in range(min(len(word), start + self._longest), start, -1):
                piece = mark + word[start:stop]
                if piece in known:
                    break
            else:
                return (*parts, UNKNOWN + mark + word[start])
            parts.append(piece)
            start, mark = stop, self._prefix
        return tuple(parts)


def _votes(parts: Parts) -> Iterator[str]:
    """Yield the adjacent pairs of pieces, joined, and the characters that are not pieces."""
    for left, right in pairwise(parts):
        if left[0] != UNKNOWN != right[0]:
            yield left + right
    for part in parts:
        if part[0] == UNKNOWN:
            yield part[1:]
