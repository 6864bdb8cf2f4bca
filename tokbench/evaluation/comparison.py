"""Comparison of tokenizers on the same documents: figures, differences with intervals, fairness, costs, a summary."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from tokbench.core.capabilities import KnowsLoadingTime
from tokbench.core.progress import no_progress
from tokbench.core.time_and_memory import throughput_of
from tokbench.core.tokens import ShownInNotebooks
from tokbench.core.wording import counted, meant, unique_names
from tokbench.errors import ConfigError
from tokbench.evaluation.corpus_scan import CorpusScan
from tokbench.evaluation.costs import Model, cost_of
from tokbench.evaluation.counting_pass import with_equal_sets
from tokbench.evaluation.evaluated_tokenizer import (
    EvaluatedTokenizer,
    count_candidates,
    group_interval_gaps,
    interval_gap,
    summary_of,
)
from tokbench.evaluation.fairness import fairness_of, reference_of
from tokbench.evaluation.figures import (
    Aggregate,
    counted_parts,
    figures_of,
    group_figures_of,
    listed,
    relative_tokens_of,
)
from tokbench.evaluation.mix import Alternative, cheapest, mixed, mixed_beside
from tokbench.evaluation.provenance import Provenance, knows_training_text, provenance_of
from tokbench.evaluation.units import NO_TRANSLATIONS
from tokbench.metrics.metric import ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Document
    from tokbench.evaluation.candidates import Candidate
    from tokbench.evaluation.corpus_scan import CorpusFacts
    from tokbench.evaluation.evaluated_tokenizer import CountedCandidate, Counts
    from tokbench.evaluation.fairness import Fairness
    from tokbench.evaluation.holdout import Holdout
    from tokbench.evaluation.mix import Mix
    from tokbench.evaluation.units import Alignment
    from tokbench.metrics.metric import Aggregation


@dataclass(frozen=True, slots=True)
class TrainingSetup:
    """The text and the vocabulary size that candidates were trained with.

    Attributes:
        unit: the unit by which the corpus was divided: documents or blocks of lines.
        num_training: number of these units in the training text.
        training_bytes: UTF-8 bytes of the training text.
        vocab_size: the vocabulary size requested for all candidates.
        left_out: backend → the reason why it has no candidate.
        shares: group → the held-out share of its bytes.
    """

    unit: str
    num_training: int
    training_bytes: int
    vocab_size: int
    left_out: Mapping[str, str]
    shares: Mapping[str, float] = field(default_factory=dict)


def training_setup_of(holdout: Holdout, vocab_size: int, left_out: Mapping[str, str]) -> TrainingSetup:
    """Describe the training of tokenizers of one size on the training side of a holdout."""
    return TrainingSetup(
        unit=holdout.unit,
        num_training=holdout.num_training,
        training_bytes=holdout.training_bytes,
        vocab_size=vocab_size,
        left_out=left_out,
        shares=holdout.shares,
    )


@dataclass(frozen=True, slots=True)
class Comparison(ShownInNotebooks):
    """The result of a comparison.

    Attributes:
        tokenizers: the evaluated tokenizers, in the given order.
        baseline: name of the tokenizer that the others are compared with.
        documents: number of documents evaluated; every block of a cut document counts.
        num_bytes: UTF-8 bytes of these documents.
        units: kind of unit that resamples draw → number of units: "aligned lines" with all their languages,
            "files" with all their parts, "documents".
        fairness_gap: the reason why there are no premiums; None if there are premiums.
        interval_gap: the reason why there are no intervals; None if there are intervals.
        group_interval_gaps: group → the reason why its figures have no intervals; groups with intervals are omitted.
        summary: the findings, one sentence each.
        aggregation: how the documents are combined into one figure.
        seed: seed of the resampling.
        provenance: fingerprints of the corpus and the vocabularies, versions, arguments and warnings.
        training_setup: how the candidates were trained; None for existing tokenizers.
        model: the described properties of the model that the tokenizers are for.
        mix: the requested mix of groups; None if none was requested.
        mix_summary: which tokenizer is the cheapest for the mix, one sentence each.
    """

    tokenizers: tuple[EvaluatedTokenizer, ...]
    baseline: str
    documents: int
    num_bytes: int
    units: Mapping[str, int]
    fairness_gap: str | None
    interval_gap: str | None
    group_interval_gaps: Mapping[str, str]
    summary: tuple[str, ...]
    aggregation: Aggregation
    seed: int
    provenance: Provenance
    training_setup: TrainingSetup | None = None
    model: Model = field(default_factory=Model)
    mix: Mix | None = None
    mix_summary: tuple[str, ...] = ()

    @property
    def parts(self) -> str:
        """The number of evaluated parts in words: "12 documents", or "280 blocks of lines" of a held-out text."""
        return counted_parts(
            self.documents, "documents" if self.training_setup is None else self.training_setup.unit
        )

    def __repr__(self) -> str:
        """Return a short form with the tokenizers and the amount of text."""
        names = ", ".join(tokenizer.name for tokenizer in self.tokenizers)
        text = f"{self.parts}, {counted(self.num_bytes, 'byte')}"
        return f"<comparison of {names} on {text}>"


def compare_candidates(
    candidates: Sequence[Candidate],
    documents: Iterable[Document] | CorpusFacts,
    *,
    alignment: Alignment | str = NO_TRANSLATIONS,
    reference_group: str | None = None,
    baseline: str | None = None,
    aggregation: Aggregation = "pooled",
    model: Model | None = None,
    mix: Mix | None = None,
    times: bool = True,
    threads: int | None = None,
    seed: int = 0,
    arguments: Mapping[str, Any] | None = None,
    count: Counts | None = None,
    progress: Progress = no_progress,
) -> Comparison:
    """Evaluate tokenizers on the same documents.

    Args:
        candidates: at least one candidate.
        documents: an iterable that is iterated anew for each candidate; with `count`, the facts about the
            documents that it counts.
        alignment: the groups that are line-by-line translations of one another, or the reason why there are none.
        reference_group: the language that premiums are relative to; by default English, else the language with
            the fewest tokens under the baseline.
        baseline: name of the tokenizer that the others are compared with; by default the first.
        aggregation: how the documents are combined into one figure.
        model: the described properties of the model that the tokenizers are for.
        mix: the share of each group in the text that matters to the user.
        times: whether to measure encoding throughput and report loading times.
        threads: number of threads for encoding.
        seed: seed of the resampling.
        arguments: the user's arguments, which are kept with the result.
        count: counts the documents elsewhere, for example in parts.
        progress: called with the amount of work done.

    Raises:
        ConfigError: no tokenizer has the baseline's name, or no group has the reference's.
        TextError, CorpusError: a document cannot be encoded or read.
    """
    names = unique_names([candidate.tokenizer.info.name for candidate in candidates])
    if baseline is not None and baseline not in names:
        raise ConfigError(f"there is no tokenizer {baseline!r} to compare with", hint=meant(baseline, names))
    if reference_group is not None and isinstance(alignment, str):
        raise ConfigError(
            f"there are no premiums over {reference_group!r}: {alignment}", hint="leave out --reference"
        )
    described = model or Model()
    position = names.index(baseline or names[0])
    means = aggregation == "per_document"
    if count is not None:
        facts = cast("CorpusFacts", documents)
        all_counted = count(names, candidates, means=means, progress=progress)
    else:
        given = cast("Iterable[Document]", documents)
        facts = scan = given if isinstance(given, CorpusScan) else CorpusScan(given)
        if any(knows_training_text(candidate.tokenizer) for candidate in candidates):
            scan.note_lines()
        all_counted = count_candidates(
            names, candidates, scan, alignment, means=means, threads=threads, progress=progress
        )
    all_counted = _paired(all_counted)
    base = all_counted[position]
    aggregates = [
        Aggregate(result.evaluation, lines=result.by_line, seed=seed, aggregation=aggregation)
        for result in all_counted
    ]
    fairness = _fairness(all_counted, base, alignment, wanted=reference_group, seed=seed)
    mixes = [
        None if mix is None else mixed(mix, result.evaluation, result.by_line, seed=seed)
        for result in all_counted
    ]
    evaluated = tuple(
        EvaluatedTokenizer(
            name=result.name,
            candidate=result.candidate,
            evaluation=result.evaluation,
            aggregate=aggregate,
            figures=figures_of(aggregate, aggregates[position]),
            groups={
                group: group_figures_of(aggregate, aggregates[position], group=group)
                for group in result.evaluation.groups
            },
            relative=relative_tokens_of(
                aggregate,
                aggregates[position],
                value=ratio(result.evaluation.total["tokens"], base.evaluation.total["tokens"]),
            ),
            fairness=fair,
            throughput=throughput_of(result.candidate.tokenizer, facts.beginning) if times else None,
            loading_seconds=_loading_seconds(result.candidate.tokenizer) if times else None,
            cost=cost_of(result.evaluation.info.vocab_size, result.evaluation.groups, described),
            mixed=None if its_mix is None else mixed_beside(its_mix, mixes[position]),
        )
        for result, aggregate, fair, its_mix in zip(all_counted, aggregates, fairness, mixes, strict=True)
    )
    vocabularies = [result.evaluation.vocabulary for result in all_counted]
    provenance = provenance_of(names, candidates, vocabularies, facts, arguments=arguments or {})
    return Comparison(
        tokenizers=evaluated,
        baseline=base.name,
        documents=base.evaluation.total["documents"],
        num_bytes=base.evaluation.num_bytes,
        units=(base.by_line or base.evaluation).units,
        fairness_gap=alignment if isinstance(alignment, str) else None,
        interval_gap=interval_gap(aggregates[position].num_units),
        group_interval_gaps=group_interval_gaps(aggregates[position], base.evaluation.groups),
        summary=summary_of(evaluated),
        aggregation=aggregation,
        seed=seed,
        provenance=replace(provenance, warnings=(*provenance.warnings, *_warnings(fairness[position]))),
        model=described,
        mix=mix,
        mix_summary=() if mix is None else tuple(_mix_summary(mix, evaluated, price=described.price)),
    )


def _paired(all_counted: Sequence[CountedCandidate]) -> list[CountedCandidate]:
    """Return the counts of all candidates with frequencies in the same sets of units."""
    evaluations = with_equal_sets([result.evaluation for result in all_counted])
    lines = iter(with_equal_sets([result.by_line for result in all_counted if result.by_line is not None]))
    return [
        replace(result, evaluation=evaluation, by_line=None if result.by_line is None else next(lines))
        for result, evaluation in zip(all_counted, evaluations, strict=True)
    ]


def _fairness(
    all_counted: Sequence[CountedCandidate],
    base: CountedCandidate,
    alignment: Alignment | str,
    *,
    wanted: str | None,
    seed: int,
) -> list[Fairness | None]:
    """Return the fairness of each candidate; None if no lines are aligned."""
    if isinstance(alignment, str) or base.by_line is None:
        return [None] * len(all_counted)
    # All candidates share one reference language: premiums over different references are not comparable.
    reference = reference_of(base.by_line, alignment, wanted=wanted)
    return [
        None
        if result.by_line is None
        else fairness_of(result.by_line, alignment, reference=reference, seed=seed)
        for result in all_counted
    ]


def _warnings(fairness: Fairness | None) -> Iterator[str]:
    """Yield warnings about lines or languages that premiums leave out."""
    if fairness is None:
        return
    if fairness.without_text:
        has = "has no text on its" if len(fairness.without_text) == 1 else "have no text on their"
        it = "it has" if len(fairness.without_text) == 1 else "they have"
        yield (
            f"{listed(fairness.without_text)} {has} aligned lines: "
            f"{it} no premium and no part in the Gini coefficient"
        )
    if fairness.incomplete_lines:
        yield (
            f"premiums leave out {fairness.incomplete_lines:,} of {counted(fairness.lines, 'aligned line')}: "
            "not every language has text there"
        )


def _mix_summary(mix: Mix, evaluated: Sequence[EvaluatedTokenizer], *, price: float | None) -> Iterator[str]:
    alternatives = [
        Alternative(tokenizer.name, keeps_text=tokenizer.keeps_text, mixed=tokenizer.mixed)
        for tokenizer in evaluated
        if tokenizer.mixed is not None
    ]
    return cheapest(mix, alternatives, price=price) if len(alternatives) > 1 else iter(())


def _loading_seconds(tokenizer: Tokenizer) -> float | None:
    return tokenizer.loading_seconds if isinstance(tokenizer, KnowsLoadingTime) else None
