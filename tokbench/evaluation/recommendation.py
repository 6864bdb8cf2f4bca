"""The knee of a compression curve, and the recommended vocabulary size.

Both are decided from one step of the curve at a time and do not depend on which other sizes were tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tokbench.evaluation.costs import flops_per_byte, layers_of
from tokbench.evaluation.figures import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.evaluation.costs import Model
    from tokbench.evaluation.sweep_point import SweepPoint

KNEE = 0.05
"""Relative gain in bytes per token; the knee is the size from which a doubling adds less than this."""
WORTH = 0.02
"""Relative gain in bytes per token that justifies a doubling if the model is unknown."""
METHOD = (
    f"knee: the first size whose doubling adds less than {KNEE * 100:.0f} % bytes per token; none where that is "
    "below or above the sizes"
)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommended vocabulary size, and why.

    Attributes:
        vocab_size: the recommended size; None if no size can be recommended.
        reason: the reason, in a sentence.
    """

    vocab_size: int | None
    reason: str


def gain_of_doubling(one: SweepPoint, following: SweepPoint) -> float:
    """Return the relative gain in bytes per token for each doubling between two sizes."""
    if not one.compression or not following.compression:
        return 0.0
    return _by_doubling(following.compression / one.compression, one, following)


def knee_of(points: Sequence[SweepPoint]) -> int | None:
    """Return the size before which a doubling adds five percent or more and after which it adds less.

    Args:
        points: points of the curve by ascending size; sizes that the text could not fill are ignored.

    Returns:
        None if there is no such size: the curve may bend below or above the sizes tried.

    >>> from tokbench.evaluation.sweep import SweepPoint
    >>> flat = [SweepPoint(2**n, 1, y, {}) for n, y in ((10, 1.0), (11, 1.9), (12, 1.95), (13, 2.0))]
    >>> knee_of(flat), knee_of(flat[:2]), knee_of(flat[1:])
    (2048, None, None)
    """
    filled = [point for point in points if point.is_filled]
    for before, point, after in zip(filled, filled[1:], filled[2:], strict=False):
        if gain_of_doubling(before, point) >= KNEE > gain_of_doubling(point, after):
            return point.vocab_size
    return None


def recommend(points: Sequence[SweepPoint], *, model: Model) -> Recommendation:
    """Recommend the smallest size whose doubling no longer pays, among the lossless sizes that the text fills.

    If the width of the model is known, a doubling pays as long as it lowers the computation per byte: tokens get
    longer, the output matrix larger. Otherwise it pays as long as it adds two percent to the bytes per token.

    Args:
        points: at least one point, by ascending size.
        model: the described properties of the model.
    """
    filled = [point for point in points if point.is_filled]
    if not filled:
        return Recommendation(
            None, f"the text fills none of these sizes: it has {points[-1].vocab_size:,} tokens to learn"
        )
    kept = [point for point in filled if point.keeps_text]
    if not kept:
        return Recommendation(None, f"at every size text is lost{_loss(filled[-1])}")
    for one, following in pairwise(kept):
        reason = _why_enough(one, following, model)
        if reason is not None:
            return Recommendation(one.vocab_size, reason)
    return Recommendation(kept[-1].vocab_size, _why_largest(points, kept, model))


def _loss(point: SweepPoint) -> str:
    """Say how much text is lost at a size; empty if unknown."""
    figure = point.figures.get("character_error_rate")
    if figure is None or not figure.value:
        return ""
    return f", at {point.vocab_size:,} tokens {percent(figure.value)} of the characters"


def _why_enough(one: SweepPoint, following: SweepPoint, model: Model) -> str | None:
    """Return the reason why the next size does not pay; None if it does."""
    more = (following.compression or 0) / (one.compression or 1) - 1
    step = f"from {one.vocab_size:,} to {following.vocab_size:,} tokens a token holds {more * 100:.1f} % more bytes"
    costs = _growth_of_computing(one, following, model)
    if costs is not None:
        if costs < 0:
            return None
        return f"{step}, and a byte takes {costs * 100:.1f} % more to compute in {described(model)}"
    gain = gain_of_doubling(one, following)
    if gain >= WORTH:
        return None
    return f"{step}, under {WORTH * 100:.0f} % a doubling{_doubt(one, following)}"


def _doubt(one: SweepPoint, following: SweepPoint) -> str:
    """Return the caveat that the interval of a step includes a gain that would pay; empty if it does not."""
    figure = following.gain
    if figure is None or figure.difference_interval is None:
        return ""
    high = _by_doubling(1 + figure.difference_interval.high, one, following)
    return f", though up to {high * 100:.1f} % is possible by its 95 % interval" if high >= WORTH else ""


def _why_largest(points: Sequence[SweepPoint], kept: Sequence[SweepPoint], model: Model) -> str:
    """Return the reason why the largest size is recommended, though a larger one might pay."""
    if len(points) < 2:
        return "it is the only size that was tried"
    if len(kept) < 2:
        return "it is the only size that was tried, that the text fills and that is lossless"
    more = (
        "a larger vocabulary may pay as well"
        if points[-1].is_filled
        else "of these sizes the text fills no larger one"
    )
    one, last = kept[-2], kept[-1]
    costs = _growth_of_computing(one, last, model)
    if costs is not None:
        return (
            f"every larger size lowers what a byte takes to compute in {described(model)}, the last one by "
            f"{-costs * 100:.1f} %: {more}"
        )
    return (
        f"every doubling still adds {WORTH * 100:.0f} % or more, at the end "
        f"{gain_of_doubling(one, last) * 100:.1f} %: {more}"
    )


def _growth_of_computing(one: SweepPoint, following: SweepPoint, model: Model) -> float | None:
    """Return the relative growth of the computation per byte; None if the model is unknown."""
    flops, more = (
        flops_per_byte(point.vocab_size, point.compression or 0, model) for point in (one, following)
    )
    return None if not flops or more is None else more / flops - 1


def described(model: Model) -> str:
    """Describe the model that computations are based on, and say if its number of layers is an assumption."""
    layers = layers_of(model) or 0
    assumed = " (assumed: --layers says otherwise)" if model.layers is None else ""
    attending = "" if model.context is None else f", attending over {model.context:,} tokens"
    return f"{layers} layer{'s' * (layers != 1)}{assumed} of width {model.dim or 0:,}{attending}"


def _by_doubling(growth: float, one: SweepPoint, following: SweepPoint) -> float:
    return math.pow(growth, 1 / math.log2(following.vocab_size / one.vocab_size)) - 1
