"""One tokenizer of a comparison, with all of its figures; which is the best, and in what order groups are shown."""

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
"""Bytes a character up to which text is taken to be of ASCII: program code, English."""


@dataclass(frozen=True, slots=True)
class EvaluatedTokenizer:
    """One tokenizer of a comparison, with all of its figures.

    Attributes:
        name: unique among those compared.
        candidate: the tokenizer, and how it came about.
        evaluation: what was counted.
        aggregate: its metrics in every resample.
        figures: metric → figure on all text.
        groups: group → metric → figure on its text.
        fairness: on aligned lines; None where there are none.
        throughput: of encoding; None where it was not measured.
        loading_seconds: that opening it took; None where nobody knows.
        relative: its tokens over those of the baseline on the same text.
        cost: for the model that was described.
        mixed: the mix that was asked for; None where none was.
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
        """Its tokens over those of the baseline on the same text; None where that has none."""
        return self.relative.value

    @property
    def keeps_text(self) -> bool:
        """Whether every document decodes to itself, however documents become one figure."""
        total = self.evaluation.total
        return total["roundtrips"] == total["documents"]


def best_of(evaluated: Sequence[EvaluatedTokenizer], metric: Metric) -> str | None:
    """The name of the tokenizer that is the best by a metric, of those that keep the text.

    Args:
        evaluated: on the same text.
        metric: one with a direction.

    Returns:
        None where the best cannot be distinguished from the next: they are equal, the interval of their paired
        difference holds 0, there is no interval, or there is no next.
    """
    if metric.direction == "neither":
        return None
    sign = -1 if metric.direction == "higher" else 1
    known = [
        (sign * value, one)
        for one in evaluated
        if one.keeps_text and (value := one.figures[metric.name].value) is not None
    ]
    if len(known) < 2:
        return None
    (_, best), (_, following) = sorted(known, key=lambda each: each[0])[:2]
    return best.name if differ(best, following, metric) else None


def differ(one: EvaluatedTokenizer, other: EvaluatedTokenizer, metric: Metric) -> bool:
    """Whether two tokenizers can be distinguished by a metric; not where there is no interval."""
    resampled, others = one.aggregate.resampled(metric), other.aggregate.resampled(metric)
    return resampled is not None and others is not None and resampled.differs_from(others)


def in_order(evaluated: EvaluatedTokenizer, groups: Iterable[str], metric: Metric) -> list[str]:
    """Groups in the order in which they are shown: the worst served one first, where that can be said.

    Languages on aligned lines are ordered by their premium. Other groups say different things; by a
    figure of theirs they are ordered only if all are of ASCII, as program code is, because a byte is
    worth more in one script than in another. What is left is ordered by name.
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
    """Languages on aligned lines and then the other groups, each `in_order`."""
    aligned = set() if evaluated.fairness is None else set(groups) & set(evaluated.fairness.premiums)
    return [*in_order(evaluated, aligned, metric), *in_order(evaluated, set(groups) - aligned, metric)]


@dataclass(frozen=True, slots=True)
class CountedCandidate:
    """A candidate with what was counted of it, of documents and, where lines are aligned, of each line."""

    name: str
    candidate: Candidate
    evaluation: Evaluation
    by_line: Evaluation | None


class Counts(Protocol):
    """Counts candidates, wherever the documents are."""

    def __call__(
        self, names: Sequence[str], candidates: Sequence[Candidate], *, means: bool, progress: Progress
    ) -> list[CountedCandidate]:
        """What was counted of each.

        Args:
            names: of the candidates, each once.
            candidates: at least one.
            means: whether means over documents are asked for.
            progress: called with how much of the work is done.
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
    """Count candidates here, one after another.

    Args:
        names: as of `Counts`, like the candidates.
        candidates: at least one.
        scan: the documents.
        alignment: the groups that say the same, line by line, or why there are none.
        means: whether means over documents are asked for.
        threads: for encoding.
        progress: called with how much of the work is done.
    """
    evaluations = [
        evaluate(
            one.tokenizer, scan, threads=threads, means=means, phase=f"evaluating {name}", progress=progress
        )
        for name, one in zip(names, candidates, strict=True)
    ]
    # Once more where lines are aligned: premiums and resamples are of lines without their ends.
    by_line = [
        None
        if isinstance(alignment, str)
        else evaluate(
            one.tokenizer,
            AlignedLines(scan, alignment),
            threads=threads,
            means=means,
            whole_groups=alignment.languages,
            phase=f"evaluating {name} by line",
            progress=progress,
        )
        for name, one in zip(names, candidates, strict=True)
    ]
    return list(map(CountedCandidate, names, candidates, evaluations, by_line))
