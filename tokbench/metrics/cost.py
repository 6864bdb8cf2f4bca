"""The cost of a vocabulary and its tokens to a model that the user describes: memory, FLOPs, price."""

from __future__ import annotations

from dataclasses import dataclass

from tokbench.metrics.metric import ratio

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
