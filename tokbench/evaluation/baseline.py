"""Saved comparisons as baselines of `tokbench check`, whose figures become thresholds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import counted
from tokbench.errors import ConfigError
from tokbench.evaluation.comparison_json import SCHEMA
from tokbench.evaluation.figures import AGGREGATIONS
from tokbench.evaluation.thresholds import GINI, PREMIUM, Threshold, check_metric, parse_number
from tokbench.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from tokbench.evaluation.comparison import Comparison
    from tokbench.metrics.metric import Aggregation

_WRITE_AGAIN = "write it again with `tokbench compare --json`"
_EXCERPT = 40


@dataclass(frozen=True, slots=True)
class RegressionPolicy:
    """Which figures of the baseline are checked, and the tolerance for each.

    A figure is named METRIC, or GROUP:METRIC for one group, which takes precedence.

    Attributes:
        only: names of the figures to check; empty for all.
        excepted: names of the figures not to check.
        tolerance: share of the older figure by which any figure may be worse.
        tolerances: name → tolerance of that figure.
    """

    only: frozenset[str] = frozenset()
    excepted: frozenset[str] = frozenset()
    tolerance: float = 0.0
    tolerances: Mapping[str, float] = field(default_factory=dict)

    def holds(self, metric: str, group: str | None) -> bool:
        """Whether a figure is checked."""
        names = _names(metric, group)
        return (not self.only or not self.only.isdisjoint(names)) and self.excepted.isdisjoint(names)

    def check(self, known: Collection[str]) -> None:
        """Raise `ConfigError` for an unknown figure in `only`, or an unknown GROUP:METRIC in the other options."""
        of_groups = (name for name in (*self.excepted, *self.tolerances) if ":" in name)
        for name in (*sorted(self.only), *of_groups):
            if name not in known:
                raise ConfigError(
                    f"the baseline has no figure {name!r}",
                    hint="--only, --except and --tolerance name a METRIC that can become worse, or GROUP:METRIC",
                )

    def of(self, metric: str, group: str | None) -> float:
        """Return the tolerance of a figure, as a share."""
        known = (self.tolerances[name] for name in _names(metric, group) if name in self.tolerances)
        return next(known, self.tolerance)


def _names(metric: str, group: str | None) -> list[str]:
    """Return the names of a figure, the most specific one first."""
    return [metric] if group is None else [f"{group}:{metric}", metric]


def parse_policy(
    *, only: Iterable[str] = (), excepted: Iterable[str] = (), tolerances: Iterable[str] = ()
) -> RegressionPolicy:
    """Parse names of figures (METRIC, a comma-separated list, or GROUP:METRIC) and tolerances (SHARE or NAME=SHARE).

    Raises:
        ConfigError: a metric is unknown, or a share is below 0, or 1 and more without a percent sign.

    >>> held = parse_policy(only=["unk_rate"], tolerances=["1%", "de:unk_rate=5%"])
    >>> held.holds("unk_rate", "de"), held.holds("gini", None), held.of("unk_rate", "de"), held.of("unk_rate", "en")
    (True, False, 0.05, 0.01)
    """
    general = 0.0
    named: dict[str, float] = {}
    for text in tolerances:
        name, equals, share = text.rpartition("=")
        allowed = parse_number(share)
        if allowed < 0:
            raise ConfigError(
                f"a tolerance of {allowed:.2%} is below 0", hint="write 0, or a share such as 1%"
            )
        if allowed >= 1 and not share.strip().endswith("%"):
            raise ConfigError(
                f"a tolerance of {share.strip()} is {allowed:.0%} of the older figure, which hardly any figure exceeds",
                hint=f"write {share.strip()}% if that is meant, or else {allowed * 100:g}%",
            )
        if equals:
            named[_normalized_name(name)] = allowed
        else:
            general = allowed
    return RegressionPolicy(frozenset(_names_in(only)), frozenset(_names_in(excepted)), general, named)


def _names_in(texts: Iterable[str]) -> Iterator[str]:
    """Yield the names in some lists; a text with a group is one name, maybe with commas. Raises `ConfigError`."""
    for text in texts:
        names = [text] if ":" in text else text.split(",")
        yield from map(_normalized_name, names)


def _normalized_name(name: str) -> str:
    """Normalize the name of a figure. Raises `ConfigError` with the nearest names as a hint."""
    group, colon, metric = name.strip().rpartition(":")
    check_metric(metric.strip(), of_group=bool(colon))
    return f"{group}{colon}{metric.strip()}"


@dataclass(frozen=True, slots=True)
class SavedComparison:
    """A validated saved comparison.

    Attributes:
        aggregation: how the documents were combined into one figure.
        fingerprint: fingerprint of the documents; None if missing.
        documents: number of documents; None if missing.
        num_bytes: UTF-8 bytes of the documents; None if missing.
        arguments: the user's arguments that differ from the defaults.
        was_held_out: whether its text was held out of training.
        reference: the language that its premiums are relative to; None without premiums.
        tokenizers: name → its figures.
    """

    aggregation: Aggregation
    fingerprint: str | None
    documents: int | None
    num_bytes: int | None
    arguments: Mapping[str, Any]
    was_held_out: bool
    reference: str | None
    tokenizers: Mapping[str, _Figures]

    def thresholds(self, names: Sequence[str], policy: RegressionPolicy) -> Iterator[Threshold]:
        """Yield the figures as thresholds: metrics with a direction, on all text and by group, premiums and Gini.

        Args:
            names: names of the tokenizers evaluated now; an unknown name stands for the older comparison's
                tokenizer if there was only one.
            policy: the figures to check, and their tolerances.

        Raises:
            ConfigError: the older comparison has no such tokenizer or figure.
        """
        for name in names:
            figures = self._figures_of(name)
            policy.check(
                {name_of_figure for metric, group, *_ in figures for name_of_figure in _names(metric, group)}
            )
            for metric, group, is_min, value in figures:
                if not policy.holds(metric, group):
                    continue
                allowed = policy.of(metric, group) * abs(value)
                yield Threshold(
                    metric=metric,
                    group=group,
                    bound="min" if is_min else "max",
                    limit=value - allowed if is_min else value + allowed,
                    was=value,
                    tokenizer=name,
                )

    def _figures_of(self, name: str) -> _Figures:
        if name in self.tokenizers:
            return self.tokenizers[name]
        if len(self.tokenizers) == 1:
            return next(iter(self.tokenizers.values()))
        raise ConfigError(
            f"the baseline has no tokenizer {name!r}", hint=f"it has {', '.join(self.tokenizers)}"
        )


_Figures = list[tuple[str, str | None, bool, float]]
"""Metric, group, whether a higher value is better, and value of each figure."""


def read_saved(saved: Any) -> SavedComparison:
    """Validate the parsed output of `tokbench compare --json`. Raises `ConfigError`."""
    if not isinstance(saved, dict) or saved.get("schema") != SCHEMA:
        raise ConfigError(
            f"the baseline is not a {SCHEMA} document", hint="write it with `tokbench compare --json`"
        )
    try:
        corpus = saved.get("corpus") or {}
        aggregation = saved.get("aggregation", "pooled")
        if aggregation not in AGGREGATIONS:
            raise _DamagedError(f"{_excerpt(aggregation)} is no way to aggregate")
        fairness = [tokenizer["fairness"] for tokenizer in saved["tokenizers"] if tokenizer.get("fairness")]
        return SavedComparison(
            aggregation=aggregation,
            fingerprint=_of_type(corpus.get("fingerprint"), str),
            documents=_of_type(corpus.get("documents"), int),
            num_bytes=_of_type(corpus.get("bytes"), int),
            arguments=_of_type(saved.get("arguments"), dict) or {},
            was_held_out=saved.get("training") is not None,
            reference=_of_type(fairness[0]["reference"], str) if fairness else None,
            tokenizers={
                _of_type(tokenizer["name"], str) or "": list(_figures(tokenizer))
                for tokenizer in saved["tokenizers"]
            },
        )
    except KeyError as error:
        raise ConfigError(f"the baseline is damaged: {error} is missing", hint=_WRITE_AGAIN) from None
    except _DamagedError as error:
        raise ConfigError(f"the baseline is damaged: {error}", hint=_WRITE_AGAIN) from None
    except (TypeError, AttributeError, ValueError, OverflowError):
        raise ConfigError("the baseline is damaged: its parts have another form", hint=_WRITE_AGAIN) from None


class _DamagedError(Exception):
    """A value of a saved comparison is not of its type."""


_KINDS = {str: "a text", int: "a whole number", dict: "an object"}


def _excerpt(value: Any) -> str:
    """Return the beginning of a value as JSON."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"


