"""Thresholds on metrics, and their check against tokenizers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from tokbench.core.wording import meant
from tokbench.errors import ConfigError
from tokbench.metrics.catalogue import METRICS, metric_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.metrics.metric import Aggregation

Bound = Literal["min", "max"]
PREMIUM, GINI = "premium", "gini"
"""Names for figures of aligned lines, usable like metrics: the largest premium or that of a group; the Gini."""

_DIGITS = (3, 6, 9, 17)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A limit on one metric.

    Attributes:
        metric: a metric of the catalogue, "premium" (the largest one, or the group's) or "gini".
        group: the group whose figure is limited; None for all text.
        bound: whether the limit is a minimum or a maximum.
        limit: the limit, inclusive.
        was: the figure of the older comparison that the limit is based on; None if the user set the limit.
        tokenizer: name of the tokenizer that it applies to; None for all.
    """

    metric: str
    group: str | None
    bound: Bound
    limit: float
    was: float | None = None
    tokenizer: str | None = None

    @property
    def figure(self) -> str:
        """Name of the limited figure, as accepted by `check`: "de:unk_rate"."""
        return self.metric if self.group is None else f"{self.group}:{self.metric}"


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """The result of one threshold for one tokenizer.

    Attributes:
        threshold: the threshold.
        tokenizer: name of the tokenizer.
        value: the figure; None if it has no value, which fails.
        passed: whether the figure satisfies the threshold.
        gap: the reason why the figure has no value.
    """

    threshold: Threshold
    tokenizer: str
    value: float | None
    passed: bool
    gap: str | None = None

    @property
    def change(self) -> float | None:
        """Relative change of the figure; None if its old or new value is unknown, or the old value is 0."""
        if self.value is None or not self.threshold.was:
            return None
        return (self.value - self.threshold.was) / abs(self.threshold.was)

    @property
    def message(self) -> str:
        """The result in a line: "mine bytes_per_token 2.468 (was 2.590, −4.7 %, limit 2.590)"."""
        threshold = self.threshold
        *older, limit, value = self._written()
        parts = [f"was {was}" for was in older]
        if self.change is not None:
            parts.append(_change(self.change))
        parts.append(f"limit {limit}" if older else f"limit {limit}, --{threshold.bound}")
        gap = "" if self.gap is None else f": {self.gap}"
        return f"{self.tokenizer} {threshold.figure} {value} ({', '.join(parts)}){gap}"

    def _written(self) -> list[str]:
        """Format the old figure (if known), the limit and the figure, with enough digits to tell them apart."""
        numbers = [] if self.threshold.was is None else [self.threshold.was]
        numbers += [self.threshold.limit, *([] if self.value is None else [self.value])]
        is_share = self.threshold.metric in METRICS and METRICS[self.threshold.metric].share
        written: list[str] = []
        for digits in _DIGITS:
            written = [_number(number, digits, is_share=is_share) for number in numbers]
            if len({*written}) == len({*numbers}):
                break
        return written if self.value is not None else [*written, "–"]


def _number(number: float, digits: int, *, is_share: bool) -> str:
    """Format a figure with some digits after the decimal point; a share in percent.

    >>> _number(2.5904, 3, is_share=False), _number(0.03051, 3, is_share=True), _number(0.0, 3, is_share=True)
    ('2.590', '3.05 %', '0 %')
    """
    if not is_share:
        return f"{number:.{digits}f}"
    return f"{number * 100:.{digits - 1}f} %" if number not in (0, 1) else f"{number:.0%}".replace("%", " %")


def _change(share: float) -> str:
    """Format a change in percent; only an unchanged figure is shown as 0 %.

    >>> _change(-0.0471), _change(0.00001), _change(0.0)
    ('−4.7 %', '+0.001 %', '±0 %')
    """
    if not share:
        return "±0 %"
    percent = share * 100
    text = f"{percent:+.1f}" if abs(percent) >= 0.05 else f"{percent:+.1g}"
    return f"{text.replace('-', '−', 1)} %"


def check_metric(name: str, *, of_group: bool) -> None:
    """Raise `ConfigError` for an unknown metric, with the nearest names as a hint."""
    if name == GINI and of_group:
        raise ConfigError(
            f"{name} is computed over all groups together", hint=f"write {name} without a group"
        )
    if name not in (PREMIUM, GINI):
        metric_named(name, others=(PREMIUM, GINI))


