"""WordPiece encoding: the longest piece that matches, from the left (MaxMatch).

The definition. Our kernel runs it (`native/wordpiece/longest_match.hpp`), and so does `tokenizers`; tests compare them.

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
    """The ids of one word: again and again the longest piece that the rest begins with.

    A word with a part that no piece matches, or of more than `max_characters`, is one unknown token.

    Args:
        word: one word, as the pre-tokenizer splits it.
        vocabulary: piece → id.
        unknown: the id of the unknown token.
        prefix: marks pieces inside words.
        max_characters: of longer words the result is `[unknown]`.
        longest: where it is known, the characters of the longest piece, beyond which none is looked for.

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
