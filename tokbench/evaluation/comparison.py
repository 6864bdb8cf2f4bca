"""Several tokenizers on the same text: their figures side by side, and what can be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError
from tokbench.evaluation.fairness import NO_TRANSLATIONS, fairness_of, reference_of
from tokbench.evaluation.measuring import evaluate
from tokbench.evaluation.provenance import Provenance, provenance_of
from tokbench.evaluation.resampling import difference, difference_interval, resampled_values
from tokbench.evaluation.throughput import throughput_of
from tokbench.evaluation.verdict import verdict_of
from tokbench.interfaces import no_progress
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.intervals import Interval, interval_of, resamples
from tokbench.metrics.ratios import ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokbench.corpus import Document
    from tokbench.evaluation.contestants import Contestant
    from tokbench.evaluation.fairness import Alignment, Fairness
    from tokbench.evaluation.measuring import Evaluation
    from tokbench.evaluation.throughput import Throughput
    from tokbench.interfaces import Progress
    from tokbench.metrics.intervals import Resamples


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of one tokenizer on all text.

    Attributes:
        value: pooled; None where there is nothing to divide by.
        interval: 95 %, by the bootstrap over documents; None for metrics that are no ratio of counts by document.
        difference: to the baseline: of a share the difference itself, of anything else relative to the baseline's.
        difference_interval: 95 %, paired.
    """

    value: float | None
    interval: Interval | None = None
    difference: float | None = None
    difference_interval: Interval | None = None

    @property
    def is_distinguishable(self) -> bool | None:
        """Whether it differs from the baseline's; None where that is not known."""
        return None if self.difference_interval is None else not self.difference_interval.spans_zero


@dataclass(frozen=True, slots=True)
class Judged:
    """One tokenizer and all that is known of it.

    Attributes:
        name: unique among those compared.
        contestant: the tokenizer, and how it came about.
        evaluation: what was counted.
        figures: metric → figure on all text.
        groups: group → metric → value.
        fairness: on aligned lines; None where there are none.
        throughput: of encoding; None where it was not measured.
        relative_tokens: its tokens over those of the baseline on the same text; None where that has none.
    """

    name: str
    contestant: Contestant
    evaluation: Evaluation
    figures: Mapping[str, Figure]
    groups: Mapping[str, Mapping[str, float | None]]
    fairness: Fairness | None
    throughput: Throughput | None
    relative_tokens: float | None


@dataclass(frozen=True, slots=True)
class Setting:
    """How the tokenizers came about that were trained to be compared.

    Attributes:
        unit: what the corpus was dealt out in.
        num_training: how many of them there were to learn from.
        training_bytes: their UTF-8 bytes.
        vocab_size: the size that all were asked for.
        left_out: backend → why it is not among them.
    """

    unit: str
    num_training: int
    training_bytes: int
    vocab_size: int
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Tokenizers side by side.

    Attributes:
        tokenizers: in the order in which they were given.
        baseline: the name of the one that differences are taken to.
        documents: how many each was judged on.
        num_bytes: their UTF-8 bytes.
        fairness_gap: why there are no premiums, where there are none.
        verdict: what it comes to, a sentence each.
        seed: drew the resamples.
        provenance: what was compared, and on what.
        setting: how they were trained; None for tokenizers that existed.
    """

    tokenizers: tuple[Judged, ...]
    baseline: str
    documents: int
    num_bytes: int
    fairness_gap: str | None
    verdict: tuple[str, ...]
    seed: int
    provenance: Provenance
    setting: Setting | None = None


def compare_contestants(
    contestants: Sequence[Contestant],
    documents: Iterable[Document],
    *,
    alignment: Alignment | str = NO_TRANSLATIONS,
    reference_group: str | None = None,
    baseline: str | None = None,
    times: bool = True,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Comparison:
    """Judge tokenizers on the same documents.

    Args:
        contestants: at least one.
        documents: iterated anew for each of them.
        alignment: the groups that say the same, line by line, or why there are none.
        reference_group: the language that premiums are taken over; by default English, else the one that is
            the cheapest for the baseline.
        baseline: the name of the tokenizer that differences are taken to; by default the first.
        times: whether to measure how fast they encode.
        threads: for encoding.
        seed: draws the resamples.
        progress: told how far it is.

    Raises:
        ConfigError: no tokenizer of the baseline's name, or no group of the reference's.
        TextError, CorpusError: a document that cannot be encoded, or read.
    """
    names = unique_names([one.tokenizer.info.name for one in contestants])
    if baseline is not None and baseline not in names:
        raise ConfigError(
            f"there is no tokenizer {baseline!r} to compare with", hint=f"there are {', '.join(names)}"
        )
    if reference_group is not None and isinstance(alignment, str):
        raise ConfigError(
            f"there are no premiums over {reference_group!r}: {alignment}", hint="leave out --reference"
        )
    evaluations = [
        evaluate(one.tokenizer, documents, threads=threads, phase=f"judging {name}", progress=progress)
        for name, one in zip(names, contestants, strict=True)
    ]
    base = evaluations[names.index(baseline or names[0])]
    drawn = resamples(len(base.document_groups), seed=seed)
    # One language for all of them: premiums over several could not stand side by side.
    fairness: list[Fairness | None] = [None] * len(evaluations)
    if not isinstance(alignment, str):
        reference = reference_of(base, alignment, wanted=reference_group)
        fairness = [fairness_of(evaluation, alignment, reference=reference) for evaluation in evaluations]
    judged = tuple(
        Judged(
            name=name,
            contestant=contestant,
            evaluation=evaluation,
            figures=_figures(evaluation, base, drawn),
            groups=_groups(evaluation),
            fairness=fair,
            throughput=throughput_of(contestant.tokenizer, documents) if times else None,
            relative_tokens=ratio(evaluation.total["tokens"], base.total["tokens"]),
        )
        for name, contestant, evaluation, fair in zip(names, contestants, evaluations, fairness, strict=True)
    )
    return Comparison(
        tokenizers=judged,
        baseline=baseline or names[0],
        documents=len(base.document_groups),
        num_bytes=base.num_bytes,
        fairness_gap=alignment if isinstance(alignment, str) else None,
        verdict=verdict_of(judged, drawn),
        seed=seed,
        provenance=provenance_of(
            names, contestants, [evaluation.vocabulary for evaluation in evaluations], documents
        ),
    )


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, those that were there before with a number behind them.

    >>> unique_names(["a", "b", "a", "a"])
    ['a', 'b', 'a#2', 'a#3']
    """
    unique: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in unique:
            number += 1
            candidate = f"{name}#{number}"
        unique.append(candidate)
    return unique


def _figures(evaluation: Evaluation, base: Evaluation, drawn: Resamples | None) -> dict[str, Figure]:
    total, base_total = evaluation.total, base.total
    figures: dict[str, Figure] = {}
    for name, metric in METRICS.items():
        value = metric.value(total, evaluation.vocabulary)
        base_value = metric.value(base_total, base.vocabulary)
        resampled = resampled_values(metric, evaluation, drawn)
        base_resampled = resampled_values(metric, base, drawn)
        figures[name] = Figure(
            value=value,
            interval=None if resampled is None else interval_of(resampled),
            difference=difference(value, base_value, share=metric.share),
            difference_interval=difference_interval(resampled, base_resampled, share=metric.share),
        )
    return figures


def _groups(evaluation: Evaluation) -> dict[str, dict[str, float | None]]:
    return {
        group: {name: metric.value(tally, evaluation.vocabulary) for name, metric in METRICS.items()}
        for group, tally in evaluation.groups.items()
    }
