"""The reference implementation of Unigram training: slow, and the kernel must equal it in every score.

Expected counts are integer multiples of 2^-24, so their sum is the same in any order; within a segment, sums are taken
in the kernel's order. `backends/sentencepiece/reference.py` defines segments and the allowed pieces.

Source: Kudo 2018, "Subword Regularization", section 3.2; details that it leaves open are as in SentencePiece's
unigram_model_trainer.cc.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tokbench.backends.sentencepiece.reference import PieceRules

UNIT, LEAST, LEAST_UNITS = 2.0**24, 0.5, 1 << 23
UNKNOWN_PENALTY, LAST_ROUNDS = 10.0, 2


def seeds(segments: Mapping[str, int], rules: PieceRules, *, most: int) -> dict[str, int]:
    """Return all characters and the `most` best substrings with their scores (occurrences × length), the best first.

    A substring that is always followed by the same character is not a seed: the longer substring is better.

    >>> from tokbench.backends.sentencepiece.reference import PieceRules
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
    """Return the expected count of each piece over all segmentations of all segments, in units of 2^-24."""
    weights = {piece: math.exp(score) for piece, score in scores.items()}
    unknown = math.exp(min(scores.values()) - UNKNOWN_PENALTY)
    expected: Counter[str] = Counter()
    for segment, count in segments.items():
        edges = list(_edges(segment, weights, unknown))
        forward = [(1.0, 0)] + [(0.0, 0)] * len(segment)
        for i, edges_here in enumerate(edges):
            value, exponent = forward[i] = _normal(forward[i])
            for piece, weight in edges_here:
                forward[i + len(piece)] = _sum(forward[i + len(piece)], value * weight, exponent)
        whole_sum = forward[-1]
        share = count / whole_sum[0]
        backward = [(0.0, 0)] * len(segment) + [(1.0, 0)]
        for i in reversed(range(len(segment))):
            value, exponent = forward[i][0] * share, forward[i][1] - whole_sum[1]
            total = (0.0, 0)
            for piece, weight in edges[i]:
                rest = backward[i + len(piece)]
                both = weight * rest[0]
                expected[piece] += int(_scaled(value * both, exponent + rest[1]) * UNIT + 0.5)
                total = _sum(total, both, rest[1])
            backward[i] = _normal(total)
    return expected


def maximized(expected: Mapping[str, int], scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores that maximize the likelihood of expected counts under a prior that penalizes rare pieces.

    Pieces with an expected count below `LEAST` are removed.
    """
    kept = {piece: expected[piece] for piece in scores if expected[piece] / UNIT >= LEAST}
    digamma_of_sum = digamma(sum(kept.values()) / UNIT)
    return {piece: digamma(units / UNIT) - digamma_of_sum for piece, units in kept.items()}


def digamma(x: float) -> float:
    """Return the derivative of the logarithm of the gamma function, for x > 0.

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
    """Return the score of the most probable segmentation and its pieces; on a tie the longer last piece wins.

    With `whole=False` the piece that equals the whole text is not used.
    """
    best = [0.0] + [-math.inf] * len(text)
    last = [""] * (len(text) + 1)
    for i, edges_here in enumerate(_edges(text, scores, min(scores.values()) - UNKNOWN_PENALTY)):
        for piece, score in edges_here:
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
    """Prune to at most `to` pieces: first go the pieces whose removal lowers the probability of the text least.

    The loss of a piece assumes that each of its uses is replaced by its best segmentation into other pieces. Characters
    that are used are always kept, even if they are more than `to`.
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
    """Learn pieces from segments; return them with their scores, the best first, including all characters.

    Args:
        segments: text → count.
        rules: the rules for pieces.
        size: the number of pieces; fewer are returned if the text has no more.
        most_seeds: the largest number of substrings to start with.
        pruned_to: the number of pieces at which pruning ends; the best `size` of them are kept.
        kept_share: the share of the pieces that each pruning keeps.
        rounds: the number of rounds of expectation and maximization before each pruning.
        characters: characters that become pieces even if the text does not contain them.
        progress: called after each round with the number of pieces left.
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
    """Return all characters, and the longer pieces with the highest scores, up to `size` in total."""
    lowest = min(scores.values())
    letters = {c: scores.get(c, lowest) for c in worth if len(c) == 1}
    others = sorted((piece for piece in scores if len(piece) > 1), key=lambda piece: -scores[piece])
    return letters | {piece: scores[piece] for piece in others[: size - len(letters)]}


def _edges(text: str, values: Mapping[str, float], unknown: float) -> Iterator[list[tuple[str, float]]]:
    """Yield for each position of a text the pieces that begin there with their values, from short to long."""
    longest = max(map(len, values))
    for i, c in enumerate(text):
        found = [(text[i:j], j - i) for j in range(i + 2, min(i + longest, len(text)) + 1)]
        yield [
            (c, values.get(c, unknown)),
            *((piece, values[piece]) for piece, _ in found if piece in values),
        ]


# The product of many probabilities underflows a float, so a sum is represented as a value × 2^(200 × exponent).


def _scaled(value: float, exponent: int) -> float:
    return math.ldexp(value, max(200 * exponent, -4000)) if value else 0.0


def _sum(total: tuple[float, int], value: float, exponent: int) -> tuple[float, int]:
    if not total[0]:
        return value, exponent
    if exponent > total[1]:
        return _scaled(total[0], total[1] - exponent) + value, exponent
    return total[0] + _scaled(value, exponent - total[1]), total[1]


def _normal(number: tuple[float, int]) -> tuple[float, int]:
    value, exponent = number
    while 0 < value < 2.0**-200:
        value, exponent = value * 2.0**200, exponent - 1
    return value, exponent
