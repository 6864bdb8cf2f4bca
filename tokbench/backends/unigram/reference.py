"""Unigram training by its definition: the slow way that the kernel must equal, score for score.

Expected counts are whole numbers of 2^-24 and so add up to the same in any order; within a segment, sums are taken in
the order in which the kernel takes them. What a segment is, and what may be a piece, is in `rules.py`.

Source: Kudo 2018, "Subword Regularization", section 3.2; what it leaves open is as in SentencePiece's
unigram_model_trainer.cc.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tokbench.backends.sentencepiece.rules import PieceRules

UNIT, LEAST, LEAST_UNITS = 2.0**24, 0.5, 1 << 23
UNKNOWN_PENALTY, LAST_ROUNDS = 10.0, 2


def seeds(segments: Mapping[str, int], rules: PieceRules, *, most: int) -> dict[str, int]:
    """All characters, and the substrings that are worth most: occurrences × characters, the best first.

    A substring that is always followed by the same character is none: the longer one is better.

    >>> from tokbench.backends.sentencepiece.rules import PieceRules
    >>> seeds({"abcab": 1, "abd": 1}, PieceRules(), most=2)
    {'ab': 6, 'a': 3, 'b': 3, 'c': 1, 'd': 1}
    """
    occurrences: Counter[str] = Counter()
    followers: defaultdict[str, set[str]] = defaultdict(set)
    for segment, count in segments.items():
        for i in range(len(segment)):
            for j in range(i + 1, min(i + rules.longest, len(segment)) + 1):
                occurrences[segment[i:j]] += count
                followers[segment[i:j]].add(segment[j : j + 1])
    worth = {
        piece: count * len(piece)
        for piece, count in occurrences.items()
        if len(piece) > 1 and count > 1 and (len(followers[piece]) > 1 or followers[piece] == {""})
        if rules.allow(piece)
    }
    best = sorted(worth, key=lambda piece: (-worth[piece], piece))[:most]
    chosen = {piece: worth[piece] for piece in best} | {c: n for c, n in occurrences.items() if len(c) == 1}
    return dict(sorted(chosen.items(), key=lambda item: (-item[1], item[0])))


def expected_units(segments: Mapping[str, int], scores: Mapping[str, float]) -> Counter[str]:
    """How often each piece is expected, over all segmentations of all segments, in units of 2^-24."""
    weights = {piece: math.exp(score) for piece, score in scores.items()}
    unknown = math.exp(min(scores.values()) - UNKNOWN_PENALTY)
    expected: Counter[str] = Counter()
    for segment, count in segments.items():
        edges = list(_edges(segment, weights, unknown))
        forward = [(1.0, 0)] + [(0.0, 0)] * len(segment)
        for i, of_place in enumerate(edges):
            value, exponent = forward[i] = _normal(forward[i])
            for piece, weight in of_place:
                forward[i + len(piece)] = _sum(forward[i + len(piece)], value * weight, exponent)
        all_of_it = forward[-1]
        share = count / all_of_it[0]
        backward = [(0.0, 0)] * len(segment) + [(1.0, 0)]
        for i in reversed(range(len(segment))):
            value, exponent = forward[i][0] * share, forward[i][1] - all_of_it[1]
            total = (0.0, 0)
            for piece, weight in edges[i]:
                rest = backward[i + len(piece)]
                both = weight * rest[0]
                expected[piece] += int(_scaled(value * both, exponent + rest[1]) * UNIT + 0.5)
                total = _sum(total, both, rest[1])
            backward[i] = _normal(total)
    return expected


def maximized(expected: Mapping[str, int], scores: Mapping[str, float]) -> dict[str, float]:
    """The scores that fit expected counts, under a prior by which rare pieces become rarer still; a few fall away."""
    kept = {piece: expected[piece] for piece in scores if expected[piece] / UNIT >= LEAST}
    of_sum = digamma(sum(kept.values()) / UNIT)
    return {piece: digamma(units / UNIT) - of_sum for piece, units in kept.items()}


def digamma(x: float) -> float:
    """The derivative of the logarithm of the gamma function, for x > 0.

    >>> round(digamma(1.0), 9)
    -0.577215665
    """
    result = 0.0
    while x < 7:
        result -= 1 / x
        x += 1
    x -= 0.5
    inverse = 1 / x
    square = inverse * inverse
    fourth = square * square
    series = result + math.log(x) + square * (1 / 24) - fourth * (7 / 960)
    return series + fourth * square * (31 / 8064) - fourth * fourth * (127 / 30720)


def best_segmentation(
    text: str, scores: Mapping[str, float], *, whole: bool = True
) -> tuple[float, list[str]]:
    """The most probable segmentation and its score; of equal ones, that whose last pieces are longer.

    `whole=False` leaves out the piece that is all of the text.
    """
    best = [0.0] + [-math.inf] * len(text)
    last = [""] * (len(text) + 1)
    for i, of_place in enumerate(_edges(text, scores, min(scores.values()) - UNKNOWN_PENALTY)):
        for piece, score in of_place:
            end = i + len(piece)
            if (whole or len(piece) < len(text)) and best[i] + score > best[end]:
                best[end], last[end] = best[i] + score, piece
    pieces: list[str] = []
    end = len(text)
    while end:
        pieces.insert(0, last[end])
        end -= len(last[end])
    return best[-1], pieces


def pruned(segments: Mapping[str, int], scores: Mapping[str, float], *, to: int) -> dict[str, float]:
    """At most that many pieces: those whose removal costs the text least probability go first.

    A piece's uses are taken to become those of the best other pieces that spell it.
    """
    uses: Counter[str] = Counter()
    for segment, count in segments.items():
        for piece in best_segmentation(segment, scores)[1]:
            uses[piece] += count * (piece in scores)
    total = float(uses.total())
    losses: dict[str, float] = {}
    for piece in scores:
        if uses[piece] and len(piece) == 1:
            losses[piece] = math.inf
        elif uses[piece]:
            score, others = best_segmentation(piece, scores, whole=False)
            if score <= scores[piece]:
                used = float(uses[piece])
                log_total, without = math.log(total + used * (len(others) - 1)), 0.0
                for other in others:
                    without += math.log(uses[other] + used) - log_total
                losses[piece] = used * (math.log(used) - math.log(total) - without)
    kept = {*sorted(losses, key=lambda piece: -losses[piece])[: max(to, [*losses.values()].count(math.inf))]}
    return {piece: score for piece, score in scores.items() if piece in kept}


def train(
    segments: Mapping[str, int],
    rules: PieceRules,
    *,
    size: int,
    most_seeds: int = 1_000_000,
    pruned_to: int,
    kept_share: float = 0.75,
    rounds: int = 2,
    characters: Iterable[str] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> list[tuple[str, float]]:
    """The pieces of segments and their scores, the best first; all characters are among them.

    Args:
        segments: text → count.
        rules: what a piece may be.
        size: how many pieces; fewer where the text gives no more.
        most_seeds: of substrings, to begin with.
        pruned_to: how many are left by pruning; the best `size` of them are taken.
        kept_share: of the pieces that a pruning finds.
        rounds: of expectation and maximization before each pruning.
        characters: those that are wanted though the text has none.
        progress: called with the number of pieces left, after each round.
    """
    worth = seeds(segments, rules, most=most_seeds)
    log_total = math.log(sum(worth.values()))
    scores = {piece: math.log(value) - log_total for piece, value in worth.items()}
    while True:
        for _ in range(rounds):
            scores = maximized(expected_units(segments, scores), scores)
            progress(len(scores))
        if len(scores) <= pruned_to:
            break
        scores = pruned(segments, scores, to=max(pruned_to, int(kept_share * len(scores))))
    scores = _best(scores, worth, size=size - len({*characters} - worth.keys()))
    for _ in range(LAST_ROUNDS):
        expected = expected_units(segments, scores)
        units = {piece: max(expected[piece], LEAST_UNITS) for piece in scores}
        total = sum(units.values())
        scores = {piece: math.log(float(value) / float(total)) for piece, value in units.items()}
    lowest = min(scores.values())
    scores |= dict.fromkeys({*characters} - worth.keys(), lowest)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _best(scores: Mapping[str, float], worth: Mapping[str, int], *, size: int) -> dict[str, float]:
    """All characters, and of the others those of the highest scores."""
    lowest = min(scores.values())
    made = {c: scores.get(c, lowest) for c in worth if len(c) == 1}
    others = sorted((piece for piece in scores if len(piece) > 1), key=lambda piece: -scores[piece])
    return made | {piece: scores[piece] for piece in others[: size - len(made)]}


def _edges(text: str, values: Mapping[str, float], unknown: float) -> Iterator[list[tuple[str, float]]]:
    """For each place of a text, the pieces that begin there and their values, shorter ones first."""
    longest = max(map(len, values))
    for i, c in enumerate(text):
        found = [(text[i:j], j - i) for j in range(i + 2, min(i + longest, len(text)) + 1)]
        yield [
            (c, values.get(c, unknown)),
            *((piece, values[piece]) for piece, _ in found if piece in values),
        ]


# A product of many probabilities falls below what a float holds: a sum is a value × 2^(200 × exponent).


def _scaled(value: float, exponent: int) -> float:
    return math.ldexp(value, max(200 * exponent, -4000)) if value else 0.0


def _sum(one: tuple[float, int], value: float, exponent: int) -> tuple[float, int]:
    if not one[0]:
        return value, exponent
    if exponent > one[1]:
        return _scaled(one[0], one[1] - exponent) + value, exponent
    return one[0] + _scaled(value, exponent - one[1]), one[1]


def _normal(one: tuple[float, int]) -> tuple[float, int]:
    value, exponent = one
    while 0 < value < 2.0**-200:
        value, exponent = value * 2.0**200, exponent - 1
    return value, exponent
