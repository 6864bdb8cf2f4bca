"""One tokenizer of a comparison with all of its figures, the best tokenizer by a metric, and the order of groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tokbench.evaluation.alignment import AlignedLines
from tokbench.evaluation.counting_pass import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.core.time_and_memory import Throughput
    from tokbench.evaluation.alignment import Alignment
    from tokbench.evaluation.candidates import Candidate
    from tokbench.evaluation.corpus_scan import CorpusScan
    from tokbench.evaluation.costs import Cost
    from tokbench.evaluation.counting_pass import Evaluation
    from tokbench.evaluation.fairness import Fairness
    from tokbench.evaluation.figures import Aggregate, Figure
    from tokbench.evaluation.mix import Mixed
    from tokbench.metrics.metric import Metric

_ONE_BYTE_SCRIPTS = 1.05
"""Bytes per character up to which text is regarded as ASCII: program code, English."""


@dataclass(frozen=True, slots=True)
class EvaluatedTokenizer:
    """One tokenizer of a comparison, with all of its figures.

    Attributes:
        name: a name that is unique in the comparison.
        candidate: the tokenizer, and how it was trained.
        evaluation: its counts.
        aggregate: its metrics in every resample.
        figures: metric → figure on all text.
        groups: group → metric → figure on the group's text.
        fairness: fairness on aligned lines; None if there are none.
        throughput: throughput of encoding; None if not measured.
        loading_seconds: time it took to open the tokenizer; None if unknown.
        relative: its tokens relative to the baseline's on the same text.
        cost: cost for the described model.
        mixed: the figure for the requested mix; None if none was requested.
    """

    name: str
    candidate: Candidate
    evaluation: Evaluation
    aggregate: Aggregate
    figures: Mapping[str, Figure]
    groups: Mapping[str, Mapping[str, Figure]]
    fairness: Fairness | None
    throughput: Throughput | None
    loading_seconds: float | None
    relative: Figure
    cost: Cost
    mixed: Mixed | None = None

    @property
    def relative_tokens(self) -> float | None:
        """Number of tokens relative to the baseline's on the same text; None if the baseline has no tokens."""
        return self.relative.value

    @property
    def keeps_text(self) -> bool:
        """Whether every document decodes to itself, under any aggregation."""
        total = self.evaluation.total
        return total["roundtrips"] == total["documents"]


def best_of(evaluated: Sequence[EvaluatedTokenizer], metric: Metric) -> str | None:
    """Return the name of the lossless tokenizer that is the best by a metric.

    Args:
        evaluated: tokenizers evaluated on the same text.
        metric: the metric.

    Returns:
        None if the metric has no direction, or if the best cannot be distinguished from each of the others: they are
        equal, the interval of their paired difference contains 0, there is no interval, or there is no other.
    """
    if metric.direction == "neither":
        return None
    sign = -1 if metric.direction == "higher" else 1
    known = [
        (sign * value, tokenizer)
        for tokenizer in evaluated
        if tokenizer.keeps_text and (value := tokenizer.figures[metric.name].value) is not None
    ]
    if len(known) < 2:
        return None
    (_, best), *others = sorted(known, key=lambda pair: pair[0])
    return best.name if all(differ(best, other, metric) for _, other in others) else None


def differ(one: EvaluatedTokenizer, other: EvaluatedTokenizer, metric: Metric) -> bool:
    """Whether two tokenizers can be distinguished by a metric; False if there is no interval."""
    resampled = one.aggregate.resampled(metric)
    return resampled is not None and resampled.differs_from(other.aggregate.resampled(metric))


def in_order(evaluated: EvaluatedTokenizer, groups: Iterable[str], metric: Metric) -> list[str]:
    """Return groups in display order: the worst served group first, if the groups are comparable.

    Languages with aligned lines are ordered by their premium. Other groups have different contents and are ordered
    by the metric only if all of them are ASCII, like program code, because a byte carries more information in one
    script than in another. Otherwise groups are ordered by name.
    """
    names = sorted(groups)
    premiums = {} if evaluated.fairness is None else evaluated.fairness.premiums
    if names and all(name in premiums for name in names):
        return sorted(names, key=lambda name: -(premiums[name] or 0))
    tallies = [evaluated.evaluation.groups[name] for name in names]
    if metric.direction == "neither" or any(
        tally["bytes"] > _ONE_BYTE_SCRIPTS * tally["chars"] for tally in tallies
    ):
        return names
    sign = 1 if metric.direction == "higher" else -1
    return sorted(names, key=lambda name: sign * (evaluated.groups[name][metric.name].value or 0))


def groups_in_order(evaluated: EvaluatedTokenizer, groups: Iterable[str], metric: Metric) -> list[str]:
    """Return the languages with aligned lines followed by the other groups, each sorted as by `in_order`."""
    aligned = set() if evaluated.fairness is None else set(groups) & set(evaluated.fairness.premiums)
    return [*in_order(evaluated, aligned, metric), *in_order(evaluated, set(groups) - aligned, metric)]


@dataclass(frozen=True, slots=True)
class CountedCandidate:
    """A candidate with its counts over documents and, if lines are aligned, its counts over lines."""

    name: str
    candidate: Candidate
    evaluation: Evaluation
    by_line: Evaluation | None


class Counts(Protocol):
    """A callable that counts candidates, wherever the documents are."""

    def __call__(
        self, names: Sequence[str], candidates: Sequence[Candidate], *, means: bool, progress: Progress
    ) -> list[CountedCandidate]:
        """Return the counts of each candidate.

        Args:
            names: unique names of the candidates.
            candidates: at least one candidate.
            means: whether to count what means over documents need.
            progress: called with the amount of work done.
        """


def count_candidates(
    names: Sequence[str],
    candidates: Sequence[Candidate],
    scan: CorpusScan,
    alignment: Alignment | str,
    *,
    means: bool,
    threads: int | None,
    progress: Progress,
) -> list[CountedCandidate]:
    """Count candidates over a scan in this process, one after another; arguments are those of `compare_candidates`."""
    evaluations = [
        evaluate(
            candidate.tokenizer,
            scan,
            threads=threads,
            means=means,
            phase=f"evaluating {name}",
            progress=progress,
        )
        for name, candidate in zip(names, candidates, strict=True)
    ]
    # Aligned lines are evaluated separately: premiums and resamples use lines without their line ends.
    by_line = [
        None
        if isinstance(alignment, str)
        else evaluate(
            candidate.tokenizer,
            AlignedLines(scan, alignment),
            threads=threads,
            means=means,
            whole_groups=alignment.languages,
            phase=f"evaluating {name} by line",
            progress=progress,
        )
        for name, candidate in zip(names, candidates, strict=True)
    ]
    return list(map(CountedCandidate, names, candidates, evaluations, by_line))
