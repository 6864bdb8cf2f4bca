"""Explanations of all figures for `--metrics help`: name, unit, direction and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from tokbench.metrics.metric import Direction

UNITS = {
    "bytes_per_token": "bytes/token",
    "chars_per_token": "characters/token",
    "tokens_per_word": "tokens/word",
    "tokens_per_line": "tokens/line",
    "average_rank": "rank",
    "tokens_per_number": "tokens/number",
    "indentation_tokens_per_line": "tokens/line",
}
"""The units of the metrics that are not shares."""


@dataclass(frozen=True, slots=True)
class Explained:
    """The explanation of a figure.

    Attributes:
        name: its name in JSON, CSV and `--metrics`.
        title: its name in the heads of tables.
        unit: its unit.
        direction: which direction is better.
        meaning: its definition, in one line.
        is_chosen: whether `--metrics` can select it; other figures are shown where they apply.
    """

    name: str
    title: str
    unit: str
    direction: Direction
    meaning: str
    is_chosen: bool = True


def _extra_figure(name: str, title: str, unit: str, direction: Direction, meaning: str) -> Explained:
    return Explained(name, title, unit, direction, meaning, is_chosen=False)


BESIDE = (
    _extra_figure(
        "relative_tokens",
        "tokens",
        "ratio",
        "lower",
        "tokens of all text over those of the baseline; cost is proportional to it",
    ),
    _extra_figure(
        "premium",
        "over …",
        "ratio",
        "lower",
        "tokens of a language over those of the reference on the same aligned lines",
    ),
    _extra_figure("max_premium", "max premium", "ratio", "lower", "the largest premium, with its language"),
    _extra_figure(
        "gini",
        "Gini",
        "0 to 1",
        "lower",
        "inequality between languages of the tokens per aligned line; 0 is equal",
    ),
    _extra_figure(
        "tokens_per_byte",
        "tokens/byte",
        "tokens/byte",
        "lower",
        "tokens over bytes of each group of the mix, weighted by its share (--mix)",
    ),
    _extra_figure(
        "price_per_million_bytes",
        "price/MB",
        "your currency",
        "lower",
        "cost of a million bytes of the mix (--mix, --price)",
    ),
    _extra_figure(
        "embedding_bytes",
        "embedding",
        "bytes",
        "lower",
        "vocabulary size × width × bytes of a parameter (--model-dim)",
    ),
    _extra_figure(
        "flops_per_byte",
        "MFLOP/byte",
        "FLOP/byte",
        "lower",
        "forward computation per byte: 2 × (12 × layers × width² + vocabulary size × width) plus attention "
        "over a full context, divided by bytes per token (--model-dim, --layers, --context)",
    ),
    _extra_figure(
        "context_chars",
        "chars/context",
        "characters",
        "higher",
        "characters of the text that fit into the context (--context)",
    ),
    _extra_figure(
        "price_per_million_chars",
        "price/M chars",
        "your currency",
        "lower",
        "cost of a million characters of the text (--price)",
    ),
    _extra_figure(
        "attention_flops_per_thousand_chars",
        "GFLOP/1k chars",
        "FLOP",
        "lower",
        "attention over a thousand characters (--model-dim, --layers)",
    ),
    _extra_figure(
        "kv_cache_bytes_per_thousand_chars",
        "KV/1k chars",
        "bytes",
        "lower",
        "keys and values of a thousand characters (--layers, --kv-heads, --head-dim)",
    ),
    _extra_figure("loading_seconds", "loading", "seconds", "lower", "time to open the tokenizer"),
    _extra_figure("training_seconds", "training", "seconds", "lower", "time to train the tokenizer"),
    _extra_figure("peak_bytes", "peak", "bytes", "lower", "peak memory of its training"),
    _extra_figure(
        "throughput", "MB/s", "MB/s", "higher", "text encoded on one thread, median of several runs"
    ),
)
"""The figures that are shown beside the metrics."""


def explained() -> tuple[Explained, ...]:
    """Return the explanations of all figures: the metrics, and the figures shown beside them.

    >>> [(one.name, one.unit, one.direction) for one in explained()][0]
    ('bytes_per_token', 'bytes/token', 'higher')
    """
    metrics = (
        Explained(
            metric.name,
            metric.title,
            "share" if metric.share else UNITS[metric.name],
            metric.direction,
            metric.meaning,
        )
        for metric in METRICS.values()
    )
    return (*metrics, *BESIDE)
