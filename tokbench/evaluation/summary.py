"""Sentences that summarize a comparison: best compression, losses, fairness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.evaluation.evaluated_tokenizer import differ
from tokbench.evaluation.figures import among, difference, difference_interval, listed, percent
from tokbench.evaluation.lost_characters import CAUSES, error_count
from tokbench.metrics.bootstrap import FEWEST_UNITS, change_digits
from tokbench.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.evaluation.figures import Aggregate
    from tokbench.evaluation.lost_characters import Cause
    from tokbench.metrics.metric import Metric, Tally

_HEADLINE = "bytes_per_token"
_MOSTLY = 0.5
_NAMED: dict[Cause, str] = {"unknown": "unknown characters", "other": "other characters"}


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
    best, *others = faithful or ranked
    if not others:
        yield f"only {best.name} is lossless: {values[best.name]:.3f} bytes per token"
        return
    tied = [best.name, *(other.name for other in others if values[other.name] == values[best.name])]
    others = others[len(tied) - 1 :]
    compress = "compresses" if len(tied) == 1 else "compress"
    how = "best" if others else "equally"
    who = f"{among(len(faithful), len(ranked))}{listed(tied)} {compress} {how}"
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
    ('no interval: all text is of one file or record, and an interval needs 5', None)
    """
    if num_units >= FEWEST_UNITS:
        return None
    drawn = (
        "all text is of one file or record"
        if num_units == 1
        else f"the text is of {num_units} files, records or aligned lines only"
    )
    return f"no interval: {drawn}, and an interval needs {FEWEST_UNITS}"


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
    much = percent(rate) if rate >= 0.0005 else f"{errors:,} character{'s' * (errors != 1)}"
    much += " of characters" if rate >= 0.0005 else f" of {total['decoded_chars']:,}"
    how = "all of it" if share == 1 else "mostly" if share > _MOSTLY else "most often"
    return f"loses {much}, {how} {named}"


def _languages(evaluated: Sequence[EvaluatedTokenizer]) -> Iterator[str]:
    # Unknown tokens are cheap: tokenizers that lose text are considered only if all do.
    lossless = [tokenizer for tokenizer in evaluated if tokenizer.keeps_text]
    kept = lossless or evaluated
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
