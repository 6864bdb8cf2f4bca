"""A tokenizer with its figures on a corpus, the order of several, and a comparison of them in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tokbench.evaluation.counting_pass import evaluate
from tokbench.evaluation.figures import among, difference, difference_interval, listed, percent
from tokbench.evaluation.lost_characters import CAUSES, error_count
from tokbench.evaluation.units import AlignedLines
from tokbench.metrics.bootstrap import FEWEST_UNITS, change_digits
from tokbench.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.core.time_and_memory import Throughput
    from tokbench.evaluation.candidates import Candidate
    from tokbench.evaluation.corpus_scan import CorpusScan
    from tokbench.evaluation.costs import Cost
    from tokbench.evaluation.counting_pass import Evaluation
    from tokbench.evaluation.fairness import Fairness
    from tokbench.evaluation.figures import Aggregate, Figure
    from tokbench.evaluation.lost_characters import Cause
    from tokbench.evaluation.mix import Mixed
    from tokbench.evaluation.units import Alignment
    from tokbench.metrics.metric import Metric, Tally

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

    def looks_cheaper(self, group: str | None = None) -> bool:
        """Whether so much text, of a group or in all, is unknown or dropped that it looks cheaper than it is.

        An unknown token stands for any number of characters, and dropped characters have no token at all, so with
        more than 1 % of either the figures mean little.
        """
        tally = self.evaluation.total if group is None else self.evaluation.groups.get(group)
        if tally is None:  # a language without text
            return False
        if not tally["tokens"]:
            return tally["roundtrips"] < tally["documents"]
        lost_bytes = (
            tally["uncovered_bytes"] - tally["fallback_tokens"]
        )  # a fallback token stands for one byte
        return (
            tally["unknown_tokens"] > _MOST_LOST * tally["tokens"] or lost_bytes > _MOST_LOST * tally["bytes"]
        )


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


_HEADLINE = "bytes_per_token"
_MOST_LOST = 0.01
_MOSTLY = 0.5
_NAMED: dict[Cause, str] = {"unknown": "unknown characters", "other": "other changes"}


def summary_of(evaluated: Sequence[EvaluatedTokenizer]) -> tuple[str, ...]:
    """Summarize a comparison, one sentence per finding."""
    return (*_compression(evaluated), *losses(evaluated), *_languages(evaluated))


def _compression(evaluated: Sequence[EvaluatedTokenizer]) -> Iterator[str]:
    metric = METRICS[_HEADLINE]
    values = {tokenizer.name: tokenizer.figures[_HEADLINE].value or 0 for tokenizer in evaluated}
    ranked = sorted(
        (tokenizer for tokenizer in evaluated if values[tokenizer.name]),
        key=lambda tokenizer: -values[tokenizer.name],
    )
    faithful = [tokenizer for tokenizer in ranked if tokenizer.keeps_text]
    if len(ranked) < 2:
        return
    candidates = faithful or [tokenizer for tokenizer in ranked if not tokenizer.looks_cheaper()]
    if not candidates:
        yield "all tokenizers lose more than 1 % of the text: their bytes per token cannot be compared"
        return
    best, *others = candidates
    if not others:
        only = "is lossless" if faithful else "loses no more than 1 % as unknown or dropped"
        yield f"only {best.name} {only}: {values[best.name]:.3f} bytes per token"
        return
    tied = [best.name, *(other.name for other in others if values[other.name] == values[best.name])]
    others = others[len(tied) - 1 :]
    compress = "compresses" if len(tied) == 1 else "compress"
    how = "best" if others else "equally"
    whom = among(len(faithful), len(ranked))
    if not faithful and len(candidates) < len(ranked):
        whom = "all tokenizers lose text; of those with at most 1 % unknown or dropped, "
    who = f"{whom}{listed(tied)} {compress} {how}"
    sentence = f"{who}: {values[best.name]:.3f} bytes per token"
    if not others:
        yield sentence
        return
    if best.aggregate.resampled(metric) is None:
        yield f"{sentence}; {interval_gap(best.aggregate.num_units) or 'no interval'}"
        return
    same = [tokenizer.name for tokenizer in others if not differ(best, tokenizer, metric)]
    if same:
        yield f"{sentence}; no significant difference to {listed(same)} on this text"
    else:
        yield f"{sentence}{_more_than(best, others[0], metric)}"


def _more_than(best: EvaluatedTokenizer, second: EvaluatedTokenizer, metric: Metric) -> str:
    """Say how far the best is ahead of the next, with the paired interval; empty if that is unknown."""
    ahead = difference(best.figures[metric.name].value, second.figures[metric.name].value, share=False)
    drawn = (best.aggregate.resampled(metric), second.aggregate.resampled(metric))
    interval = difference_interval(*drawn, share=False)
    if ahead is None or interval is None or interval.spans_zero:
        return ""
    digits = change_digits(ahead, interval)
    ends = f"{interval.low * 100:.{digits}f}…{interval.high * 100:.{digits}f}"
    return f", {ahead * 100:.{digits}f} % ({ends}) more than {second.name}, the second best"


def interval_gap(num_units: int) -> str | None:
    """Return the reason why figures have no interval; None if they have one.

    >>> interval_gap(1), interval_gap(5)
    ('no interval: all text comes from one file or record; an interval needs 5', None)
    """
    if num_units >= FEWEST_UNITS:
        return None
    drawn = (
        "all text comes from one file or record"
        if num_units == 1
        else f"the text has only {num_units} files, records or aligned lines"
    )
    return f"no interval: {drawn}; an interval needs {FEWEST_UNITS}"


def group_interval_gaps(aggregate: Aggregate, groups: Iterable[str]) -> dict[str, str]:
    """Map each group to the reason why its figures have no interval; omit groups with intervals."""
    gaps = {group: interval_gap(aggregate.group_units(group)) for group in groups}
    return {group: gap for group, gap in gaps.items() if gap is not None}


def losses(evaluated: Sequence[EvaluatedTokenizer]) -> Iterator[str]:
    """Yield a sentence for each lossy tokenizer: how much text it loses, and of which kind."""
    for tokenizer in evaluated:
        if tokenizer.keeps_text:
            continue
        total = tokenizer.evaluation.total
        rate, unknown = total["roundtrips"] / total["documents"], total["unknown_tokens"]
        why = f", and {percent(unknown / total['tokens'])} of its tokens are unknown" if unknown else ""
        yield f"{tokenizer.name} {_loss(total)}: {percent(rate)} of the documents are preserved{why}"


def _loss(total: Tally) -> str:
    """Say how much is lost and why, such as "loses 0.3 % of characters, mostly accents"."""
    errors = total["error_chars"]
    if not errors:
        return "loses text"
    causes = {cause: total[error_count(cause)] for cause in CAUSES[:-1]}
    causes["other"] = errors - sum(causes.values())
    main = max(causes, key=lambda cause: causes[cause])
    share = causes[main] / errors
    named = _NAMED.get(main, main)
    rate = errors / total["decoded_chars"]
    much = percent(rate) if rate >= 0.0005 else f"{errors:,}"
    much += " of characters" if rate >= 0.0005 else f" of {total['decoded_chars']:,} characters"
    if share == 1:
        return f"loses {much} ({named})"
    return f"loses {much}, {'mostly' if share > _MOSTLY else 'most often'} {named}"


def _is_cheap_somewhere(tokenizer: EvaluatedTokenizer) -> bool:
    """Whether a language looks cheaper than it is."""
    return tokenizer.fairness is not None and any(map(tokenizer.looks_cheaper, tokenizer.fairness.premiums))


def _languages(evaluated: Sequence[EvaluatedTokenizer]) -> Iterator[str]:
    # Unknown tokens are cheap: tokenizers that lose text are considered only if all do.
    lossless = [tokenizer for tokenizer in evaluated if tokenizer.keeps_text]
    kept = lossless or [tokenizer for tokenizer in evaluated if not _is_cheap_somewhere(tokenizer)]
    known = [
        (tokenizer.name, tokenizer.fairness, tokenizer.fairness.gini)
        for tokenizer in kept
        if tokenizer.fairness is not None
        and tokenizer.fairness.gini is not None
        and tokenizer.fairness.max_premium
    ]
    if not known:
        return
    (name, found, gini), *others = sorted(known, key=lambda entry: entry[2])
    tied = [name, *(other for other, _, value in others if value == gini)]
    others = others[len(tied) - 1 :]
    drawn = found.resampled.get("gini")
    even = [
        other
        for other, fairness, _ in others
        if drawn is None or not drawn.differs_from(fairness.resampled.get("gini"))
    ]
    serve = "serves" if len(tied) == 1 else "serve"
    who = f"{among(len(lossless), len(evaluated))}{listed(tied)} {serve} the languages most evenly (Gini {gini:.3f})"
    if not others:
        who = f"the languages have a Gini of {gini:.3f} under {listed(tied)}"
    elif drawn is None:
        who += f", without an interval, which needs {FEWEST_UNITS} complete lines"
    elif even:
        who += f", without a significant difference to {listed(even)}"
    yield (
        f"{who}: {found.worst_language} needs the most tokens, {found.max_premium or 0:.2f} times those of "
        f"{found.reference}"
    )
