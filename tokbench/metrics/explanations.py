"""All figures as `--metrics help` explains them: the metrics, and those beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from tokbench.metrics.metric import Direction, Metric


@dataclass(frozen=True, slots=True)
class Explained:
    """A figure that is shown beside the metrics where it applies; its attributes are those of `Metric`."""

    name: str
    title: str
    unit: str
    meaning: str
    direction: Direction = "lower"


BESIDE = (
    Explained(
        "relative_tokens",
        "tokens",
        "ratio",
        "tokens of all text over those of the baseline; cost is proportional to it",
    ),
    Explained(
        "premium",
        "over …",
        "ratio",
        "tokens of a language over those of the reference on the same aligned lines",
    ),
    Explained("max_premium", "max premium", "ratio", "the largest premium, with its language"),
    Explained(
        "gini", "Gini", "0 to 1", "inequality between languages of the tokens per aligned line; 0 is equal"
    ),
    Explained(
        "tokens_per_byte",
        "tokens/byte",
        "tokens/byte",
        "tokens over bytes of each group of the mix, weighted by its share (--mix)",
    ),
    Explained(
        "price_per_million_bytes",
        "price/MB",
        "your currency",
        "cost of a million bytes of the mix (--mix, --price)",
    ),
    Explained(
        "embedding_bytes",
        "embedding",
        "bytes",
        "vocabulary size × width × bytes of a parameter (--model-dim)",
    ),
    Explained(
        "flops_per_byte",
        "MFLOP/byte",
        "FLOP/byte",
        "forward computation per byte: 2 × (12 × layers × width² + vocabulary size × width) plus attention "
        "over a full context, divided by bytes per token (--model-dim, --layers, --context)",
    ),
    Explained(
        "context_chars",
        "chars/context",
        "characters",
        "characters of the text that fit into the context (--context)",
        "higher",
    ),
    Explained(
        "price_per_million_chars",
        "price/M chars",
        "your currency",
        "cost of a million characters of the text (--price)",
    ),
    Explained(
        "attention_flops_per_thousand_chars",
        "GFLOP/1k chars",
        "FLOP",
        "attention over a thousand characters (--model-dim, --layers)",
    ),
    Explained(
        "kv_cache_bytes_per_thousand_chars",
        "KV/1k chars",
        "bytes",
        "keys and values of a thousand characters (--layers, --kv-heads, --head-dim)",
    ),
    Explained("loading_seconds", "loading", "seconds", "time to open the tokenizer"),
    Explained("training_seconds", "training", "seconds", "time to train the tokenizer"),
    Explained("peak_bytes", "peak", "bytes", "peak memory of its training"),
    Explained("throughput", "MB/s", "MB/s", "text encoded on one thread, median of several runs", "higher"),
)
"""The figures that are shown beside the metrics."""

EXPLAINED: tuple[Metric | Explained, ...] = (*METRICS.values(), *BESIDE)
"""All figures."""
