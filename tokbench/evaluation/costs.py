"""Costs of a tokenizer for a model that the user describes: of its vocabulary, and of text by group."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.metrics.metric import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.metrics.metric import Tally

_WIDTH_FOR_A_LAYER = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The described properties of a model; None if unknown.

    Attributes:
        dim: width of an embedding.
        layers: number of attention layers.
        kv_heads: number of key-value heads per layer.
        head_dim: width of a head.
        context: context length in tokens.
        bytes_per_parameter: bytes of a weight and of a value in the KV cache.
        price: price of a million tokens, in the user's currency.
    """

    dim: int | None = None
    layers: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    context: int | None = None
    bytes_per_parameter: float = 2.0
    price: float | None = None


def embedding_bytes(vocab_size: int, model: Model, *, tied: bool) -> float | None:
    """Return the bytes of the embedding matrix and, unless tied, of the output matrix.

    >>> embedding_bytes(32_000, Model(dim=4096), tied=False)
    524288000.0
    """
    if model.dim is None:
        return None
    return vocab_size * model.dim * model.bytes_per_parameter * (1 if tied else 2)


def kv_cache_bytes(tokens: float, model: Model) -> float | None:
    """Return the bytes of the KV cache: 2 × layers × heads × head width × tokens × bytes per value.

    >>> kv_cache_bytes(1000, Model(layers=2, kv_heads=4, head_dim=8))
    256000.0
    """
    if model.layers is None or model.kv_heads is None or model.head_dim is None:
        return None
    return 2 * model.layers * model.kv_heads * model.head_dim * tokens * model.bytes_per_parameter


def attention_flops(tokens: float, model: Model) -> float | None:
    """Return the floating-point operations of attention over this many tokens at once.

    Each layer takes two products (queries by keys, weights by values) of tokens × tokens × width, with a
    multiplication and an addition each; a causal mask is not taken into account.

    >>> attention_flops(1000, Model(dim=8, layers=2))
    64000000.0
    """
    if model.dim is None or model.layers is None:
        return None
    return 4.0 * model.layers * model.dim * tokens**2


def layers_of(model: Model) -> int | None:
    """Return the number of layers; if unknown, the width divided by 64, as in GPT-2.

    >>> layers_of(Model(dim=768)), layers_of(Model(dim=768, layers=6)), layers_of(Model(layers=6))
    (12, 6, 6)
    """
    if model.layers is not None or model.dim is None:
        return model.layers
    return max(1, round(model.dim / _WIDTH_FOR_A_LAYER))


def flops_per_byte(vocab_size: int, bytes_per_token: float, model: Model) -> float | None:
    """Return the floating-point operations per byte of text in a decoder.

    Longer tokens lower the result, a larger vocabulary raises it. Each token takes a multiplication and an addition
    for each parameter of the layers (12 × width² each, as in GPT-2) and of the output matrix (vocabulary size ×
    width), and attends over a full context if its length is known.

    >>> flops_per_byte(1000, 4.0, Model(dim=64, layers=1))
    56576.0
    """
    layers = layers_of(model)
    if model.dim is None or layers is None or not bytes_per_token:
        return None
    parameters = 12 * layers * model.dim**2 + vocab_size * model.dim
    attending = 4 * layers * model.dim * (model.context or 0)
    return (2 * parameters + attending) / bytes_per_token


@dataclass(frozen=True, slots=True)
class TextCost:
    """The cost of some text.

    Attributes:
        context_chars: characters that fit into the context; None if its length is unknown.
        price_per_million_chars: price of a million characters; None if the price is unknown.
        attention_flops_per_thousand_chars: operations of attention; None if width or layers are unknown.
        kv_cache_bytes_per_thousand_chars: bytes of the KV cache; None if layers or heads are unknown.
    """

    context_chars: float | None
    price_per_million_chars: float | None
    attention_flops_per_thousand_chars: float | None
    kv_cache_bytes_per_thousand_chars: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of the vocabulary and of the text for the described model.

    Attributes:
        model: the described model.
        embedding_bytes: bytes of an embedding that is shared with the output matrix.
        untied_bytes: bytes of a separate embedding and output matrix.
        kv_cache_bytes: bytes of the KV cache of a full context.
        attention_flops: operations of attention over a full context.
        flops_per_byte: operations per byte of the text, see `flops_per_byte`.
        text: the cost of all text.
        groups: group → the cost of its text.
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
        """Whether the description suffices for at least one cost."""
        totals = (self.embedding_bytes, self.kv_cache_bytes, self.attention_flops)
        return any(cost is not None for cost in (*totals, *dataclasses.astuple(self.text)))


def cost_of(vocab_size: int, groups: Mapping[str, Tally], model: Model) -> Cost:
    """Compute the costs that the description of a model allows; other costs are None.

    Args:
        vocab_size: vocabulary size of the tokenizer.
        groups: group → the counts of its text; at least one.
        model: the described model.
    """
    num_bytes, chars, tokens = (
        sum(tally[name] for tally in groups.values()) for name in ("bytes", "chars", "tokens")
    )
    bytes_per_token = ratio(num_bytes, tokens)
    return Cost(
        model=model,
        embedding_bytes=embedding_bytes(vocab_size, model, tied=True),
        untied_bytes=embedding_bytes(vocab_size, model, tied=False),
        kv_cache_bytes=None if model.context is None else kv_cache_bytes(model.context, model),
        attention_flops=None if model.context is None else attention_flops(model.context, model),
        flops_per_byte=flops_per_byte(vocab_size, bytes_per_token or 0, model),
        text=text_cost(chars, tokens, model),
        groups={group: text_cost(tally["chars"], tally["tokens"], model) for group, tally in groups.items()},
    )


def text_cost(chars: int, tokens: int, model: Model) -> TextCost:
    """Compute the costs of text of this many characters and tokens that the description of a model allows.

    >>> cost = text_cost(300, 100, Model(context=2048, price=3.0))
    >>> cost.context_chars, cost.price_per_million_chars, cost.kv_cache_bytes_per_thousand_chars
    (6144.0, 1.0, None)
    """
    chars_per_token, tokens_per_char = ratio(chars, tokens), ratio(tokens, chars)
    context_chars = price = flops = cache = None
    if chars_per_token is not None and model.context is not None:
        context_chars = chars_per_token * model.context
    if tokens_per_char is not None:
        price = None if model.price is None else tokens_per_char * model.price
        flops = attention_flops(tokens_per_char * 1000, model)
        cache = kv_cache_bytes(tokens_per_char * 1000, model)
    return TextCost(context_chars, price, flops, cache)


def cost_document(found: Cost) -> dict[str, Any]:
    """Return the JSON of a cost, with the costs of all text at the top level and those of each group in `groups`."""
    totals = dataclasses.asdict(found)
    text, groups = totals.pop("text"), totals.pop("groups")
    del totals["model"]
    return {**totals, **text, "groups": groups}
