"""The pieces of a BPE over characters, of a Unigram and of a WordPiece while they grow; see `piece_learning`."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from math import inf, log
from typing import TYPE_CHECKING

from tokbench.formats.sentencepiece.unigram_scores import STEP, UNKNOWN_PENALTY, rounded
from tokbench.surgery.piece_learning import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tokbench.surgery.piece_learning import Change, Parts


class MergedPieces:
    r"""Pieces that two neighbours are merged into, the lowest rank first.

    Args:
        known: the pieces, single characters among them.
        rank: what two neighbours are merged by; infinite for those that are not.

    >>> pieces = MergedPieces(["a", "b", "ab"], by_text({"ab": 0}))
    >>> pieces.cut("abax"), list(pieces.votes(("ab", "a", "\0x")))
    (('ab', 'a', '\x00x'), ['aba', 'x'])
    """

    def __init__(self, known: Iterable[str], rank: Callable[[str, str], float]) -> None:
        self._known = set(known)
        self._rank = rank
        self._made: dict[str, int] = {}
        self.parts: dict[str, tuple[str, str]] = {}
        """Each new piece that is merged → of what."""

    def cut(self, word: str) -> Parts:
        """The parts of a word."""
        parts = list(word)
        found = [self._rank_of(left, right) for left, right in pairwise(parts)]
        while found and (best := min(found)) != inf:
            place = found.index(best)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
            del found[place]
            if place:
                found[place - 1] = self._rank_of(parts[place - 1], parts[place])
            if place < len(found):
                found[place] = self._rank_of(parts[place], parts[place + 1])
        return tuple(part if part in self._known else UNKNOWN + part for part in parts)

    def cut_anew(self, word: str, parts: Parts, text: str) -> Parts:
        """The parts with two neighbours joined that make the new piece.

        It is merged last; and nothing merges with it yet, as it is in no piece that was not made without it.
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
        """What could become a piece."""
        return _votes(parts)

    def value(self, text: str, votes: int) -> float:
        """The votes; none for a part of a piece that no text becomes, as some text might then."""
        return 0 if text in self._fixed else votes

    def add(self, text: str, votes: int) -> None:
        """Make a piece after all others."""
        del votes
        if len(text) > 1:
            left, right = self.cut(text)
            self.parts[text] = left, right
        self._known.add(text)
        self._fixed.add(text)
        self._made[text] = len(self._made)

    def drop(self, text: str) -> None:
        """Do nothing, as every piece is accepted."""
        raise NotImplementedError

    def accepts(self, text: str, changes: Sequence[Change]) -> bool:
        """Whatever is merged last only joins what there was."""
        del text, changes
        return True

    def lost(self, used: Collection[str]) -> list[str]:
        """None: each is what its text is merged into, and others may be made of it."""
        del used
        return []

    @cached_property
    def _fixed(self) -> set[str]:
        """What never becomes a piece; asked for before anything does."""
        return self._known | parts_of(text for text in self._known if self.cut(text) != (text,))

    def _rank_of(self, left: str, right: str) -> float:
        rank = self._rank(left, right)
        if rank != inf or not self._made:
            return rank
        made = self._made.get(left + right)
        return inf if made is None else _AFTER_ALL + made


