"""Fairness between languages: token premiums and the Gini coefficient, on aligned lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.wording import meant
from tokbench.errors import ConfigError
from tokbench.metrics.bootstrap import Resampled, resamples
from tokbench.metrics.fairness import gini, premiums
from tokbench.metrics.metric import DOCUMENT_COUNTS
from tokbench.metrics.unit_counts import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from tokbench.evaluation.alignment import Alignment
    from tokbench.evaluation.counting_pass import Evaluation
    from tokbench.metrics.bootstrap import Interval

_TOKENS = DOCUMENT_COUNTS.index("tokens")
_ENGLISH = ("en", "eng", "english", "en-us", "eng_latn")


@dataclass(frozen=True, slots=True)
class Fairness:
    """Token premiums and the Gini coefficient of one tokenizer.

    Attributes:
        reference: the language that premiums are taken over.
        lines: aligned lines of each language; premiums are of those that have text in every one.
        without_text: languages whose lines are all blank: they have no premium and no part in anything else.
        incomplete_lines: how many have text in some languages only, and have no part in premiums.
        premiums: language → its tokens over those of the reference; None for a language without text.
        max_premium: the largest.
        worst_language: its language.
        gini: of tokens per aligned line over the languages; None for fewer than two with text.
        left_out: parallel groups with another number of lines.
        resampled: "gini" and each language with a premium → that figure in resamples of aligned lines; empty where
            there are too few.
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
        """How many lines premiums are of."""
        return self.lines - self.incomplete_lines

    def premium_interval(self, language: str) -> Interval | None:
        """95 % of a premium, over aligned lines; None for the reference, and where there are too few lines."""
        found = self.resampled.get(_key(language))
        return None if found is None else found.interval

    @property
    def gini_interval(self) -> Interval | None:
        """95 % of the Gini coefficient, over aligned lines; None where there are too few."""
        return self.resampled["gini"].interval if "gini" in self.resampled else None


def reference_of(evaluation: Evaluation, alignment: Alignment, *, wanted: str | None = None) -> str:
    """The language to compare with: the wanted one, else English, else the one with the fewest tokens.

    Raises:
        ConfigError: the wanted one is not among the aligned ones, or has no text.
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
    """The premiums of languages.

    Args:
        evaluation: what was counted where each aligned line is a document.
        alignment: the languages that say the same.
        reference: one of them.
        seed: draws lines, each with all its languages.
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
    """The keys of the lines with text in every language, and how many lines have it in some only.

    A translation that stops half way would be a cheap language. One without any text has no part in this.
    """
    found = [evaluation.group_units[name].keys for name in languages if name in evaluation.group_units]
    lines, count = np.unique(np.concatenate([np.empty(0, np.uint64), *found]), return_counts=True)
    return lines[count == len(found)], int((count < len(found)).sum())


def _tokens_of(
    evaluation: Evaluation, languages: Iterable[str], complete: NDArray[np.uint64]
) -> dict[str, int]:
    """Tokens by language, of those that have text."""
    units = {name: evaluation.group_units[name] for name in languages if name in evaluation.group_units}
    return {name: int(one.only(complete).counts[:, _TOKENS].sum()) for name, one in units.items()}


def _key(language: str) -> str:
    """A language may be called "gini"."""
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
    sums = {language: drawn.sums(one)[:, _TOKENS] for language, one in zip(known, units, strict=True)}
    found = {"gini": Resampled(coefficient, _ginis(np.stack(list(sums.values()))), drawn.num_units)}
    if sums[reference].all():
        for language, premium in known.items():
            if language != reference:
                values = sums[language] / sums[reference]
                found[_key(language)] = Resampled(premium, values, drawn.num_units)
    return found


def _ginis(tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    """`gini` of each column: float64[languages, R] to float64[R]."""
    count = len(tokens)
    ranks = 2 * np.arange(1, count + 1) - count - 1
    return np.asarray(ranks @ np.sort(tokens, axis=0) / (count * tokens.sum(axis=0)), dtype=np.float64)
