"""The cost of a tokenizer to a model that the user describes: of its vocabulary, and of text by group."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.metrics import cost
from tokbench.metrics.metric import ratio

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tokbench.metrics.cost import Model
    from tokbench.metrics.tally import Tally


@dataclass(frozen=True, slots=True)
class TextCost:
    """What some text costs.

    Attributes:
        context_chars: characters that fit into the context; None without one.
        price_per_million_chars: None without a price.
        attention_flops: of attending over a thousand characters; None without width and layers.
        kv_cache_bytes: of a thousand characters; None without layers, heads and their width.
    """

    context_chars: float | None
    price_per_million_chars: float | None
    attention_flops: float | None
    kv_cache_bytes: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What the vocabulary and the text cost the model that the user described.

    Attributes:
        model: as described.
        embedding_bytes: of the embedding, shared with the output matrix.
        untied_bytes: of both, where they are two.
        kv_cache_bytes: of a full context.
        attention_flops: of attending over a full context.
        flops_per_byte: what a byte of the text takes on its way through the model, see `metrics.cost.flops_per_byte`.
        text: what all text costs.
        groups: group → what its text costs.
    """

    model: Model
    embedding_bytes: float | None
    untied_bytes: float | None
    kv_cache_bytes: float | None
    attention_flops: float | None
    flops_per_byte: float | None
    text: TextCost
    groups: Mapping[str, TextCost]

    @property
    def is_known(self) -> bool:
        """Whether the description was enough for any of it."""
        totals = (self.embedding_bytes, self.kv_cache_bytes, self.attention_flops)
        return any(one is not None for one in (*totals, *dataclasses.astuple(self.text)))


def cost_of(vocab_size: int, groups: Mapping[str, Tally], model: Model) -> Cost:
    """What follows from the description of a model; None for what that does not say.

    Args:
        vocab_size: of the tokenizer.
        groups: group → what was counted of its text; at least one.
        model: as described.
    """
    num_bytes, tokens = (sum(tally[name] for tally in groups.values()) for name in ("bytes", "tokens"))
    bytes_per_token = ratio(num_bytes, tokens)
    return Cost(
        model=model,
        embedding_bytes=cost.embedding_bytes(vocab_size, model, tied=True),
        untied_bytes=cost.embedding_bytes(vocab_size, model, tied=False),
        kv_cache_bytes=None if model.context is None else cost.kv_cache_bytes(model.context, model),
        attention_flops=None if model.context is None else cost.attention_flops(model.context, model),
        flops_per_byte=cost.flops_per_byte(vocab_size, bytes_per_token or 0, model),
        text=_text_cost(groups.values(), model),
        groups={group: _text_cost([tally], model) for group, tally in groups.items()},
    )


def _text_cost(tallies: Collection[Tally], model: Model) -> TextCost:
    chars, tokens = (sum(tally[name] for tally in tallies) for name in ("chars", "tokens"))
    return TextCost(
        context_chars=cost.context_chars(chars, tokens, model),
        price_per_million_chars=cost.price_per_million_chars(chars, tokens, model),
        attention_flops=cost.attention_flops_per_thousand_chars(chars, tokens, model),
        kv_cache_bytes=cost.kv_cache_bytes_per_thousand_chars(chars, tokens, model),
    )


def cost_document(found: Cost) -> dict[str, Any]:
    """As a part of `--json`: what all text costs stands beside what each group does."""
    return {
        "embedding_bytes": found.embedding_bytes,
        "untied_bytes": found.untied_bytes,
        "kv_cache_bytes": found.kv_cache_bytes,
        "attention_flops": found.attention_flops,
        "flops_per_byte": found.flops_per_byte,
        **_text_document(found.text),
        "groups": {group: _text_document(text) for group, text in found.groups.items()},
    }


def _text_document(text: TextCost) -> dict[str, Any]:
    return {
        "context_chars": text.context_chars,
        "price_per_million_chars": text.price_per_million_chars,
        "attention_flops_per_thousand_chars": text.attention_flops,
        "kv_cache_bytes_per_thousand_chars": text.kv_cache_bytes,
    }
