"""The scores of a Unigram model: whether all libraries compute the same sums, and what happens otherwise.

SentencePiece adds up the scores of a whole text in single precision, `tokenizers` those of a pre-token in
double. Both keep the first segmentation found of those with the highest sum, and look at them in the same
order. So they agree on every text where no sum is rounded; and sums of multiples of 1/32 are not, as long as
they stay below 2 ** 19. SentencePiece keeps them there: it begins to count anew at 100,000.

Source: `EncodeOptimized` in SentencePiece's unigram_model.cc (since 0.2.2, with the sums counted anew), and
`encode_optimized` in tokenizers' models/unigram/model.rs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.formats.protobuf import fields, float32, float_field, length_field, varint_field
from tokbench.formats.sentencepiece.pieces import PieceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokbench.formats.sentencepiece.pieces import ModelPiece

STEP = 1 / 32
"""What trained scores are rounded to: coarse enough for sums of any text, too fine to be seen in a result."""

UNKNOWN_PENALTY = 10.0
"""How far below the lowest score a character without a piece is, in both libraries."""

SINGLE_PRECISION_BITS = 24
_RESET = 100_000.0
_SMALLEST_SCORE = 2.0**-100


@dataclass(frozen=True, slots=True)
class ExactSums:
    """Evidence that no sum of scores is rounded, in single or double precision.

    Attributes:
        step: every score is a multiple of it, a power of two.
        longest: characters up to which that holds where sums are not counted anew, in the SentencePiece
            of before 0.2.2.
    """

    step: float
    longest: int

    @property
    def sentence(self) -> str:
        """What it says of a proof."""
        return (
            f"sums of scores are the same on any text, by arithmetic: all are multiples of {_fraction(self.step)}, "
            f"and none is rounded (sentencepiece before 0.2.2: up to {self.longest:,} characters a text)"
        )


def exact_sums(scores: Mapping[str, float]) -> ExactSums | None:
    """Whether the sums of these scores are exact on every text; None where some may be rounded.

    Single precision holds 2 ** 24 multiples of a step. When SentencePiece counts anew, from a sum above
    100,000, the sums of what it is looking at are apart by no more than the characters of a piece can cost.

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
    """Why sums of these scores may be rounded, as a sentence about a model."""
    odd = next((score for score in scores.values() if score and _lowest_bit(score) < STEP), None)
    if odd is None:
        return "its scores are so large that single precision rounds their sums"
    return f"its scores, such as {odd:.6g}, are no multiples of a power of two that sums keep exactly"


def normal_scores(pieces: Iterable[ModelPiece]) -> dict[str, float]:
    """Normal piece → score."""
    return {piece.text: piece.score for piece in pieces if piece.type is PieceType.NORMAL}


def rounded(score: float) -> float:
    """The multiple of `STEP` that is nearest, of two the even one.

    >>> rounded(-3.14159), rounded(-0.015625)
    (-3.15625, 0.0)
    """
    return round(score / STEP) * STEP


def with_rounded_scores(proto: bytes) -> bytes:
    """A serialized `ModelProto` whose normal pieces have rounded scores, and nothing else is changed."""
    made = []
    for number, value in fields(proto):
        if number == 1 and isinstance(value, bytes):
            made.append(length_field(1, _with_rounded_score(value)))
        elif isinstance(value, bytes):
            made.append(length_field(number, value))
        else:
            made.append(varint_field(number, value))
    return b"".join(made)


def caused_by_rounding(first: Sequence[int], second: Sequence[int], pieces: Sequence[ModelPiece]) -> bool:
    """Whether two segmentations of a text differ only where their sums are closer than rounding errors.

    They are compared stretch by stretch, from one end that both have in common to the next. In a stretch each
    addition is wrong by half a unit in the last place of the sum at most, in either segmentation.

    Args:
        first: ids of a text.
        second: other ids of it.
        pieces: the model's, by id.
    """
    lowest = min((piece.score for piece in pieces if piece.type is PieceType.NORMAL), default=0.0)
    costs = [piece.score if piece.type is PieceType.NORMAL else lowest - UNKNOWN_PENALTY for piece in pieces]
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
        one, other = first[left : ends[0]], second[right : ends[1]]
        difference = math.fsum([*(costs[id] for id in one), *(-costs[id] for id in other)])
        if abs(difference) > (len(one) + len(other)) * error:
            return False
        left, right = ends
    return left == len(first) and right == len(second)


def _common_end(
    first: Sequence[int], second: Sequence[int], left: int, right: int, pieces: Sequence[ModelPiece]
) -> tuple[int, int] | None:
    """Where two segmentations that part here meet again; None where they do not, or spell different texts."""
    one = other = ""
    while not one or one != other:
        shorter = one if len(one) <= len(other) else other
        ids, place = (first, left) if shorter is one else (second, right)
        if place >= len(ids) or pieces[ids[place]].type is not PieceType.NORMAL:
            return None
        text = pieces[ids[place]].text
        if shorter is one:
            one, left = one + text, left + 1
        else:
            other, right = other + text, right + 1
        if not (one.startswith(other) or other.startswith(one)):
            return None
    return left, right


def _size(ids: Sequence[int], costs: Sequence[float]) -> float:
    return sum(abs(costs[id]) for id in ids)


def _with_rounded_score(piece: bytes) -> bytes:
    known = dict(fields(piece))
    score = known.pop(2, None)
    if known.get(3, int(PieceType.NORMAL)) != PieceType.NORMAL or not isinstance(score, bytes):
        return piece
    others = [
        length_field(number, value) if isinstance(value, bytes) else varint_field(number, value)
        for number, value in known.items()
    ]
    return b"".join([*others[:1], float_field(2, rounded(float32(score))), *others[1:]])


def _lowest_bit(score: float) -> float:
    """The largest power of two that a score is a multiple of.

    >>> _lowest_bit(-6.0), _lowest_bit(0.75)
    (2.0, 0.25)
    """
    if abs(score) < _SMALLEST_SCORE:
        return _SMALLEST_SCORE
    numerator, denominator = score.as_integer_ratio()
    return (numerator & -numerator) / denominator


def _fraction(step: float) -> str:
    return f"1/{int(1 / step)}" if step < 1 else f"{int(step)}"
