"""What a comparison comes to, in words: what is best, what is as good, and what the figures do not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.evaluation.wording import listed, percent
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.intervals import interval_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.evaluation.comparison import Judged

_HEADLINE = "bytes_per_token"


def verdict_of(judged: Sequence[Judged]) -> tuple[str, ...]:
    """Sentences about those that were compared, for whoever has to choose."""
    return (*_compression(judged), *_losses(judged), *_languages(judged))


def _compression(judged: Sequence[Judged]) -> Iterator[str]:
    values = {one.name: one.figures[_HEADLINE].value for one in judged}
    ranked = sorted((one for one in judged if values[one.name]), key=lambda one: -(values[one.name] or 0))
    faithful = [one for one in ranked if not _loses(one)]
    if len(ranked) < 2:
        return
    best, *others = faithful if len(faithful) > 1 else ranked
    among = "" if len(faithful) == len(ranked) or len(faithful) < 2 else "of those that keep the text, "
    sentence = f"{among}{best.name} compresses best: {values[best.name]:.3f} bytes per token"
    if len(best.evaluation.document_groups) < 2:
        yield f"{sentence}; one document does not tell how sure that is"
        return
    same = [one.name for one in others if _cannot_be_told_apart(best, one)]
    if same:
        yield f"{sentence}; on this text {listed(same)} cannot be told apart from it"
    else:
        second = others[0]
        more = (values[best.name] or 0) / (values[second.name] or 1) - 1
        yield f"{sentence}, {more * 100:.1f} % more than {second.name}, which comes next"


def _cannot_be_told_apart(best: Judged, other: Judged) -> bool:
    values = best.aggregate.resampled(METRICS[_HEADLINE])
    others = other.aggregate.resampled(METRICS[_HEADLINE])
    if values is None or others is None:
        return True
    return interval_of(values / others - 1).spans_zero


def _loses(one: Judged) -> bool:
    """Whether text does not come back."""
    rate = one.figures["roundtrip_rate"].value
    return rate is not None and rate < 1


def _losses(judged: Sequence[Judged]) -> Iterator[str]:
    for one in judged:
        rate = one.figures["roundtrip_rate"].value
        unknown = one.figures["unk_rate"].value
        if rate is not None and rate < 1:
            why = "" if not unknown else f", and {percent(unknown)} of its tokens are unknown"
            yield f"{one.name} loses text: {percent(rate)} of the documents come back as they were{why}"


def _languages(judged: Sequence[Judged]) -> Iterator[str]:
    # Unknown tokens are cheap: a tokenizer that loses text is not praised for what it does not write.
    kept = [one for one in judged if not _loses(one)] or judged
    fair = {one.name: one.fairness for one in kept if one.fairness is not None}
    known = {name: found for name, found in fair.items() if found.gini is not None and found.max_premium}
    if not known:
        return
    name, found = min(known.items(), key=lambda item: item[1].gini or 0)
    gini = f"{found.gini or 0:.3f}"
    who = f"{name} serves the languages most evenly (Gini {gini})"
    if len(known) < 2:
        who = f"the languages have a Gini of {gini} under {name}"
    yield f"{who}: the dearest is {found.worst_language}, at {found.max_premium or 0:.2f} times {found.reference}"