def parse_threshold(text: str, *, bound: Bound) -> Threshold:
    """Parse a threshold: METRIC=NUMBER, or GROUP:METRIC=NUMBER; a number may be a percentage.

    Raises:
        ConfigError: the syntax is wrong, the metric is unknown, or the limit is out of its range.

    >>> parse_threshold("de:unk_rate=1%", bound="max").limit
    0.01
    """
    name, equals, number = text.rpartition("=")
    if not equals:
        raise ConfigError(f"--{bound} {text!r} has no limit", hint=f"write --{bound} bytes_per_token=3.5")
    group, colon, metric = name.rpartition(":")
    metric = metric.strip()
    check_metric(metric, of_group=bool(colon))
    limit = parse_number(number)
    if (metric == GINI or (metric in METRICS and METRICS[metric].share)) and not 0 <= limit <= 1:
        is_percentage = 1 < limit <= 100 and "%" not in number
        raise ConfigError(
            f"{metric} is between 0 and 1, so that the limit {number.strip()} says nothing",
            hint=f"write {number.strip()}%" if is_percentage else "write 0.05, or 5%",
        )
    return Threshold(metric=metric, group=group if colon else None, bound=bound, limit=limit)


def parse_number(text: str) -> float:
    """Parse a number or a percentage. Raises `ConfigError`.

    >>> parse_number("1%"), parse_number("3.5")
    (0.01, 3.5)
    """
    plain = text.strip()
    try:
        # In decimal, as 99.9 / 100 would be more than 0.999: a figure of exactly that would miss its own limit.
        number = float(Decimal(plain[:-1]).scaleb(-2)) if plain.endswith("%") else float(plain)
    except (ValueError, ArithmeticError):
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"{text!r} is not a number", hint="write 3.5, or 1%")
    return number


def check_comparison(comparison: Comparison, thresholds: Sequence[Threshold]) -> tuple[ThresholdResult, ...]:
    """Check every tokenizer against the thresholds that apply to it.

    Raises:
        ConfigError: a threshold names a group that the corpus does not have.
    """
    return tuple(
        _finding(threshold, evaluated, gap=comparison.fairness_gap)
        for evaluated in comparison.tokenizers
        for threshold in thresholds
        if threshold.tokenizer in (None, evaluated.name)
    )


def _finding(threshold: Threshold, evaluated: EvaluatedTokenizer, *, gap: str | None) -> ThresholdResult:
    value = _value(threshold, evaluated)
    if value is None:
        why: str | None = "the text has nothing to divide by"
        if threshold.metric in (PREMIUM, GINI):
            fairness = evaluated.fairness
            is_blank = fairness is not None and threshold.group in fairness.without_text
            missing = "has no text on its aligned lines" if is_blank else "is not among the aligned languages"
            why = gap or f"it {missing}"
        return ThresholdResult(threshold, evaluated.name, None, passed=False, gap=why)
    passed = value >= threshold.limit if threshold.bound == "min" else value <= threshold.limit
    return ThresholdResult(threshold, evaluated.name, value, passed=passed)


def _value(threshold: Threshold, evaluated: EvaluatedTokenizer) -> float | None:
    if threshold.group is not None and threshold.group not in evaluated.groups:
        raise ConfigError(
            f"the corpus has no group {threshold.group!r}",
            hint=meant(threshold.group, sorted(evaluated.groups), otherwise="it has {}"),
        )
    fairness = evaluated.fairness
    if threshold.metric == GINI:
        return None if fairness is None else fairness.gini
    if threshold.metric == PREMIUM:
        if fairness is None:
            return None
        return fairness.max_premium if threshold.group is None else fairness.premiums.get(threshold.group)
    figures = evaluated.figures if threshold.group is None else evaluated.groups[threshold.group]
    return figures[threshold.metric].value


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check.

    Attributes:
        findings: the result of each threshold.
        aggregation: how the documents are combined into one figure.
        notes: remarks for the reader, one sentence each.
    """

    findings: tuple[ThresholdResult, ...]
    aggregation: Aggregation
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether all thresholds are satisfied."""
        return all(finding.passed for finding in self.findings)


def checked_document(checked: Checked) -> dict[str, Any]:
    """Return the JSON that `--json` prints, schema tokbench.check/1."""
    return {
        "schema": "tokbench.check/1",
        "passed": checked.passed,
        "aggregation": checked.aggregation,
        "notes": list(checked.notes),
        "findings": [
            {
                "tokenizer": finding.tokenizer,
                "metric": finding.threshold.metric,
                "group": finding.threshold.group,
                "bound": finding.threshold.bound,
                "limit": finding.threshold.limit,
                "value": finding.value,
                "was": finding.threshold.was,
                "change": finding.change,
                "passed": finding.passed,
                "gap": finding.gap,
            }
            for finding in checked.findings
        ],
    }
