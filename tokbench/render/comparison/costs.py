"""What tokenizers cost a model, as columns: one value for each tokenizer, or for each size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.evaluation.recommendation import described
from tokbench.evaluation.sentences import significant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokbench.evaluation.costs import Cost, TextCost
    from tokbench.metrics.cost import Model

_NONE = "–"


@dataclass(frozen=True, slots=True)
class CostColumn:
    """One kind of cost.

    Attributes:
        title: the head.
        name: as JSON calls it.
        meaning: its definition, in a line.
        values: None where the description of the model does not tell it.
        cells: as they are shown.
    """

    title: str
    name: str
    meaning: str
    values: tuple[float | None, ...]
    cells: tuple[str, ...]


def cost_columns(costs: Sequence[Cost]) -> Iterator[CostColumn]:
    """The costs that the description of the model tells, of the vocabulary and of all text."""
    yield from _known(
        "embedding",
        "embedding_bytes",
        "the embedding, shared with the output matrix",
        [cost.embedding_bytes for cost in costs],
        shown_megabytes,
    )
    yield from _known(
        "MFLOP/byte",
        "flops_per_byte",
        "what a byte of the text takes on its way through the model",
        [cost.flops_per_byte for cost in costs],
        lambda value: significant(value / 1e6),
    )
    yield from text_cost_columns([cost.text for cost in costs])


def text_cost_columns(costs: Sequence[TextCost]) -> Iterator[CostColumn]:
    """The same of some texts."""
    yield from _known(
        "chars/context",
        "context_chars",
        "characters that fit into the context",
        [cost.context_chars for cost in costs],
        lambda value: f"{value:,.0f}",
    )
    yield from _known(
        "price/M chars",
        "price_per_million_chars",
        "the price of a million characters",
        [cost.price_per_million_chars for cost in costs],
        significant,
    )
    yield from _known(
        "GFLOP/1k chars",
        "attention_flops_per_thousand_chars",
        "attending over a thousand characters",
        [cost.attention_flops for cost in costs],
        lambda value: significant(value / 1e9),
    )
    yield from _known(
        "KV/1k chars",
        "kv_cache_bytes_per_thousand_chars",
        "keys and values of a thousand characters",
        [cost.kv_cache_bytes for cost in costs],
        shown_megabytes,
    )


def group_cost_columns(cost: Cost) -> Iterator[CostColumn]:
    """What the text of each group costs, in the order of the groups."""
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
    """What computations are of; None where nothing is computed."""
    return None if model.dim is None else f"MFLOP/byte: {described(model)}"


def _known(
    title: str, name: str, meaning: str, values: Sequence[float | None], shown: Callable[[float], str]
) -> Iterator[CostColumn]:
    if any(value is not None for value in values):
        cells = tuple(_NONE if value is None else shown(value) for value in values)
        yield CostColumn(title, name, meaning, tuple(values), cells)
