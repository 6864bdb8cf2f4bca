"""The cost of a tokenizer to a model that the user describes: of its vocabulary, and of text by group."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.metrics.metric import ratio

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tokbench.metrics.metric import Tally

_WIDTH_FOR_A_LAYER = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What is known of a model; None where it is not.

    Attributes:
        dim: the width of an embedding.
        layers: attention layers.
        kv_heads: key-value heads of a layer.
        head_dim: the width of a head.
        context: tokens that it can attend to.
        bytes_per_parameter: of weights and of the cache.
        price: of a million tokens, in the user's currency.
    """

    dim: int | None = None
    layers: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    context: int | None = None
    bytes_per_parameter: float = 2.0
    price: float | None = None


def embedding_bytes(vocab_size: int, model: Model, *, tied: bool) -> float | None:
    """The embedding matrix, and the output matrix too where it is another one.

    >>> embedding_bytes(32_000, Model(dim=4096), tied=False)
    524288000.0
    """
    if model.dim is None:
        return None
    return vocab_size * model.dim * model.bytes_per_parameter * (1 if tied else 2)


def kv_cache_bytes(tokens: float, model: Model) -> float | None:
    """The keys and values of this many tokens: 2 × layers × heads × head width × tokens × bytes.

    >>> kv_cache_bytes(1000, Model(layers=2, kv_heads=4, head_dim=8))
    256000.0
    """
    if model.layers is None or model.kv_heads is None or model.head_dim is None:
        return None
    return 2 * model.layers * model.kv_heads * model.head_dim * tokens * model.bytes_per_parameter


def attention_flops(tokens: float, model: Model) -> float | None:
    """What attending over this many tokens at once takes: queries by keys, then weights by values.

    Two products of tokens × tokens × width in each layer, a multiplication and an addition each;
    nothing is taken off for a causal mask.

    >>> attention_flops(1000, Model(dim=8, layers=2))
    64000000.0
    """
    if model.dim is None or model.layers is None:
        return None
    return 4.0 * model.layers * model.dim * tokens**2


def attention_flops_per_thousand_chars(chars: int, tokens: int, model: Model) -> float | None:
    """The same over a thousand characters of such text: it grows as the square of the tokens.

    >>> attention_flops_per_thousand_chars(200, 100, Model(dim=8, layers=2))
    16000000.0
    """
    tokens_per_char = ratio(tokens, chars)
    return None if tokens_per_char is None else attention_flops(tokens_per_char * 1000, model)


def kv_cache_bytes_per_thousand_chars(chars: int, tokens: int, model: Model) -> float | None:
    """The keys and values of a thousand characters of such text.

    >>> kv_cache_bytes_per_thousand_chars(200, 100, Model(layers=2, kv_heads=4, head_dim=8))
    128000.0
    """
    tokens_per_char = ratio(tokens, chars)
    return None if tokens_per_char is None else kv_cache_bytes(tokens_per_char * 1000, model)


def context_chars(chars: int, tokens: int, model: Model) -> float | None:
    """The characters of such text that fit into the context.

    >>> context_chars(300, 100, Model(context=2048))
    6144.0
    """
    if model.context is None:
        return None
    chars_per_token = ratio(chars, tokens)
    return None if chars_per_token is None else chars_per_token * model.context


def price_per_million_chars(chars: int, tokens: int, model: Model) -> float | None:
    """What a million characters of such text cost.

    >>> price_per_million_chars(300, 100, Model(price=3.0))
    1.0
    """
    if model.price is None:
        return None
    tokens_per_char = ratio(tokens, chars)
    return None if tokens_per_char is None else tokens_per_char * model.price


def layers_of(model: Model) -> int | None:
    """The attention layers, where they are not known one for each 64 of the width, as GPT-2 has them.

    >>> layers_of(Model(dim=768)), layers_of(Model(dim=768, layers=6)), layers_of(Model(layers=6))
    (12, 6, 6)
    """
    if model.layers is not None or model.dim is None:
        return model.layers
    return max(1, round(model.dim / _WIDTH_FOR_A_LAYER))


def flops_per_byte(vocab_size: int, bytes_per_token: float, model: Model) -> float | None:
    """What a byte of text takes on its way through a decoder: less in longer tokens, more in a larger vocabulary.

    Each token takes a multiplication and an addition for each parameter of the layers (12 × width² each, as in
    GPT-2) and of the output matrix (vocabulary size × width), and attends over a full context where that is known.

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
        flops_per_byte: what a byte of the text takes on its way through the model, see `flops_per_byte`.
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
        embedding_bytes=embedding_bytes(vocab_size, model, tied=True),
        untied_bytes=embedding_bytes(vocab_size, model, tied=False),
        kv_cache_bytes=None if model.context is None else kv_cache_bytes(model.context, model),
        attention_flops=None if model.context is None else attention_flops(model.context, model),
        flops_per_byte=flops_per_byte(vocab_size, bytes_per_token or 0, model),
        text=_text_cost(groups.values(), model),
        groups={group: _text_cost([tally], model) for group, tally in groups.items()},
    )


def _text_cost(tallies: Collection[Tally], model: Model) -> TextCost:
    chars, tokens = (sum(tally[name] for tally in tallies) for name in ("chars", "tokens"))
    return TextCost(
        context_chars=context_chars(chars, tokens, model),
        price_per_million_chars=price_per_million_chars(chars, tokens, model),
        attention_flops=attention_flops_per_thousand_chars(chars, tokens, model),
        kv_cache_bytes=kv_cache_bytes_per_thousand_chars(chars, tokens, model),
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
