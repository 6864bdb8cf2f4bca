"""What tokenizers cost a model, as columns: one value for each tokenizer, or for each size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.evaluation.recommendation import described
from tokbench.evaluation.sentences import significant
from tokbench.render.table import Column, known_columns, value_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.evaluation.costs import Cost, TextCost
    from tokbench.metrics.cost import Model


def cost_columns(costs: Sequence[Cost]) -> list[Column]:
    """The costs that the description of the model tells, of the vocabulary and of all text."""
    return known_columns(
        value_column(
            "embedding",
            [cost.embedding_bytes for cost in costs],
            shown_megabytes,
            name="embedding_bytes",
            meaning="the embedding, shared with the output matrix",
            first="ascending",
        ),
        value_column(
            "MFLOP/byte",
            [cost.flops_per_byte for cost in costs],
            lambda value: significant(value / 1e6),
            name="flops_per_byte",
            meaning="what a byte of the text takes on its way through the model",
            first="ascending",
        ),
        *text_cost_columns([cost.text for cost in costs]),
    )


def text_cost_columns(costs: Sequence[TextCost]) -> list[Column]:
    """The same of some texts."""
    return known_columns(
        value_column(
            "chars/context",
            [cost.context_chars for cost in costs],
            lambda value: f"{value:,.0f}",
            name="context_chars",
            meaning="characters that fit into the context",
            first="ascending",
        ),
        value_column(
            "price/M chars",
            [cost.price_per_million_chars for cost in costs],
            significant,
            name="price_per_million_chars",
            meaning="the price of a million characters",
            first="ascending",
        ),
        value_column(
            "GFLOP/1k chars",
            [cost.attention_flops for cost in costs],
            lambda value: significant(value / 1e9),
            name="attention_flops_per_thousand_chars",
            meaning="attending over a thousand characters",
            first="ascending",
        ),
        value_column(
            "KV/1k chars",
            [cost.kv_cache_bytes for cost in costs],
            shown_megabytes,
            name="kv_cache_bytes_per_thousand_chars",
            meaning="keys and values of a thousand characters",
            first="ascending",
        ),
    )


def group_cost_columns(cost: Cost) -> list[Column]:
    """Model cost by group, in the order of the groups."""
    return text_cost_columns(list(cost.groups.values()))


def model_totals(cost: Cost) -> Iterator[tuple[str, str]]:
    """What is known of the costs of the vocabulary and of a full context, as it is shown."""
    sizes = (
        ("embedding", cost.embedding_bytes),
        ("embedding and output", cost.untied_bytes),
        ("KV cache of a context", cost.kv_cache_bytes),
    )
    yield from ((label, shown_megabytes(size)) for label, size in sizes if size is not None)
    if cost.attention_flops is not None:
        yield "attention over a context", f"{cost.attention_flops / 1e9:,.1f} GFLOP"
    if cost.flops_per_byte is not None:
        yield "a byte of the text", f"{significant(cost.flops_per_byte / 1e6)} MFLOP"


def shown_megabytes(num_bytes: float) -> str:
    """Bytes in millions.

    >>> shown_megabytes(8_190_000)
    '8.2 MB'
    """
    return f"{num_bytes / 1e6:,.1f} MB"


def model_of(model: Model) -> str | None:
    """The model that computations are for; None where nothing is computed."""
    return None if model.dim is None else f"MFLOP/byte: {described(model)}"
