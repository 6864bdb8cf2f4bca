"""The reference implementation of WordPiece: the definition that the fast trainer must equal.

Read it top to bottom. A text is split into words (`training.py`). A word starts as its
characters, each after the first with the prefix "##"; training repeatedly joins two
adjacent pieces into a new one; encoding repeatedly takes the longest piece that is a
prefix of the rest of a word. Nothing here is fast, and nothing here is clever.

Ids are assigned in this order: the special tokens; the characters of the alphabet by code
point, as first pieces of words; the characters that occur inside words by code point, with
the prefix; then the learned pieces.

Source: Schuster and Nakajima 2012, "Japanese and Korean Voice Search", for joining by likelihood;
Devlin et al. 2019 (BERT) for the prefix and for encoding.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


Pair = tuple[int, int]
Objective = Literal["frequency", "likelihood"]


# --- the alphabet -----------------------------------------------------------------------------


def alphabet(
    words: Mapping[str, int], *, limit: int | None = None, initial: Collection[str] = ()
) -> list[str]:
    """Return the characters of words and the `initial` characters by code point, at most `limit` of them.

    Initial characters are preferred, then the most frequent ones; ties go to the lower code point.

    >>> alphabet({"hug": 2, "pug": 1}, limit=3)
    ['g', 'h', 'u']
    >>> alphabet({"hug": 2, "pug": 1}, limit=3, initial="px")
    ['g', 'p', 'x']
    """
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    return most_frequent(counts, limit=limit, initial=initial)


def most_frequent(
    counts: Mapping[str, int], *, limit: int | None = None, initial: Collection[str] = ()
) -> list[str]:
    """Return the alphabet from the counts of characters; see `alphabet`."""
    characters = sorted(
        {*counts, *initial},
        key=lambda character: (character not in initial, -counts.get(character, 0), character),
    )
    return sorted(characters[:limit])


def characters(word: str, *, letters: Collection[str], prefix: str) -> list[str]:
    """Return the initial pieces of a word; characters outside the alphabet are skipped.

    >>> characters("hug", letters="ghu", prefix="##")
    ['h', '##u', '##g']
    """
    return [
        character if position == 0 else prefix + character
        for position, character in enumerate(word)
        if character in letters
    ]


def first_pieces(words: Mapping[str, int], *, letters: Sequence[str], prefix: str) -> list[str]:
    """Return the initial pieces of the vocabulary, before anything is learned, in the order of their ids.

    >>> first_pieces({"hug": 1}, letters=["g", "h", "u"], prefix="##")
    ['g', 'h', 'u', '##g', '##u']
    """
    known = frozenset(letters)
    inside = {piece for word in words for piece in characters(word, letters=known, prefix=prefix)}
    return [*letters, *(prefix + letter for letter in letters if prefix + letter in inside)]


# --- training ---------------------------------------------------------------------------------


def count_pieces(words: Mapping[tuple[int, ...], int]) -> Counter[int]:
    """Return how often each piece occurs.

    >>> count_pieces({(7, 8, 8): 10})
    Counter({8: 20, 7: 10})
    """
    counts: Counter[int] = Counter()
    for word, count in words.items():
        for piece in word:
            counts[piece] += count
    return counts


def count_pairs(words: Mapping[tuple[int, ...], int]) -> Counter[Pair]:
    """Return how often each adjacent pair occurs: the sum over all words of count × positions.

    >>> count_pairs({(7, 8, 8): 10})
    Counter({(7, 8): 10, (8, 8): 10})
    """
    counts: Counter[Pair] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts


def score(
    pair: Pair, *, pairs: Mapping[Pair, int], pieces: Mapping[int, int], objective: Objective
) -> Fraction:
    """Return the score of a pair as an exact number.

    By frequency it is the pair's count. By likelihood it is count(ab) / (count(a) · count(b)):
    the larger it is, the more joining raises the likelihood of the text per occurrence of the pair.

    >>> score((7, 8), pairs={(7, 8): 10}, pieces={7: 10, 8: 20}, objective="likelihood")
    Fraction(1, 20)
    """
    if objective == "frequency":
        return Fraction(pairs[pair])
    return Fraction(pairs[pair], pieces[pair[0]] * pieces[pair[1]])


def best_pair(
    pairs: Mapping[Pair, int], pieces: Mapping[int, int], *, objective: Objective, min_frequency: int
) -> Pair | None:
    """Return the pair to join next: the highest score, then the smallest (left id, right id).

    Pairs that occur less than `min_frequency` times are skipped; None if no other pair is left.

    >>> counts = {(7, 8): 2, (8, 9): 3, (9, 9): 1}
    >>> best_pair(counts, {7: 2, 8: 5, 9: 5}, objective="likelihood", min_frequency=2)
    (7, 8)
    >>> best_pair(counts, {7: 2, 8: 5, 9: 5}, objective="frequency", min_frequency=2)
    (8, 9)
    """
    frequent = [pair for pair, count in pairs.items() if count >= min_frequency]
    if not frequent:
        return None
    return min(
        frequent, key=lambda pair: (-score(pair, pairs=pairs, pieces=pieces, objective=objective), pair)
    )


def join(word: tuple[int, ...], pair: Pair, joined: int) -> tuple[int, ...]:
    """Replace each occurrence of the pair in the word, left to right, without overlap.

    >>> join((7, 8, 8, 8), (8, 8), 9)
    (7, 9, 8)
    """
    result: list[int] = []
    position = 0
    while position < len(word):
        if word[position : position + 2] == pair:
            result.append(joined)
            position += 2
        else:
            result.append(word[position])
            position += 1
    return tuple(result)


def train(
    words: Mapping[str, int],
    *,
    pieces: Sequence[str],
    letters: Collection[str],
    num_pieces: int,
    objective: Objective,
    min_frequency: int = 2,
    prefix: str = "##",
) -> list[str]:
    """Learn pieces until there are `num_pieces`, or no pair is frequent enough.

    Two pairs can spell the same piece ("a" "##bc" and "ab" "##c"): the piece keeps its first id,
    and only new pieces count towards `num_pieces`.

    Args:
        words: how often each word occurs.
        pieces: the existing pieces in the order of their ids, including `first_pieces`.
        letters: the alphabet.
        num_pieces: the total number of pieces at the end.
        objective: the score by which pairs are chosen.
        min_frequency: rarer pairs are not joined.
        prefix: the prefix of pieces inside words.

    Returns:
        All pieces; the position of each is its id.

    >>> words = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
    >>> letters = alphabet(words)
    >>> start = first_pieces(words, letters=letters, prefix="##")
    >>> train(words, pieces=start, letters=letters, num_pieces=14, objective="likelihood")[-3:]
    ['##gs', 'bu', 'bun']
    >>> train(words, pieces=start, letters=letters, num_pieces=14, objective="frequency")[-3:]
    ['##ug', '##un', 'hug']
    """
    spellings = list(pieces)
    ids = {spelling: id for id, spelling in enumerate(spellings)}
    segmented: Counter[tuple[int, ...]] = Counter()
    for word, count in words.items():
        start = characters(word, letters=letters, prefix=prefix)
        segmented[tuple(ids[piece] for piece in start)] += count
    while len(spellings) < num_pieces:
        pair = best_pair(
            count_pairs(segmented), count_pieces(segmented), objective=objective, min_frequency=min_frequency
        )
        if pair is None:
            break
        joined = spellings[pair[0]] + spellings[pair[1]].removeprefix(prefix)
        if joined not in ids:
            ids[joined] = len(spellings)
            spellings.append(joined)
        again: Counter[tuple[int, ...]] = Counter()
        for segmentation, count in segmented.items():
            again[join(segmentation, pair, ids[joined])] += count
        segmented = again
    return spellings


def longest_match(
    word: str,
    vocabulary: Mapping[str, int],
    *,
    unknown: int,
    prefix: str = "##",
    max_characters: int = 100,
    longest: int | None = None,
) -> list[int]:
    """Return the ids of one word: repeatedly take the longest piece that is a prefix of the rest.

    A word with a part that no piece matches, or with more than `max_characters`, is one unknown token.

    Args:
        word: one word, as the pre-tokenizer splits it.
        vocabulary: piece → id.
        unknown: the id of the unknown token.
        prefix: the prefix of pieces inside words.
        max_characters: the largest length of a word; the result of a longer word is `[unknown]`.
        longest: the length of the longest piece in characters, if known; longer matches are not tried.

    >>> longest_match("hugs", {"[UNK]": 0, "hug": 1, "h": 2, "##s": 3}, unknown=0)
    [1, 3]
    >>> longest_match("hugo", {"[UNK]": 0, "hug": 1, "h": 2, "##s": 3}, unknown=0)
    [0]
    """
    if len(word) > max_characters:
        return [unknown]
    ids: list[int] = []
    start = 0
    while start < len(word):
        mark = prefix if start else ""
        stops = range(len(word) if longest is None else min(start + longest, len(word)), start, -1)
        stop = next((stop for stop in stops if mark + word[start:stop] in vocabulary), None)
        if stop is None:
            return [unknown]
        ids.append(vocabulary[mark + word[start:stop]])
        start = stop
    return ids