def _of_type(value: Any, kind: type) -> Any:
    """Return a value that is None or of a type. Raises `_DamagedError` for another type."""
    if value is not None and not isinstance(value, kind):
        raise _DamagedError(f"{_excerpt(value)} is not {_KINDS[kind]}")
    return value


def _figures(one: Mapping[str, Any]) -> Iterator[tuple[str, str | None, bool, float]]:
    """Yield every figure of a tokenizer that can become worse; a single group is skipped, as it equals all text."""
    groups = list((one.get("groups") or {}).items())
    for group, figures in [(None, one["metrics"]), *groups]:
        for name, metric in METRICS.items():
            value = figures[name]["value"] if name in figures else None
            if group is not None and len(groups) == 1:
                continue
            if metric.direction != "neither" and value is not None:
                yield name, group, metric.direction == "higher", float(_number(value))
    fairness = one.get("fairness") or {}
    for group, premium in [(None, fairness.get("max_premium")), *(fairness.get("premiums") or {}).items()]:
        if premium is not None and group != fairness["reference"]:
            yield PREMIUM, group, False, float(_number(premium))
    if fairness.get("gini") is not None:
        yield GINI, None, False, float(_number(fairness["gini"]))


def _number(value: Any) -> float:
    """Return a finite number. Raises `_DamagedError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise _DamagedError(f"{_excerpt(value)} is not a number")
    return value


def other_text_error(saved: SavedComparison, comparison: Comparison) -> ConfigError:
    """Return the error for a corpus that is not the baseline's."""
    theirs = "another text"
    if saved.documents is not None and saved.num_bytes is not None:
        theirs = f"{saved.num_bytes:,} bytes in {counted(saved.documents, 'document')}"
    ours = f"{comparison.num_bytes:,} bytes in {counted(comparison.documents, 'document')}"
    if saved.was_held_out:
        theirs += ", held out of training"
    return ConfigError(
        f"this is not the baseline's text: {ours}, where the baseline has {theirs}",
        hint="name the baseline's text, with its --documents; or compare anyway (--other-text)",
    )