def parts_of(texts: Iterable[str]) -> set[str]:
    """All substrings of some texts.

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
"""The ranks of new pieces begin here: scores are single precision, and lists of merges shorter."""


def by_text(ranks: Mapping[str, float]) -> Callable[[str, str], float]:
    """The rank of two neighbours by what they make, as SentencePiece has it."""
    return lambda left, right: ranks.get(left + right, inf)


def by_pair(ranks: Mapping[tuple[str, str], float]) -> Callable[[str, str], float]:
    """The rank of two neighbours that are listed, as tokenizers has it."""
    return lambda left, right: ranks.get((left, right), inf)


class ScoredGrowing:
    r"""Pieces with scores, whose greatest sum cuts a word.

    Args:
        scores: piece → score.
        total: the parts of the text, which the votes for a new piece are a share of.

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
        """The parts of a word."""
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

    def cut_anew(self, word: str, parts: Parts, text: str) -> Parts:
        """The parts from the beginning, as another sum may be the greatest anywhere."""
        del parts, text
        return self.cut(word)

    def sum(self, parts: Parts) -> float:
        """The sum of the scores of parts."""
        return sum(self.scores.get(part, self._unknown) for part in parts)

    def votes(self, parts: Parts) -> Iterator[str]:
        """What could become a piece."""
        for left, right in pairwise(parts):
            if left in self.scores and right in self.scores:
                text = left + right
                self._spelled[text] = self.scores[left] + self.scores[right]
                yield text
        yield from (part[1:] for part in parts if part[0] == UNKNOWN)

    def value(self, text: str, votes: int) -> float:
        """How much the likelihood rises."""
        if text in self.scores or votes <= 0:
            return 0
        above = self._score(votes) - self._spelled.get(text, self._unknown)
        return votes * above if above >= STEP else 0

    def add(self, text: str, votes: int) -> None:
        """Make a piece with the score that its votes give it."""
        self._take(text, self._score(votes))

    def add_word(self, word: str) -> bool:
        """Make a word one piece: e times as likely as its best cut, within the scores that there are.

        It keeps what it was cut into where that is no less likely. Whether it is one piece.
        """
        known = self.cut(word)
        if known != (word,) and word not in self.scores:
            self._take(word, self._within(rounded(self.sum(known)) + 1.0))
            if self.sum(known) + STEP > self.scores[word]:
                self.drop(word)
        if self.cut(word) == (word,):
            self._words.append(word)
            return True
        return False

    def drop(self, text: str) -> None:
        """Take a piece back."""
        del self.scores[text], self.new[text]

    def accepts(self, text: str, changes: Sequence[Change]) -> bool:
        """Whether the words that were made one piece still are."""
        del changes
        return all(self.cut(word) == (word,) for word in self._words if text in word)

    def lost(self, used: Collection[str]) -> list[str]:
        """The new pieces that others spell at least as well, and those of no word."""
        useless = (text for text in self.new if len(text) > 1 and text not in used)
        return [*useless, *(text for text in self.new if self.cut(text) != (text,))]

    def _take(self, text: str, score: float) -> None:
        self.scores[text] = self.new[text] = score
        self._longest = max(self._longest, len(text))

    def _score(self, votes: int) -> float:
        return self._within(rounded(log(votes / self.total)))

    def _within(self, score: float) -> float:
        """Other scores would give another one to unknown characters, or to symbols of the user."""
        return min(max(score, self._lowest), self._highest)


class MatchedGrowing:
    r"""Pieces of which the longest match cuts a word.

    Args:
        known: the pieces.
        prefix: marks those inside words.

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
        """The parts of a word; the last one is unknown where no piece matches any more."""
        if word.startswith(self._prefix) and word != self._prefix:
            return self._cut(word.removeprefix(self._prefix), self._prefix)
        return self._cut(word, "")

    def cut_anew(self, word: str, parts: Parts, text: str) -> Parts:
        """The parts from the beginning."""
        del parts, text
        return self.cut(word)

    def text_of(self, piece: str) -> str:
        """A piece without its prefix."""
        return piece.removeprefix(self._prefix)

    def votes(self, parts: Parts) -> Iterator[str]:
        """What could become a piece."""
        if parts and parts[-1][0] == UNKNOWN:
            yield parts[-1][1:]
            return
        size = len(self._prefix)
        for left, right in pairwise(parts):
            yield left + right[size:]

    def value(self, text: str, votes: int) -> float:
        """The number of votes."""
        return 0 if text in self._known else votes

    def add(self, text: str, votes: int) -> None:
        """Make a piece."""
        del votes
        self._known.add(text)
        self._new[text] = None
        self._longest = max(self._longest, len(text))

    def drop(self, text: str) -> None:
        """Take a piece back."""
        self._known.remove(text)
        del self._new[text]

    def accepts(self, text: str, changes: Sequence[Change]) -> bool:
        """Whether words get fewer tokens and none becomes unknown, or a character is no longer unknown."""
        if len(self.text_of(text)) == 1:
            return True
        known = [each for each in changes if each.before[-1][0] != UNKNOWN]
        if any(each.after[-1][0] == UNKNOWN for each in known):
            return False
        return sum(each.count * (len(each.before) - len(each.after)) for each in known) > 0

    def lost(self, used: Collection[str]) -> list[str]:
        """The new pieces of no word."""
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
    """Two neighbours that are pieces, and characters that are none."""
    for left, right in pairwise(parts):
        if left[0] != UNKNOWN != right[0]:
            yield left + right
    for part in parts:
        if part[0] == UNKNOWN:
            yield part[1:]
