"""Fairness between languages: token premiums and the Gini coefficient on aligned lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.wording import meant
from tokbench.errors import ConfigError
from tokbench.metrics.bootstrap import Resampled, resamples
from tokbench.metrics.metric import DOCUMENT_COUNTS, ratio
from tokbench.metrics.unit_counts import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.evaluation.counting_pass import Evaluation
    from tokbench.evaluation.units import Alignment
    from tokbench.metrics.bootstrap import Interval

_TOKENS = DOCUMENT_COUNTS.index("tokens")
_ENGLISH = ("en", "eng", "english", "en-us", "eng_latn")


@dataclass(frozen=True, slots=True)
class Fairness:
    """Token premiums and the Gini coefficient of one tokenizer.

    Attributes:
        reference: the language that premiums are relative to.
        lines: number of aligned lines of each language; premiums use the lines with text in every language.
        without_text: languages whose lines are all blank; they have no premium and are otherwise ignored.
        incomplete_lines: number of lines with text in some languages only, which premiums leave out.
        premiums: language → its tokens relative to the reference's; None for a language without text.
        max_premium: the largest premium.
        worst_language: the language with the largest premium.
        gini: Gini coefficient of the tokens per aligned line over the languages; None for fewer than two with text.
        left_out: groups of translations with a different number of lines.
        resampled: "gini" and the `_key` of each language with a premium → that figure in resamples of aligned lines;
            empty for too few lines.
    """

    reference: str
    lines: int
    premiums: Mapping[str, float | None]
    max_premium: float | None
    worst_language: str | None
    gini: float | None
    left_out: tuple[str, ...]
    incomplete_lines: int = 0
    without_text: tuple[str, ...] = ()
    resampled: Mapping[str, Resampled] = field(default_factory=dict, compare=False, repr=False)

    @property
    def complete_lines(self) -> int:
        """Number of lines that premiums use."""
        return self.lines - self.incomplete_lines

    def premium_interval(self, language: str) -> Interval | None:
        """Return the 95 % interval of a premium; None for the reference, and for too few lines."""
        found = self.resampled.get(_key(language))
        return None if found is None else found.interval

    @property
    def gini_interval(self) -> Interval | None:
        """The 95 % interval of the Gini coefficient; None for too few lines."""
        return self.resampled["gini"].interval if "gini" in self.resampled else None


def reference_of(evaluation: Evaluation, alignment: Alignment, *, wanted: str | None = None) -> str:
    """Return the reference language: the wanted one, else English, else the one with the fewest tokens.

    Raises:
        ConfigError: the wanted language is not aligned, or has no text.
    """
    languages = [language for language in alignment.languages if language in evaluation.groups]
    if wanted is not None and wanted not in languages:
        known = wanted in alignment.languages
        raise ConfigError(
            f"the reference language {wanted!r} {'has no text' if known else 'is not among the aligned ones'}",
            hint=meant(wanted, languages),
        )
    english = next((language for language in languages if language.lower() in _ENGLISH), None)
    complete, _ = _complete_lines(evaluation, languages)
    return wanted or english or min(languages, key=_tokens_of(evaluation, languages, complete).__getitem__)


def fairness_of(evaluation: Evaluation, alignment: Alignment, *, reference: str, seed: int = 0) -> Fairness:
    """Compute the premiums and the Gini coefficient of one tokenizer.

    Args:
        evaluation: the counts with each aligned line as a document.
        alignment: the aligned languages.
        reference: the language that premiums are relative to.
        seed: seed of the resampling of lines, each with all its languages.
    """
    complete, incomplete = _complete_lines(evaluation, alignment.languages)
    tokens = _tokens_of(evaluation, alignment.languages, complete)
    found = {**dict.fromkeys(alignment.languages), **premiums(tokens, reference=reference)}
    known = {group: premium for group, premium in found.items() if premium is not None}
    worst = max(known, key=lambda group: known[group], default=None)
    coefficient = gini([count / alignment.lines for count in tokens.values()]) if len(tokens) > 1 else None
    return Fairness(
        reference=reference,
        lines=alignment.lines,
        premiums=found,
        max_premium=None if worst is None else known[worst],
        worst_language=worst,
        gini=coefficient,
        left_out=alignment.left_out,
        incomplete_lines=incomplete,
        without_text=tuple(language for language in alignment.languages if language not in tokens),
        resampled=_resampled(evaluation, known, coefficient, complete, reference=reference, seed=seed),
    )


def _complete_lines(evaluation: Evaluation, languages: Iterable[str]) -> tuple[NDArray[np.uint64], int]:
    """Return the keys of the lines with text in every language, and the number of lines with text in some only.

    Otherwise a translation that ends early would look like a cheap language. Languages without text are ignored.
    """
    found = [evaluation.group_units[name].keys for name in languages if name in evaluation.group_units]
    lines, count = np.unique(np.concatenate([np.empty(0, np.uint64), *found]), return_counts=True)
    return lines[count == len(found)], int((count < len(found)).sum())


def _tokens_of(
    evaluation: Evaluation, languages: Iterable[str], complete: NDArray[np.uint64]
) -> dict[str, int]:
    """Count the tokens of each language with text, over the complete lines."""
    units = {name: evaluation.group_units[name] for name in languages if name in evaluation.group_units}
    return {name: int(counts.only(complete).counts[:, _TOKENS].sum()) for name, counts in units.items()}


def _key(language: str) -> str:
    """Return the key of a language in `Fairness.resampled`, distinct from "gini" even for a language of that name."""
    return f"premium of {language}"


def _resampled(
    evaluation: Evaluation,
    known: Mapping[str, float],
    coefficient: float | None,
    complete: NDArray[np.uint64],
    *,
    reference: str,
    seed: int,
) -> dict[str, Resampled]:
    units = [evaluation.group_units[language].only(complete) for language in known]
    drawn = resamples(joined(units), seed=seed) if units else None
    if drawn is None or coefficient is None:
        return {}
    sums = {language: drawn.sums(counts)[:, _TOKENS] for language, counts in zip(known, units, strict=True)}
    found = {"gini": Resampled(coefficient, _ginis(np.stack(list(sums.values()))), drawn.num_units)}
    if sums[reference].all():
        for language, premium in known.items():
            if language != reference:
                values = sums[language] / sums[reference]
                found[_key(language)] = Resampled(premium, values, drawn.num_units)
    return found


def _ginis(tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute `gini` of each column: float64[languages, R] to float64[R]."""
    count = len(tokens)
    ranks = 2 * np.arange(1, count + 1) - count - 1
    return np.asarray(ranks @ np.sort(tokens, axis=0) / (count * tokens.sum(axis=0)), dtype=np.float64)


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
