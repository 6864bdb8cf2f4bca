"""The scores of a Unigram model: whether all libraries compute the same sums, and what happens otherwise.

SentencePiece adds the scores of a whole text in single precision, `tokenizers` those of a pre-token in double
precision. Both keep the first segmentation among those with the highest sum, and try them in the same order. So they
agree on every text for which no sum is rounded; and sums of multiples of 1/32 are not rounded while they stay below 2
** 19. SentencePiece keeps them there: it resets the sums at 100,000.

Source: `EncodeOptimized` in SentencePiece's unigram_model.cc (since 0.2.2, with the reset), and `encode_optimized` in
tokenizers' models/unigram/model.rs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.formats.protobuf import fields, float32, float_field, written_field
from tokbench.formats.sentencepiece.pieces import PieceType, message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokbench.formats.sentencepiece.pieces import ModelPiece

STEP = 1 / 32
"""The unit to which trained scores are rounded: coarse enough for exact sums of any text, too fine to matter."""

UNKNOWN_PENALTY = 10.0
"""The distance of an unknown character's score below the lowest score, in both libraries."""

SINGLE_PRECISION_BITS = 24
_SYMBOL_BONUS = 0.1
_RESET = 100_000.0
_SMALLEST_SCORE = 2.0**-100


@dataclass(frozen=True, slots=True)
class ExactSums:
    """Evidence that no sum of scores is rounded, in single or double precision.

    Attributes:
        step: a power of two of which every score is a multiple.
        longest: the most characters for which sums are exact without the reset, in SentencePiece before 0.2.2.
    """

    step: float
    longest: int

    @property
    def sentence(self) -> str:
        """The sentence for the report of a proof."""
        step = f"1/{int(1 / self.step)}" if self.step < 1 else f"{int(self.step)}"
        return (
            f"sums of scores are the same on any text, by arithmetic: all are multiples of {step}, "
            f"and none is rounded (sentencepiece before 0.2.2: up to {self.longest:,} characters a text)"
        )


