"""The reference implementation of WordPiece encoding: greedy longest match from the left (MaxMatch).

Our kernel (`native/wordpiece/longest_match.hpp`) and `tokenizers` implement the same algorithm; tests compare them.

Source: Schuster and Nakajima 2012, "Japanese and Korean Voice Search"; as in BERT (Devlin et al. 2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


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
