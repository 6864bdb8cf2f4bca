"""Bounds that a tokenizer must keep, for checks that run by themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tokbench.errors import ConfigError
from tokbench.evaluation.documents import SCHEMA
from tokbench.metrics.catalogue import METRICS, metric_named
from tokbench.near_names import meant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.evaluation.comparison import Comparison, Judged

Bound = Literal["min", "max"]
_FAIRNESS = {"premium": "max_premium", "gini": "gini"}


@dataclass(frozen=True, slots=True)
class Gate:
    """One bound.

    Attributes:
        metric: a name of the catalogue, "premium" (the largest one) or "gini".
        group: the group whose figure it is; None for all text.
        bound: whether the figure may not fall below or rise above the limit.
        limit: the limit itself is allowed.
        reason: where it comes from, as the user wrote it.
        tokenizer: the one that it holds for; None for all.
    """

    metric: str
    group: str | None
    bound: Bound
    limit: float
    reason: str
    tokenizer: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a gate for one tokenizer.

    Attributes:
        gate: the gate.
        tokenizer: the name.
        value: the figure; None where there is none, which fails.
        passed: whether the bound is kept.
        gap: why there is no figure, where that is known.
    """

    gate: Gate
    tokenizer: str
    value: float | None
    passed: bool
    gap: str | None = None

    @property
    def message(self) -> str:
        """What was found, in a line."""
        what = self.gate.metric if self.gate.group is None else f"{self.gate.metric} of {self.gate.group}"
        sign = ">=" if self.gate.bound == "min" else "<="
        limit = _written(self.gate.limit)
        value = "there is none" if self.value is None else _written(self.value)
        if self.gap is not None:
            value = f"{value}: {self.gap}"
        if not self.passed and limit == value:  # what differs is to be seen
            limit, value = f"{self.gate.limit!r}", f"{self.value!r}"
        return f"{self.tokenizer}: {what} is to be {sign} {limit} ({self.gate.reason}): {value}"


def _written(number: float) -> str:
    """With six digits, or with all where these would make it 0 or 1.

    >>> _written(2 / 3), _written(0.99999996), _written(1.0)
    ('0.666667', '0.99999996', '1')
    """
    short = f"{number:.6g}"
    return repr(number) if float(short) in (0, 1) and float(short) != number else short


def parse_gate(text: str, *, bound: Bound) -> Gate:
    """A gate as it is written: METRIC=NUMBER, or GROUP:METRIC=NUMBER; a number may be a percentage.

    Raises:
        ConfigError: something else, or a metric that there is not, with the nearest names.

    >>> parse_gate("de:unk_rate=1%", bound="max").limit
    0.01
    """
    name, equals, number = text.rpartition("=")
    if not equals:
        raise ConfigError(f"--{bound} {text!r} has no limit", hint=f"write --{bound} bytes_per_token=3.5")
    group, colon, metric = name.rpartition(":")
    metric = metric.strip()
    if metric not in _FAIRNESS:
        metric_named(metric)
    elif colon:
        raise ConfigError(f"{metric} is a figure of all groups together", hint=f"write --{bound} {metric}=…")
    return Gate(
        metric=metric,
        group=group if colon else None,
        bound=bound,
        limit=parse_number(number),
        reason=f"--{bound}",
    )


def parse_number(text: str) -> float:
    """A number, or a percentage of one. Raises `ConfigError`.

    >>> parse_number("1%"), parse_number("3.5")
    (0.01, 3.5)
    """
    plain = text.strip()
    try:
        number = float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"{text!r} is no number", hint="write 3.5, or 1%")
    return number


