"""The reference implementation of extending lists of pieces: slow and simple, it defines the result of the faster ones.

For a byte-level BPE, the definition is `continue_training` in `backends/bpe/reference.py`; this module covers
vocabularies whose pieces are text. In all three algorithms a word *votes* for each adjacent pair of its parts, which
could become one piece, and for each character that is not a piece. The chosen text becomes a piece, the words are
segmented again, and so on.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import inf, log
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

UNKNOWN_PENALTY = 10.0
STEP = 1 / 32
"""The scores of new pieces are multiples of this."""
INSIDE = "##"


def votes(parts: list[str], known: Collection[str]) -> list[str]:
    """Return the texts that could become pieces.

    >>> votes(["a", "b", "☃"], {"a", "b"})
    ['ab', '☃']
    """
    pairs = [left + right for left, right in pairwise(parts) if left in known and right in known]
    return [text for text in pairs + parts if text not in known]


# --- a BPE over characters --------------------------------------------------------------------


def merge(word: str, ranks: Mapping[str, int]) -> list[str]:
    """Merge adjacent parts that form a piece, the lowest rank first, ties broken from the left.

    >>> merge("abab", {"ab": 0, "ba": 1}), merge("aab", {"ab": 0, "aab": 1})
    (['ab', 'ab'], ['aab'])
    """
    parts = list(word)
    while found := [
        (ranks[left + right], place)
        for place, (left, right) in enumerate(pairwise(parts))
        if left + right in ranks
    ]:
        _, place = min(found)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts


def extend_merged(
    ranks: Mapping[str, int], words: Mapping[str, int], *, most: int, min_frequency: int = 2
) -> list[str]:
    """Learn further pieces of a BPE over characters: the text with the most votes first, ties broken by the text.

    No new piece is a substring of an old piece that no text becomes, since that could make the old piece reachable.

    Args:
        ranks: piece → rank, including single characters.
        words: word → count.
        most: maximum number of new pieces.
        min_frequency: minimum number of votes for a new piece.

    "ab" has 5 votes, "bb" has 3; then "abb" has 3, and "bb" none:

    >>> extend_merged({"a": 0, "b": 1}, {"ab": 2, "abb": 3}, most=2)
    ['ab', 'abb']
    """
    known, new = dict(ranks), list[str]()
    unmade = [text for text in ranks if merge(text, ranks) != [text]]
    while len(new) < most:
        found: Counter[str] = Counter()
        for word, count in words.items():
            for text in votes(merge(word, known), known):
                found[text] += count
        taken = [(-count, text) for text, count in found.items() if count >= min_frequency]
        possible = [candidate for candidate in taken if not any(candidate[1] in text for text in unmade)]
        if not possible:
            break
        new.append(min(possible)[1])
        known[new[-1]] = max(known.values()) + 1
    return new


# --- a Unigram --------------------------------------------------------------------------------


class BestCut(NamedTuple):
    """A segmentation: the sum of the scores, and the parts."""

    score: float
    parts: list[str]


def best_cut(word: str, scores: Mapping[str, float], unknown: float) -> BestCut:
    """Return the segmentation with the greatest sum of scores, ties broken by longer last parts.

    A character that is not a piece has the score `unknown`.

    >>> best_cut("abx", {"a": -1.0, "b": -1.0, "ab": -1.5}, unknown=-11.0)
    BestCut(score=-12.5, parts=['ab', 'x'])
    """
    best = [BestCut(0.0, [])]
    for stop in range(1, len(word) + 1):
        found = []
        for start in range(stop):
            piece, before = word[start:stop], best[start]
            score = scores.get(piece, unknown if stop - start == 1 else -inf)
            found.append(BestCut(before.score + score, [*before.parts, piece]))
        best.append(max(found, key=lambda cut: cut.score))  # of equals the lowest start
    return best[-1]


def extend_scored(
    scores: Mapping[str, float], words: Mapping[str, int], *, most: int, min_frequency: int = 2
) -> dict[str, float]:
    """Learn pieces of a Unigram: the text that raises the likelihood most first, ties broken by the text.

    A piece with c votes gets the score log(c / number of initial parts of all words), clipped to the range of the old
    scores. It raises the likelihood by c times the difference between this score and that of its previous segmentation.
    New pieces, except characters, that later ones make useless (no word uses them), and new pieces into which their own
    text is no longer segmented, are removed for good, and others are learned instead.

    Args:
        scores: piece → score.
        words: word → count.
        most: maximum number of new pieces; fewer if no piece raises the likelihood by a step per vote.
        min_frequency: minimum number of votes for a new piece.

    4 of 8 parts would be "ab", and log(4 / 8), rounded, is above -2.5:

    >>> extend_scored({"a": -0.5, "b": -2.0}, {"ab": 4}, most=1)
    {'ab': -0.6875}
    """
    known, lowest, highest = dict(scores), min(scores.values()), max(scores.values())
    unknown = lowest - UNKNOWN_PENALTY
    total = sum(count * len(best_cut(word, known, unknown).parts) for word, count in words.items())
    refused: set[str] = set()

    def chosen() -> tuple[str, float] | None:
        found: Counter[str] = Counter()
        for word, count in words.items():
            for text in votes(best_cut(word, known, unknown).parts, known):
                found[text] += count
        gains = []
        for text, count in found.items():
            score = min(max(round(log(count / total) / STEP) * STEP, lowest), highest)
            above = score - best_cut(text, known, unknown).score
            if count >= min_frequency and above >= STEP and text not in refused:
                gains.append((-count * above, text, score))
        return min(gains)[1:] if gains else None

    while True:
        while len(known) < len(scores) + most and (found := chosen()):
            known[found[0]] = found[1]
        new = {text: score for text, score in known.items() if text not in scores}
        used = {part for word in words for part in best_cut(word, known, unknown).parts}
        lost = {text for text in new if best_cut(text, known, unknown).parts != [text]}
        gone = lost | {text for text in new if text not in used and len(text) > 1}
        if not gone:
            return new
        refused |= gone
        known = {text: score for text, score in known.items() if text not in gone}


# --- a WordPiece ------------------------------------------------------------------------------


def match(word: str, pieces: Collection[str]) -> tuple[list[str], str]:
    """Return the longest matches in a word from left to right, and the rest, where no piece matches.

    >>> match("abc", ["a", "ab", "##c"]), match("abd", ["a", "ab", "##c"])
    ((['ab', '##c'], ''), (['ab'], 'd'))
    """
    parts: list[str] = []
    rest, mark = word, ""
    while fitting := [stop for stop in range(len(rest), 0, -1) if mark + rest[:stop] in pieces]:
        parts.append(mark + rest[: fitting[0]])
        rest, mark = rest[fitting[0] :], INSIDE
    return parts, rest


def extend_matched(
    pieces: Collection[str], words: Mapping[str, int], *, most: int, min_frequency: int = 2
) -> list[str]:
    """Learn pieces of a WordPiece: the text with the most votes first, ties broken by the text.

    An unknown word votes only for the character at which no piece matches; a chosen character always becomes a piece.
    Other texts are refused for good if they do not reduce the tokens of the known words, or make one unknown. New
    pieces, except characters, that no word uses in the end are removed for good, and others are learned instead.

    Args:
        pieces: the existing pieces; "##" marks pieces inside words.
        words: word → count.
        most: maximum number of new pieces.
        min_frequency: minimum number of votes for a new piece.

    >>> extend_matched(["a", "##b"], {"ab": 2, "abb": 3, "ac": 4}, most=4)
    ['ab', '##c', 'ac', 'abb']
    """
    known, refused = list(pieces), set[str]()

    def chosen() -> str | None:
        found: Counter[str] = Counter()
        for word, count in words.items():
            parts, rest = match(word, known)
            pairs = [left + right.removeprefix(INSIDE) for left, right in pairwise(parts)]
            for text in [INSIDE * bool(parts) + rest[0]] if rest else pairs:
                found[text] += count
        taken = [(-count, text) for text, count in found.items() if count >= min_frequency]
        return min(
            (candidate for candidate in taken if candidate[1] not in [*refused, *known]), default=(0, None)
        )[1]

    def saves(text: str) -> bool:
        fewer = 0
        for word, count in words.items():
            (parts, rest), (after, rest_after) = match(word, known), match(word, [*known, text])
            if rest_after and not rest:
                return False
            fewer += 0 if rest else count * (len(parts) - len(after))
        return fewer > 0

    while True:
        while len(known) < len(pieces) + most and (text := chosen()) is not None:
            if len(text.removeprefix(INSIDE)) == 1 or saves(text):
                known.append(text)
            else:
                refused.add(text)
        used = {part for word in words for part in match(word, known)[0]}
        new = known[len(pieces) :]
        gone = {text for text in new if text not in used and len(text.removeprefix(INSIDE)) > 1}
        if not gone:
            return new
        refused |= gone
        known = [text for text in known if text not in gone]
