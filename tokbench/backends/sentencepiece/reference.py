"""The reference implementation of SentencePiece's BPE training, and of the segments and rules of its pieces.

Source: `bpe_model_trainer.cc` of sentencepiece 0.2.3, which keeps all pairs in one queue.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tokbench.backends.sentencepiece.scripts import INHERITED, script_of
from tokbench.formats.sentencepiece.model import SPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_Pair = tuple[str, str]


def learn(segments: Mapping[str, int], rules: PieceRules, *, num_pieces: int) -> list[str]:
    """Repeatedly merge the most frequent pair that may be a piece.

    Ties go to the pair with the fewest characters, then to the smallest characters. A pair that spells an existing
    piece is never merged. In the end even pairs that no longer occur become pieces.

    Args:
        segments: parts of words that pieces do not cross, and how often each occurs.
        rules: the rules for pieces.
        num_pieces: the number of pieces to learn, without single characters; fewer are learned if pairs run out.

    Returns:
        The pieces in the order of their merges.

    >>> from tokbench.backends.sentencepiece.reference import PieceRules
    >>> learn({"▁abab": 2, "▁ab": 1}, PieceRules(), num_pieces=9)
    ['ab', '▁ab', '▁abab', 'ba', '▁a', 'aba', 'abab']
    """
    words = [([*segment], count) for segment, count in segments.items()]
    seen: dict[_Pair, None] = {}  # a set that keeps its order
    pieces: dict[str, None] = {}

    def add_seen(pairs: Iterator[_Pair]) -> None:
        seen.update((pair, None) for pair in pairs if rules.allow("".join(pair)))

    for symbols, _ in words:
        add_seen(pairwise(symbols))
    taken: set[_Pair] = set()
    while len(pieces) < num_pieces:
        counts: Counter[_Pair] = Counter()
        for symbols, count in words:
            for pair in pairwise(symbols):
                counts[pair] += count
        left = [pair for pair in seen if pair not in taken]
        if not left:
            break
        rank = {piece: number for number, piece in enumerate(pieces, 1)}
        best = min(
            left,
            key=lambda pair: (
                -counts[pair], len("".join(pair)), "".join(pair), rank.get(pair[0], 0), rank.get(pair[1], 0)
            ),
        )  # fmt: skip
        taken.add(best)
        if (piece := "".join(best)) in pieces:
            continue
        pieces[piece] = None
        for symbols, _ in words:
            add_seen(_merged(symbols, best))
    return [*pieces]


def _merged(symbols: list[str], pair: _Pair) -> Iterator[_Pair]:
    """Merge all occurrences of a pair in place, left to right; yield each new pair, even if it is merged away next."""
    piece = "".join(pair)
    at = 0
    while at + 1 < len(symbols):
        if (symbols[at], symbols[at + 1]) == pair:
            symbols[at : at + 2] = [piece]
            if at > 0:
                yield symbols[at - 1], piece
            if at + 1 < len(symbols):
                yield piece, symbols[at + 1]
        at += 1


BOUNDARY = "\x1f"
"""The placeholder of a symbol in a text; it counts as a character."""
RESERVED = "\u2585"
"""▅, which SentencePiece's trainers reserve as the end of a line."""
IN_NO_PIECE = frozenset(("\0", BOUNDARY, RESERVED))
_DIGITS = frozenset("0123456789０１２３４５６７８９")
_ANY = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceRules:
    """The rules that decide which texts may be pieces."""

    longest: int = 16
    split_by_script: bool = True
    split_by_number: bool = True
    split_by_whitespace: bool = True
    split_digits: bool = False
    whitespace_only: bool = True

    def allow(self, piece: str) -> bool:
        """Return whether a text may be a piece.

        >>> [PieceRules().allow(piece) for piece in ("▁the", "the▁", "▁▁", "x1", "▁▁x")]
        [True, False, True, False, False]
        """
        before, only_spaces = _ANY, not piece.strip(SPACE)
        for i, c in enumerate(piece):
            if c == SPACE:
                at_end = i + 1 == len(piece)
                if not (self.whitespace_only and only_spaces) and i and (self.split_by_whitespace or at_end):
                    return False
                continue
            if self.split_digits and c in _DIGITS and len(piece) > 1:
                return False
            script = before if script_of(c) == INHERITED else self._script(c)
            if self.split_by_script and _ANY not in (script, before) and script != before:
                return False
            before = script
        return 0 < len(piece) <= self.longest and not IN_NO_PIECE & set(piece)

    def are_parted(self, left: str, right: str) -> bool:
        """Return whether no piece may contain these two characters side by side."""
        if SPACE in (left, right):
            runs_end = left == right and not self.whitespace_only
            return self.split_by_whitespace and (left != SPACE or runs_end)
        scripts = {self._script(left), self._script(right)}
        has_digit = self.split_digits and not _DIGITS.isdisjoint((left, right))
        return has_digit or (self.split_by_script and len(scripts) == 2 and not {_ANY, INHERITED} & scripts)

    def _script(self, c: str) -> str:
        return _ANY if c in _DIGITS and not self.split_by_number else script_of(c)


def segments_of(words: Mapping[str, int], rules: PieceRules) -> Counter[str]:
    """Split words into the longest parts that pieces do not cross, and count the parts.

    The probability of a word is the product of those of its segments, so each distinct segment is processed once.

    >>> segments_of({"▁word,": 1, "▁word": 2}, PieceRules())
    Counter({'▁word': 3, ',': 1})
    """
    segments: Counter[str] = Counter()
    are_parted = lru_cache(maxsize=1 << 16)(rules.are_parted)
    for word, count in words.items():
        start = 0
        for i, c in enumerate(word):
            if c in IN_NO_PIECE or (i > start and are_parted(word[i - 1], c)):
                segments[word[start:i]] += count
                start = i + (c in IN_NO_PIECE)
        segments[word[start:]] += count
    del segments[""]
    return segments


def alphabet(characters: Mapping[str, int], *, coverage: float, required: str = "") -> set[str]:
    """Return the required characters, and the most frequent ones until they cover a share of the text.

    The share is compared in single precision.

    >>> sorted(alphabet({"a": 90, "b": 9, "c": 1}, coverage=0.99))
    ['a', 'b']
    """
    taken, total = list(dict.fromkeys(required)), sum(characters.values())
    covered = sum(characters.get(c, 0) for c in taken)
    for c in sorted(characters.keys() - {*taken}, key=lambda c: (-characters[c], c)):
        if np.float32(covered / total) >= np.float32(coverage):
            break
        taken.append(c)
        covered += characters[c]
    return {*taken} - IN_NO_PIECE
