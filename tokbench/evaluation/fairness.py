"""What a text costs in one language and in another: where the corpus has the same text in both."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError
from tokbench.metrics.fairness import gini, premiums

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tokbench.corpus import Document
    from tokbench.evaluation.measuring import Evaluation

NO_TRANSLATIONS = "the corpus has no folder of translations (parallel/<language>.txt)"

_ENGLISH = ("en", "eng", "english", "en-us", "eng_latn")
_FEWEST_LINES = 5


@dataclass(frozen=True, slots=True)
class Alignment:
    """Languages that say the same, line by line.

    Attributes:
        languages: the groups, by name; at least two.
        lines: of each of them.
        left_out: groups of translations with another number of lines.
    """

    languages: tuple[str, ...]
    lines: int
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fairness:
    """How evenly one tokenizer serves languages.

    Attributes:
        reference: the language that premiums are taken over.
        lines: aligned lines of each language.
        premiums: language → its tokens over those of the reference.
        max_premium: the largest.
        worst_language: its language.
        gini: of tokens per aligned line over the languages.
        left_out: parallel groups with another number of lines.
    """

    reference: str
    lines: int
    premiums: Mapping[str, float | None]
    max_premium: float | None
    worst_language: str | None
    gini: float | None
    left_out: tuple[str, ...]


def lines_of(documents: Iterable[Document], groups: Collection[str]) -> dict[str, int]:
    """The lines of some groups: line feeds, and what stands behind the last one of a document."""
    lines: Counter[str] = Counter()
    for document in documents:
        if document.group in groups:
            lines[document.group] += document.text.count("\n") + (not document.text.endswith("\n"))
    return dict(lines)


def align(lines: Mapping[str, int]) -> Alignment | str:
    """The most languages that have the same number of lines, or why there are none.

    >>> align({"de": 20, "en": 20, "fr": 19})
    Alignment(languages=('de', 'en'), lines=20, left_out=('fr',))
    >>> align({"de": 20, "en": 21})
    'the translations do not have the same number of lines'
    """
    if not lines:
        return NO_TRANSLATIONS
    if len(lines) < 2:
        return f"there is one language only: {next(iter(lines))}"
    sizes = Counter(lines.values())
    most = max(sizes, key=lambda size: (sizes[size], size))
    if sizes[most] < 2:
        return "the translations do not have the same number of lines"
    if most < _FEWEST_LINES:
        return f"the translations have {most} lines, too few to compare languages on"
    languages = sorted(group for group, size in lines.items() if size == most)
    return Alignment(tuple(languages), most, left_out=tuple(sorted(set(lines) - set(languages))))


def reference_of(evaluation: Evaluation, alignment: Alignment, *, wanted: str | None = None) -> str:
    """The language to compare with: the wanted one, else English, else the one with the fewest tokens.

    Raises:
        ConfigError: the wanted one is not among the aligned ones.
    """
    languages = alignment.languages
    if wanted is not None and wanted not in languages:
        raise ConfigError(
            f"the reference language {wanted!r} is not among the aligned ones",
            hint=f"there are {', '.join(languages)}",
        )
    english = next((language for language in languages if language.lower() in _ENGLISH), None)
    return wanted or english or min(languages, key=lambda group: evaluation.groups[group]["tokens"])


def fairness_of(evaluation: Evaluation, alignment: Alignment, *, reference: str) -> Fairness:
    """The premiums of languages.

    Args:
        evaluation: what was counted.
        alignment: the languages that say the same.
        reference: one of them.
    """
    tokens = {group: evaluation.groups[group]["tokens"] for group in alignment.languages}
    found = premiums(tokens, reference=reference)
    known = {group: premium for group, premium in found.items() if premium is not None}
    worst = max(known, key=lambda group: known[group], default=None)
    return Fairness(
        reference=reference,
        lines=alignment.lines,
        premiums=found,
        max_premium=None if worst is None else known[worst],
        worst_language=worst,
        gini=gini([count / alignment.lines for count in tokens.values()]),
        left_out=alignment.left_out,
    )
