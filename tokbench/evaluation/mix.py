"""Tokens per byte of a mix of groups, and the cheapest tokenizer for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.wording import first_of
from tokbench.errors import ConfigError
from tokbench.evaluation.figures import Figure, among, difference_interval, listed, significant
from tokbench.metrics.bootstrap import FEWEST_UNITS, Interval, Resampled, change_digits, resamples
from tokbench.metrics.metric import DOCUMENT_COUNTS
from tokbench.metrics.unit_counts import divided, joined

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tokbench.evaluation.counting_pass import Evaluation
    from tokbench.metrics.unit_counts import UnitCounts

_NAMED = 60
_TOKENS, _BYTES = (DOCUMENT_COUNTS.index(name) for name in ("tokens", "bytes"))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a mix.

    Attributes:
        name: name of a group, or of a folder of groups.
        share: its share of the bytes of the mix.
        groups: the groups that it consists of.
    """

    name: str
    share: float
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class Mix:
    """A mix of groups by their shares of bytes, which add up to 1."""

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return ", ".join(f"{part.name} {part.share * 100:.4g} %" for part in self.parts)


@dataclass(frozen=True, slots=True)
class Mixed:
    """The tokens per byte of a mix under one tokenizer.

    Attributes:
        tokens_per_byte: the figure, with its interval and its relative difference to the baseline.
        resampled: the values in resamples; None for too few units.
    """

    tokens_per_byte: Figure
    resampled: Resampled | None = field(default=None, compare=False, repr=False)


def parse_mix(text: str) -> dict[str, float]:
    """Parse weights such as "en=0.6,de=0.3,code=0.1", and scale them to add up to 1.

    Raises:
        ConfigError: a part is not a pair of a name and a positive number, a name occurs twice, or the sum overflows.

    >>> parse_mix("en=6, de=3, code=1")
    {'en': 0.6, 'de': 0.3, 'code': 0.1}
    """
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = (piece.strip() for piece in part.rpartition("="))
        weight = _weight(number)
        if not equals or not name or weight is None:
            raise ConfigError(
                f"--mix {part.strip()!r} is not a group with its weight",
                hint="write a positive number for each group, such as en=0.6,de=0.3,code=0.1",
            )
        if name in weights:
            raise ConfigError(f"--mix names {name!r} twice", hint="give it one weight")
        weights[name] = weight
    total = sum(weights.values())
    if math.isinf(total):
        raise ConfigError("the numbers of --mix are too large", hint="write shares, such as en=0.6,de=0.4")
    return {name: weight / total for name, weight in weights.items()}


def _weight(number: str) -> float | None:
    try:
        weight = float(number)
    except ValueError:
        return None
    return weight if math.isfinite(weight) and weight > 0 else None


def mix_among(
    weights: Mapping[str, float], groups: Collection[str], folders: Mapping[str, Collection[str]]
) -> Mix:
    """Resolve the names in weights to the groups of a corpus.

    Args:
        weights: name → share; a name is a group, or a folder that stands for all groups in it.
        groups: the groups of the corpus.
        folders: folder → its groups.

    Raises:
        ConfigError: a name is neither a group nor a folder, or a group occurs twice.
    """
    found = {folder: frozenset(names) & set(groups) for folder, names in folders.items()}
    found = {folder: names for folder, names in found.items() if names} | {
        group: frozenset([group]) for group in groups
    }
    for name in weights:
        if name not in found:
            named = sorted(groups)
            whole = sorted(set(found) - set(groups))
            together = f"; {listed(whole)} for all in that folder" if whole else ""
            raise ConfigError(
                f"--mix names {name!r}, and there is no such group",
                hint=f"there are {first_of(named, _NAMED)}{together}",
            )
    taken = [group for name in weights for group in found[name]]
    twice = sorted({group for group in taken if taken.count(group) > 1})
    if twice:
        raise ConfigError(
            f"--mix has {twice[0]!r} twice: by itself and in its folder", hint="leave one of them out"
        )
    return Mix(tuple(Part(name, share, found[name]) for name, share in weights.items()))


def mixed(
    mix: Mix, evaluation: Evaluation, lines: Evaluation | None, *, seed: int
) -> tuple[float | None, Resampled | None]:
    """Compute the tokens per byte of a mix: the mean of its parts' tokens per byte, weighted by their shares.

    Args:
        mix: a mix of groups that were evaluated.
        evaluation: the counts.
        lines: the counts of the same text with each aligned line as a document.
        seed: seed of the resampling.

    Returns:
        The figure, None if a part has no text; and its values in resamples, None if a part has fewer than five
        units. Parts that share units, such as languages with aligned lines, are resampled together.
    """
    estimate = _estimate(mix, evaluation)
    source = evaluation if lines is None else lines
    around = _estimate(mix, source)
    if estimate is None or around is None:
        return estimate, None
    values, fewest = np.zeros(1), None
    for number, parts in enumerate(_drawn_together(mix, source)):
        units = [_units(source, part) for part in parts]
        drawn = resamples(joined(units), seed=seed + number)
        if drawn is None or any(len(counts.keys) < FEWEST_UNITS for counts in units):
            return estimate, None
        for part, of_part in zip(parts, units, strict=True):
            sums = drawn.sums(of_part)
            found = divided(sums[:, _TOKENS], sums[:, _BYTES])
            if np.isnan(found).any():
                return estimate, None
            values = values + part.share * found
        fewest = drawn.num_units if fewest is None else min(fewest, drawn.num_units)
    return estimate, Resampled(estimate, values + (estimate - around), fewest or FEWEST_UNITS)


