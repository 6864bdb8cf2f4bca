"""Token premiums and the Gini coefficient over languages, defined on line-aligned text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.metrics.metric import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def premiums(tokens: Mapping[str, int], *, reference: str) -> dict[str, float | None]:
    """Return the token premium of each language: its tokens over those of the reference language on the same lines.

    Args:
        tokens: language → tokens of the lines that all of them share.
        reference: one of the languages.

    Returns:
        language → ratio of sums, 1 for the reference; None if the reference has no token.

    Source: Petrov et al. 2023, "Language Model Tokenizers Introduce Unfairness Between Languages".

    >>> premiums({"en": 100, "de": 130}, reference="en")
    {'en': 1.0, 'de': 1.3}
    """
    return {language: ratio(count, tokens[reference]) for language, count in tokens.items()}


def gini(values: Sequence[float]) -> float | None:
    """Return the Gini coefficient of tokens per aligned line over languages: 0 if all languages have equally many.

    Σ_i Σ_j |c_i - c_j| / (2 n² mean), summed in sorted order.

    Returns:
        A share in [0, 1); None for no value, or if all are 0.

    >>> gini([1, 1, 1]), gini([0, 0, 3])
    (0.0, 0.6666666666666666)
    """
    total, n = sum(values), len(values)
    weighted = sum((2 * rank - n - 1) * value for rank, value in enumerate(sorted(values), start=1))
    return ratio(weighted, n * total)
