"""One vocabulary size of a sweep, and the size that is recommended."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tokbench.evaluation.costs import flops_per_byte, layers_of
from tokbench.evaluation.figures import percent
from tokbench.evaluation.mix import inverted
from tokbench.metrics.metric import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.evaluation.costs import Cost, Model
    from tokbench.evaluation.figures import Figure
    from tokbench.evaluation.mix import Mixed


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptText:
    """The algorithm, training text and held-out text of a sweep.

    Attributes:
        backend: name of the algorithm.
        num_bytes: UTF-8 bytes of the held-out text.
        documents: number of held-out documents; every block of a cut document counts.
        parts: the same in words: "12 documents", "280 blocks of lines".
        units: kind of unit that resamples draw → number of units.
        interval_gap: the reason why there are no intervals; None if there are intervals.
        group_interval_gaps: group → the reason why its figures have no intervals; groups with intervals are omitted.
        training_bytes: UTF-8 bytes of the training text.
        shares: group → the held-out share of its bytes.
        model: the described properties of the model that the tokenizer is for.
    """

    backend: str
    num_bytes: int
    documents: int
    parts: str
    units: Mapping[str, int]
    interval_gap: str | None
    group_interval_gaps: Mapping[str, str]
    training_bytes: int
    shares: Mapping[str, float]
    model: Model

    def corpus_document(self) -> dict[str, Any]:
        """Return the JSON of the training text and the held-out text."""
        return {
            "documents": self.documents,
            "bytes": self.num_bytes,
            "training_bytes": self.training_bytes,
            "units": dict(self.units),
            "held_out_shares": dict(self.shares),
        }


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One vocabulary size on the held-out text.

    Attributes:
        vocab_size: number of tokens, special tokens included.
        tokens: number of tokens of the held-out text.
        bytes_per_token: UTF-8 bytes of the held-out text per token.
        groups: group → bytes per token of its text, compared with the previous size.
        is_filled: whether the training text was enough for the requested number of tokens.
        keeps_text: whether every document decodes to itself.
        figures: metric → figure on all text, compared with the previous size.
        cost: cost for the described model.
        mixed: the figure for the requested mix, compared with the previous size; None if none was requested.
    """

    vocab_size: int
    tokens: int
    bytes_per_token: float | None
    groups: Mapping[str, Figure]
    is_filled: bool = True
    keeps_text: bool = True
    figures: Mapping[str, Figure] = field(default_factory=dict)
    cost: Cost | None = None
    mixed: Mixed | None = None

    @property
    def compression(self) -> float | None:
        """Bytes per token that sizes are chosen by: of the mix if there is one, otherwise of all text."""
        return self.bytes_per_token if self.mixed is None else ratio(1, self.mixed.tokens_per_byte.value or 0)

    @property
    def gain(self) -> Figure | None:
        """The figure of `compression`, with its interval and its difference to the previous size."""
        if self.mixed is None:
            return self.figures.get("bytes_per_token")
        return inverted(self.mixed.tokens_per_byte)


KNEE = 0.05
"""Relative gain in bytes per token; the knee is the size from which a doubling adds less than this."""
WORTH = 0.02
"""Relative gain in bytes per token that justifies a doubling if the model is unknown."""
METHOD = (
    f"knee: the first size whose doubling adds less than {KNEE * 100:.0f} % bytes per token; none if that is "
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
            None, f"the text is too short for any of these sizes: it yields {points[-1].vocab_size:,} tokens"
        )
    kept = [point for point in filled if point.keeps_text]
    if not kept:
        return Recommendation(None, f"every size loses text{_loss(filled[-1])}")
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
    step = f"from {one.vocab_size:,} to {following.vocab_size:,} tokens, bytes per token rise by {more * 100:.1f} %"
    costs = _growth_of_computing(one, following, model)
    if costs is not None:
        if costs < 0:
            return None
        return f"{step}, and compute per byte by {costs * 100:.1f} % in {described(model)}"
    gain = gain_of_doubling(one, following)
    if gain >= WORTH:
        return None
    return f"{step}, less than {WORTH * 100:.0f} % per doubling{_doubt(one, following)}"


def _doubt(one: SweepPoint, following: SweepPoint) -> str:
    """Return the caveat that the interval of a step includes a gain that would pay; empty if it does not."""
    figure = following.gain
    if figure is None or figure.difference_interval is None:
        return ""
    high = _by_doubling(1 + figure.difference_interval.high, one, following)
    return f", though its 95 % interval reaches {high * 100:.1f} %" if high >= WORTH else ""


def _why_largest(points: Sequence[SweepPoint], kept: Sequence[SweepPoint], model: Model) -> str:
    """Return the reason why the largest size is recommended, though a larger one might pay."""
    if len(points) < 2:
        return "it is the only size that was tried"
    if len(kept) < 2:
        return "it is the only size that the text fills and that is lossless"
    more = (
        "a larger vocabulary may pay off, too"
        if points[-1].is_filled
        else "the text is too short for a larger size"
    )
    one, last = kept[-2], kept[-1]
    costs = _growth_of_computing(one, last, model)
    if costs is not None:
        return (
            f"every larger size lowers compute per byte in {described(model)}, the last one by "
            f"{-costs * 100:.1f} %; {more}"
        )
    return (
        f"every doubling still adds {WORTH * 100:.0f} % or more, the last one "
        f"{gain_of_doubling(one, last) * 100:.1f} %; {more}"
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