def mixed_beside(
    own: tuple[float | None, Resampled | None], base: tuple[float | None, Resampled | None] | None
) -> Mixed:
    """Compare a mix under a tokenizer with the baseline's, if there is one; both are results of `mixed`."""
    (value, drawn), (other, others) = own, base or (None, None)
    return Mixed(
        Figure(
            value=value,
            interval=None if drawn is None else drawn.interval,
            difference=None if value is None or not other else value / other - 1,
            difference_interval=difference_interval(drawn, others, share=False),
        ),
        resampled=drawn,
    )


def inverted(figure: Figure) -> Figure:
    """Convert a figure of tokens per byte to bytes per token, which swaps the ends of intervals.

    >>> found = inverted(Figure(0.25, Interval(0.2, 0.5), -0.2, Interval(-0.5, 0.0)))
    >>> found.value, tuple(found.interval), found.difference, tuple(found.difference_interval)
    (4.0, (2.0, 5.0), 0.25, (0.0, 1.0))
    """
    if not figure.value:
        return Figure(None)

    def over(interval: Interval | None, base: float) -> Interval | None:
        return (
            None
            if interval is None
            else Interval(1 / (base + interval.high) - base, 1 / (base + interval.low) - base)
        )

    return Figure(
        value=1 / figure.value,
        interval=over(figure.interval, 0),
        difference=None if figure.difference is None else 1 / (1 + figure.difference) - 1,
        difference_interval=over(figure.difference_interval, 1),
    )


@dataclass(frozen=True, slots=True)
class Alternative:
    """A tokenizer or vocabulary size whose cost for a mix is compared.

    Attributes:
        name: its name in sentences.
        keeps_text: whether every document decodes to itself.
        mixed: its figure for the mix.
    """

    name: str
    keeps_text: bool
    mixed: Mixed


def cheapest(mix: Mix, alternatives: Sequence[Alternative], *, price: float | None) -> Iterator[str]:
    """Say which alternative is the cheapest for a mix, and whether that is statistically distinguishable.

    Args:
        mix: the mix.
        alternatives: at least one alternative.
        price: price of a million tokens; None if unknown.
    """
    known = sorted(
        (
            (value, alternative)
            for alternative in alternatives
            if (value := alternative.mixed.tokens_per_byte.value) is not None
        ),
        key=lambda pair: pair[0],
    )
    kept = [pair for pair in known if pair[1].keeps_text]
    ranked = kept or known
    if not ranked:
        yield f"for {mix} there is no cost: a part of it has no text"
        return
    (value, best), *others = ranked
    tied = [best.name, *(alternative.name for other, alternative in others if other == value)]
    others = others[len(tied) - 1 :]
    at = "" if price is None else f", {significant(value * price)} for a million bytes"
    cost = "is the cheapest" if len(tied) == 1 else "are the cheapest" if others else "cost the same"
    sentence = (
        f"for {mix}: {among(len(kept), len(known))}{listed(tied)} {cost}: {value:.4f} tokens per byte{at}"
    )
    if not others:
        yield sentence
        return
    drawn = best.mixed.resampled
    if drawn is None:
        yield (f"{sentence}; no interval: a part was drawn in fewer than {FEWEST_UNITS} units")
    elif same := [other.name for _, other in others if not drawn.differs_from(other.mixed.resampled)]:
        yield f"{sentence}; no significant difference to {listed(same)} on this text"
    else:
        second, following = others[0]
        yield f"{sentence}, {_less(best, following, 1 - value / second)} than {following.name}, the second best"


def _less(best: Alternative, following: Alternative, share: float) -> str:
    """Say how much cheaper the best is, with the ends of the interval."""
    drawn, others = best.mixed.resampled, following.mixed.resampled
    found = None if drawn is None or others is None else drawn.relative_to(others)
    if found is None:
        return f"{share * 100:.1f} % less"
    digits = change_digits(share, found.interval)
    between = f"{-found.interval.high * 100:z.{digits}f}…{-found.interval.low * 100:z.{digits}f}"
    return f"{share * 100:.{digits}f} % ({between}) less"


def _estimate(mix: Mix, evaluation: Evaluation) -> float | None:
    total = 0.0
    for part in mix.parts:
        tallies = [evaluation.groups[group] for group in part.groups if group in evaluation.groups]
        tokens, num_bytes = (sum(tally[name] for tally in tallies) for name in ("tokens", "bytes"))
        if not tokens or not num_bytes:
            return None
        total += part.share * tokens / num_bytes
    return total


def _units(evaluation: Evaluation, part: Part) -> UnitCounts:
    """Return the units of a part of a mix that has text."""
    return joined(units for group, units in evaluation.group_units.items() if group in part.groups)


def _drawn_together(mix: Mix, evaluation: Evaluation) -> list[list[Part]]:
    """Partition the parts of a mix into sets without shared units (or buckets, where units are not kept apart)."""
    sets: list[tuple[list[Part], UnitCounts]] = []
    for part in mix.parts:
        units = _units(evaluation, part)
        sharing = [one for one in sets if _share(one[1], units)]
        sets = [one for one in sets if not _share(one[1], units)]
        parts = [*(each for one in sharing for each in one[0]), part]
        sets.append((parts, joined([units, *(one[1] for one in sharing)])))
    return [parts for parts, _ in sets]


def _share(one: UnitCounts, other: UnitCounts) -> bool:
    if one.are_buckets or other.are_buckets:
        one, other = one.in_buckets(), other.in_buckets()
    return bool(np.isin(one.keys, other.keys).any())