def gates_from(saved: Mapping[str, Any], *, tolerance: float, names: Sequence[str]) -> Iterator[Gate]:
    """The figures of an older comparison as bounds: none may be worse than it was, by more than the tolerance.

    Args:
        saved: what `tokbench compare --json` printed.
        tolerance: a share of the older figure.
        names: the tokenizers that are judged now; one that was called otherwise then is taken for the
            only one of the older comparison.

    Raises:
        ConfigError: it is no such document, or has no such tokenizer.
    """
    if not isinstance(saved, dict) or saved.get("schema") != SCHEMA:
        raise ConfigError(
            f"the baseline is no {SCHEMA} document", hint="write it with `tokbench compare --json`"
        )
    if tolerance < 0:
        raise ConfigError(f"a tolerance of {tolerance:.2%} is below 0", hint="write 0, or a share as 1%")
    try:
        older = {one["name"]: one["metrics"] for one in saved["tokenizers"]}
        for name in names:
            yield from _older_gates(_figures_of(name, older), tokenizer=name, tolerance=tolerance)
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"the baseline is damaged: {error!r}", hint="write it again with `tokbench compare --json`"
        ) from None


def text_of(saved: Mapping[str, Any]) -> str | None:
    """The fingerprint of the text that an older comparison was made on; None where it does not say."""
    corpus = saved.get("corpus")
    return corpus.get("fingerprint") if isinstance(corpus, dict) else None


def _figures_of(name: str, older: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    if name in older:
        return older[name]
    if len(older) == 1:
        return next(iter(older.values()))
    raise ConfigError(f"the baseline has no tokenizer {name!r}", hint=f"it has {', '.join(older)}")


def _older_gates(figures: Mapping[str, Any], *, tokenizer: str, tolerance: float) -> Iterator[Gate]:
    for metric in METRICS.values():
        value = figures[metric.name]["value"] if metric.name in figures else None
        if metric.direction == "neither" or value is None:
            continue
        is_min = metric.direction == "higher"
        yield Gate(
            metric=metric.name,
            group=None,
            bound="min" if is_min else "max",
            limit=value - tolerance * abs(value) if is_min else value + tolerance * abs(value),
            reason=f"was {value:.6g}, tolerance {tolerance:.2%}",
            tokenizer=tokenizer,
        )


def check_gates(comparison: Comparison, gates: Sequence[Gate]) -> tuple[Finding, ...]:
    """Hold every tokenizer to every gate that is for it.

    Raises:
        ConfigError: a gate for a group that the corpus does not have.
    """
    return tuple(
        _finding(gate, judged, gap=comparison.fairness_gap)
        for judged in comparison.tokenizers
        for gate in gates
        if gate.tokenizer in (None, judged.name)
    )


def _finding(gate: Gate, judged: Judged, *, gap: str | None) -> Finding:
    value = _value(gate, judged)
    if value is None:
        why = gap if gate.metric in _FAIRNESS else "the text has nothing to divide by"
        return Finding(gate, judged.name, None, passed=False, gap=why)
    passed = value >= gate.limit if gate.bound == "min" else value <= gate.limit
    return Finding(gate, judged.name, value, passed=passed)


def _value(gate: Gate, judged: Judged) -> float | None:
    if gate.metric in _FAIRNESS:
        return None if judged.fairness is None else getattr(judged.fairness, _FAIRNESS[gate.metric])
    if gate.group is None:
        return judged.figures[gate.metric].value
    if gate.group not in judged.groups:
        raise ConfigError(
            f"the corpus has no group {gate.group!r}",
            hint=meant(gate.group, sorted(judged.groups), otherwise="it has {}"),
        )
    return judged.groups[gate.group][gate.metric].value


def findings_document(findings: Sequence[Finding]) -> dict[str, Any]:
    """As `--json` prints them: schema tokbench.check/1."""
    return {
        "schema": "tokbench.check/1",
        "passed": all(finding.passed for finding in findings),
        "findings": [
            {
                "tokenizer": finding.tokenizer,
                "metric": finding.gate.metric,
                "group": finding.gate.group,
                "bound": finding.gate.bound,
                "limit": finding.gate.limit,
                "value": finding.value,
                "passed": finding.passed,
                "gap": finding.gap,
            }
            for finding in findings
        ],
    }
