"""The reference implementation of SentencePiece's BPE training.

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
    """Repeatedly merge the most frequent pair that may be a piece.

    Ties go to the pair with the fewest characters, then to the smallest characters. A pair that spells an existing
    piece is never merged. In the end even pairs that no longer occur become pieces.

    Args:
        segments: parts of words that pieces do not cross, and how often each occurs.
        rules: the rules for pieces.
        num_pieces: the number of pieces to learn, without single characters; fewer are learned if pairs run out.

    Returns:
        The pieces in the order of their merges.

    >>> from tokbench.backends.sentencepiece.rules import PieceRules
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
