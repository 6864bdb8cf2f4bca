"""SentencePiece's BPE by the textbook: the definition.

Source: `bpe_model_trainer.cc` of sentencepiece 0.2.3, which keeps all pairs in one queue.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.backends.sentencepiece.rules import PieceRules

_Pair = tuple[str, str]


def learn(segments: Mapping[str, int], rules: PieceRules, *, num_pieces: int) -> list[str]:
    """Merge the most frequent pair that may be a piece, again and again.

    Of equally frequent pairs the one with the fewest characters is taken, then that of the smallest characters. A pair
    that spells a piece that is there already is never merged. A pair that occurs no more is taken in the end, too.

    Args:
        segments: parts of words that pieces do not cross, and how often each occurs.
        rules: what may be a piece.
        num_pieces: as many are learned, if there are enough pairs; characters are not among them.

    Returns:
        The pieces in the order of their merges.

    >>> from tokbench.backends.sentencepiece.rules import PieceRules
    >>> learn({"▁abab": 2, "▁ab": 1}, PieceRules(), num_pieces=9)
    ['ab', '▁ab', '▁abab', 'ba', '▁a', 'aba', 'abab']
    """
    words = [([*segment], count) for segment, count in segments.items()]
    met: dict[
        _Pair, None
    ] = {}  # in the order in which their left parts were learned, where they are spelled alike
    pieces: dict[str, None] = {}

    def meet(pairs: Iterator[_Pair]) -> None:
        met.update((pair, None) for pair in pairs if rules.allow("".join(pair)))

    for symbols, _ in words:
        meet(pairwise(symbols))
    refused: set[_Pair] = set()
    while len(pieces) < num_pieces:
        counts: Counter[_Pair] = Counter()
        for symbols, count in words:
            for pair in pairwise(symbols):
                counts[pair] += count
        left = [pair for pair in met if pair not in refused]
        if not left:
            break
        rank = {piece: number for number, piece in enumerate(pieces, 1)}
        best = min(
            left,
            key=lambda pair: (
                -counts[pair], len("".join(pair)), "".join(pair), rank.get(pair[0], 0), rank.get(pair[1], 0)
            ),
        )  # fmt: skip
        refused.add(best)
        if (made := "".join(best)) in pieces:
            continue
        pieces[made] = None
        for symbols, _ in words:
            meet(_merged(symbols, best))
    return [*pieces]


def _merged(symbols: list[str], pair: _Pair) -> Iterator[_Pair]:
    """Merge a pair where it stands, from left to right; the pairs that come up, some for a moment only."""
    made = "".join(pair)
    at = 0
    while at + 1 < len(symbols):
        if (symbols[at], symbols[at + 1]) == pair:
            symbols[at : at + 2] = [made]
            if at > 0:
                yield symbols[at - 1], made
            if at + 1 < len(symbols):
                yield made, symbols[at + 1]
        at += 1
