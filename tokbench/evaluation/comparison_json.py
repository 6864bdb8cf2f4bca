"""Conversion of comparisons to JSON, schema tokbench.compare/1."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tokbench.evaluation.costs import cost_document
from tokbench.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.core.time_and_memory import Throughput
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.evaluation.fairness import Fairness
    from tokbench.evaluation.figures import Figure
    from tokbench.evaluation.mix import Mix
    from tokbench.metrics.bootstrap import Interval
    from tokbench.metrics.metric import Metric, Tally

SCHEMA = "tokbench.compare/1"


def comparison_document(comparison: Comparison, *, metrics: Sequence[Metric] | None = None) -> dict[str, Any]:
    """Return a comparison as a JSON document, with all metrics or only those in `metrics`.

    Each tokenizer has `metrics` (name → value and intervals, over all text) and `groups` (group → the
    same); `counts` and `group_counts` are the counts that their ratios are computed from.
    """
    chosen = list(METRICS.values()) if metrics is None else list(metrics)
    return {
        "schema": SCHEMA,
        "aggregation": comparison.aggregation,
        "baseline": comparison.baseline,
        "seed": comparison.seed,
        "corpus": {
            "documents": comparison.documents,
            "bytes": comparison.num_bytes,
            "units": dict(comparison.units),
            "fingerprint": comparison.provenance.corpus,
        },
        "arguments": dict(comparison.provenance.arguments),
        "versions": dict(comparison.provenance.versions),
        "warnings": list(comparison.provenance.warnings),
        "metrics": {
            metric.name: {"meaning": metric.meaning, "direction": metric.direction, "share": metric.share}
            for metric in chosen
        },
        "training": None
        if comparison.training_setup is None
        else dataclasses.asdict(comparison.training_setup),
        "tokenizers": [
            {
                **_tokenizer(tokenizer, chosen),
                "vocabulary_sha256": comparison.provenance.vocabularies[tokenizer.name],
            }
            for tokenizer in comparison.tokenizers
        ],
        "fairness_gap": comparison.fairness_gap,
        "interval_gap": comparison.interval_gap,
        "group_interval_gaps": dict(comparison.group_interval_gaps),
        "summary": list(comparison.summary),
        "mix": None if comparison.mix is None else mix_document(comparison.mix, comparison.mix_summary),
    }


def _tokenizer(evaluated: EvaluatedTokenizer, metrics: Sequence[Metric]) -> dict[str, Any]:
    candidate, evaluation = evaluated.candidate, evaluated.evaluation
    info = candidate.tokenizer.info
    return {
        "name": evaluated.name,
        "backend": info.backend,
        "kernel": info.kernel,
        "vocab_size": info.vocab_size,
        "lossless": info.lossless,
        "training": {
            "seconds": candidate.training_seconds,
            "bytes": candidate.training_bytes,
            "peak_bytes": candidate.training_peak_bytes,
        },
        "notes": list(candidate.notes),
        "throughput": _throughput(evaluated.throughput),
        "loading_seconds": evaluated.loading_seconds,
        "relative_tokens": evaluated.relative_tokens,
        "relative_tokens_interval": _interval(evaluated.relative.interval),
        "cost": cost_document(evaluated.cost) if evaluated.cost.is_known else None,
        "mix": None if evaluated.mixed is None else figure_document(evaluated.mixed.tokens_per_byte),
        "word_unit": word_unit(evaluation.total),
        "counts": dict(evaluation.total.as_counts()),
        "metrics": {metric.name: figure_document(evaluated.figures[metric.name]) for metric in metrics},
        "groups": {
            group: {metric.name: figure_document(figures[metric.name]) for metric in metrics}
            for group, figures in evaluated.groups.items()
        },
        "group_word_units": {group: word_unit(tally) for group, tally in evaluation.groups.items()},
        "group_counts": {group: dict(tally.as_counts()) for group, tally in evaluation.groups.items()},
        "fairness": _fairness(evaluated.fairness),
        "failures": [dataclasses.asdict(failure) for failure in evaluation.failures],
    }


def mix_document(mix: Mix, summary: Sequence[str]) -> dict[str, Any]:
    """Return the JSON of a mix: its shares of bytes by group or folder of groups, and the sentences about its cost."""
    return {
        "unit": "tokens per byte",
        "shares": {part.name: part.share for part in mix.parts},
        "groups": {part.name: sorted(part.groups) for part in mix.parts},
        "summary": list(summary),
    }


def word_unit(tally: Tally) -> str | None:
    """Return what is counted as a word: "word", or "character" for scripts without spaces; None without words."""
    if not tally["words"]:
        return None
    return "character" if tally["unspaced_words"] * 2 > tally["words"] else "word"


def figure_document(figure: Figure) -> dict[str, Any]:
    """Return the JSON of a figure."""
    return {
        "value": figure.value,
        "interval": _interval(figure.interval),
        "difference": figure.difference,
        "difference_interval": _interval(figure.difference_interval),
        "distinguishable": figure.is_distinguishable,
    }


def _interval(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _fairness(fairness: Fairness | None) -> dict[str, Any] | None:
    if fairness is None:
        return None
    return {
        "reference": fairness.reference,
        "lines": fairness.lines,
        "incomplete_lines": fairness.incomplete_lines,
        "premiums": dict(fairness.premiums),
        "premium_intervals": {
            language: _interval(fairness.premium_interval(language)) for language in fairness.premiums
        },
        "max_premium": fairness.max_premium,
        "worst_language": fairness.worst_language,
        "gini": fairness.gini,
        "gini_interval": _interval(fairness.gini_interval),
        "left_out": list(fairness.left_out),
        "without_text": list(fairness.without_text),
    }


def _throughput(throughput: Throughput | None) -> dict[str, Any] | None:
    if throughput is None:
        return None
    return {
        "unit": "MB/s",
        "threads": 1,
        "cold": throughput.cold,
        "median": throughput.median,
        "low": throughput.low,
        "high": throughput.high,
        "bytes": throughput.num_bytes,
        "runs": throughput.runs,
        "all_threads": throughput.all_threads,
    }
