"""What a vocabulary and the length of its texts cost a model; the model is the user's, nothing is built in."""

from __future__ import annotations

from dataclasses import dataclass

from tokbench.metrics.ratios import ratio


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
        price: of a thousand tokens, in the user's currency.
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


def kv_cache_bytes(tokens: int, model: Model) -> float | None:
    """The keys and values of so many tokens: 2 × layers × heads × head width × tokens × bytes.

    >>> kv_cache_bytes(1000, Model(layers=2, kv_heads=4, head_dim=8))
    256000.0
    """
    if model.layers is None or model.kv_heads is None or model.head_dim is None:
        return None
    return 2 * model.layers * model.kv_heads * model.head_dim * tokens * model.bytes_per_parameter


def attention_flops(tokens: float, model: Model) -> float | None:
    """What attending over so many tokens at once takes: queries by keys, then weights by values.

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

    >>> price_per_million_chars(300, 100, Model(price=0.003))
    1.0
    """
    if model.price is None:
        return None
    tokens_per_char = ratio(tokens, chars)
    return None if tokens_per_char is None else tokens_per_char * 1e6 / 1000 * model.price