def exact_sums(scores: Mapping[str, float]) -> ExactSums | None:
    """Return evidence that the sums of these scores are exact on every text; None if some may be rounded.

    Single precision represents 2 ** 24 multiples of a step. When SentencePiece resets, at a sum above 100,000, the sums
    under comparison differ by no more than the cost of the characters of one piece.

    Args:
        scores: normal piece → score.

    >>> exact_sums({"a": -1.5, "ab": -3.03125}).step
    0.03125
    >>> exact_sums({"a": -1.1, "ab": -3.0})
    """
    if not scores or not all(map(math.isfinite, scores.values())):
        return None
    all_scores = (*scores.values(), min(scores.values()) - UNKNOWN_PENALTY)
    step = min((_lowest_bit(score) for score in all_scores if score), default=1.0)
    largest = max(map(abs, all_scores))
    exact_below = step * 2.0**SINGLE_PRECISION_BITS
    if _RESET + (max(map(len, scores)) + 2) * largest > exact_below:
        return None
    return ExactSums(step, longest=int(exact_below // largest) - 1)


def why_inexact(scores: Mapping[str, float]) -> str:
    """Return the reason why sums of these scores may be rounded, as a sentence about a model."""
    odd = next((score for score in scores.values() if score and _lowest_bit(score) < STEP), None)
    if odd is None:
        return "its scores are so large that single precision rounds their sums"
    return f"its scores, such as {odd:.6g}, are no multiples of a power of two that sums keep exactly"


def normal_scores(pieces: Iterable[ModelPiece]) -> dict[str, float]:
    """Return normal piece → score."""
    return {piece.text: piece.score for piece in pieces if piece.type is PieceType.NORMAL}


def symbol_score(symbol: str, *, sampled: bool = False) -> float:
    """Return the score of a user-defined symbol, which depends on its length only.

    The library takes its length in bytes where it encodes, and in characters where it samples or lists the n best.

    >>> symbol_score("ä"), symbol_score("ä", sampled=True)
    (0.1, 0.0)
    """
    return _SYMBOL_BONUS * (len(symbol if sampled else symbol.encode()) - 1)


def rounded(score: float) -> float:
    """Return the nearest multiple of `STEP`; ties go to the even one.

    >>> rounded(-3.14159), rounded(-0.015625)
    (-3.15625, 0.0)
    """
    return round(score / STEP) * STEP


def with_rounded_scores(proto: bytes) -> bytes:
    """Return a serialized `ModelProto` with the scores of normal pieces rounded, and nothing else changed."""
    return b"".join(
        written_field(number, _with_rounded_score(value) if number == 1 else value)
        for number, value in fields(proto)
    )


def caused_by_rounding(first: Sequence[int], second: Sequence[int], pieces: Sequence[ModelPiece]) -> bool:
    """Whether two segmentations of a text differ only where their sums are closer than rounding errors.

    They are compared stretch by stretch, between token ends that both have in common. In a stretch, each addition is
    wrong by at most half a unit in the last place of the sum, in either segmentation.

    Args:
        first: the ids of one segmentation.
        second: the ids of the other segmentation.
        pieces: the model's pieces by id.
    """
    costs = _costs(pieces)
    largest = min(_RESET + 2 * max(map(abs, costs)), max(_size(first, costs), _size(second, costs)))
    error = largest * 2.0**-SINGLE_PRECISION_BITS
    left = right = 0
    while left < len(first) and right < len(second):
        if first[left] == second[right]:
            left, right = left + 1, right + 1
            continue
        ends = _common_end(first, second, left, right, pieces)
        if ends is None:
            return False
        first_stretch, second_stretch = first[left : ends[0]], second[right : ends[1]]
        difference = math.fsum([*(costs[id] for id in first_stretch), *(-costs[id] for id in second_stretch)])
        if abs(difference) > (len(first_stretch) + len(second_stretch)) * error:
            return False
        left, right = ends
    return left == len(first) and right == len(second)


def _common_end(
    first: Sequence[int], second: Sequence[int], left: int, right: int, pieces: Sequence[ModelPiece]
) -> tuple[int, int] | None:
    """Return where two segmentations that differ here meet again; None if they do not, or spell different texts."""
    first_text = second_text = ""
    while not first_text or first_text != second_text:
        shorter = first_text if len(first_text) <= len(second_text) else second_text
        ids, place = (first, left) if shorter is first_text else (second, right)
        if place >= len(ids) or pieces[ids[place]].type is not PieceType.NORMAL:
            return None
        text = pieces[ids[place]].text
        if shorter is first_text:
            first_text, left = first_text + text, left + 1
        else:
            second_text, right = second_text + text, right + 1
        if not (first_text.startswith(second_text) or second_text.startswith(first_text)):
            return None
    return left, right


def _costs(pieces: Sequence[ModelPiece]) -> list[float]:
    """Return the score of each piece; that of an unknown character for pieces that no text contains."""
    lowest = min((piece.score for piece in pieces if piece.type is PieceType.NORMAL), default=0.0)
    costs = [lowest - UNKNOWN_PENALTY] * len(pieces)
    for id, piece in enumerate(pieces):
        if piece.type is PieceType.NORMAL:
            costs[id] = piece.score
        elif piece.type is PieceType.USER_DEFINED:
            costs[id] = symbol_score(piece.text)
    return costs


def _size(ids: Sequence[int], costs: Sequence[float]) -> float:
    return sum(abs(costs[id]) for id in ids)


def _with_rounded_score(piece: int | bytes) -> int | bytes:
    known = dict(fields(message(piece)))
    score = known.pop(2, None)
    if known.get(3, int(PieceType.NORMAL)) != PieceType.NORMAL or not isinstance(score, bytes):
        return piece
    others = [written_field(number, value) for number, value in known.items()]
    return b"".join([*others[:1], float_field(2, rounded(float32(score))), *others[1:]])


def _lowest_bit(score: float) -> float:
    """Return the largest power of two of which a score is a multiple.

    >>> _lowest_bit(-6.0), _lowest_bit(0.75)
    (2.0, 0.25)
    """
    if abs(score) < _SMALLEST_SCORE:
        return _SMALLEST_SCORE
    numerator, denominator = score.as_integer_ratio()
    return (numerator & -numerator) / denominator
