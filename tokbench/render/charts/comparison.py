"""The charts of a comparison: by group, by language, by the length of tokens, by their rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.wording import counted
from tokbench.evaluation.evaluated_tokenizer import groups_in_order
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.distribution import length_histogram
from tokbench.render.charts.layout import Frame, Spec, curves, dots, framed
from tokbench.render.comparison.tables import baseline_of
from tokbench.render.figures import loses_text
from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.metrics.metric import Metric

MOST_GROUPS = 60
LONGEST_TOKEN = 16
_POINTS = 200
_HEIGHT = 320
_PLAIN = Frame()


def compression_chart(
    comparison: Comparison, *, metric: Metric = METRICS["bytes_per_token"], frame: Frame = _PLAIN
) -> Spec:
    """A metric by group, in the order of `in_order`: languages of the same lines by premium, scripts by name.

    Args:
        comparison: what was found; of very many groups those with most text are shown.
        metric: by default bytes per token.
        frame: how it is presented.

    >>> compression_chart.__kwdefaults__["metric"].title
    'bytes/token'
    """
    base = baseline_of(comparison)
    sizes = {group: tally["bytes"] for group, tally in base.evaluation.groups.items()}
    largest = sorted(base.groups, key=lambda group: (-sizes[group], group))[:MOST_GROUPS]
    groups = groups_in_order(base, largest, metric)
    rows = [
        _row(group, one, value)
        for group in groups
        for one in comparison.tokenizers
        if (value := one.groups[group][metric.name].value) is not None
        and (metric.share or not loses_text(one, group))
    ]
    shown = f"the {len(groups)} largest groups" if len(groups) < len(sizes) else counted(len(groups), "group")
    return dots(
        frame,
        rows,
        groups=_visible(groups),
        names=_names(comparison),
        title=f"{metric.title[:1].upper()}{metric.title[1:]} by group",
        subtitle=f"{metric.meaning}; {shown}{_left_out(comparison, () if metric.share else groups)}",
        unit=metric.title,
    )


def premium_chart(comparison: Comparison, *, frame: Frame = _PLAIN) -> Spec | None:
    """What each language costs over the reference on the same lines; None where no lines are aligned."""
    fair = [(one, one.fairness) for one in comparison.tokenizers if one.fairness is not None]
    if not fair:
        return None
    base = baseline_of(comparison).fairness or fair[0][1]
    languages = sorted(base.premiums, key=lambda language: (-(base.premiums[language] or 0), language))
    rows = [
        _row(language, one, premium)
        for language in languages
        for one, fairness in fair
        if (premium := fairness.premiums.get(language)) is not None and not loses_text(one, language)
    ]
    return dots(
        frame,
        rows,
        groups=_visible(languages),
        names=_names(comparison),
        title=f"Tokens of each language over those of {visible(base.reference)}",
        subtitle=f"on the same {base.complete_lines:,} lines; 1 is the same price{_left_out(comparison, languages)}",
        unit=f"tokens / tokens of {visible(base.reference)}",
        reference=1.0,
    )


def length_chart(comparison: Comparison, *, frame: Frame = _PLAIN) -> Spec | None:
    """How long tokens are in bytes, as shares of all tokens; None where all tokens of all have one length."""
    rows: list[Spec] = []
    left_out: list[str] = []
    for one in comparison.tokenizers:
        shares = token_lengths(one)
        if np.count_nonzero(shares) < 2:  # one bar of 100 % would press all others flat
            left_out.append(visible(one.name))
            continue
        rows += [
            {"tokenizer": visible(one.name), "length": length, "share": share}
            for length, share in enumerate(shares.tolist())
            if length or share
        ]
    if not rows:
        return None
    # The last place holds all that are longer.
    label = f"datum.value == {LONGEST_TOKEN} ? '{LONGEST_TOKEN}+' : datum.label"
    x = {
        "field": "length",
        "type": "quantitative",
        "title": "bytes of a token",
        "scale": {"nice": False},
        "axis": {"grid": False, "labelExpr": label, "tickMinStep": 1},
    }
    y = {"field": "share", "type": "quantitative", "title": "share of tokens", "axis": {"format": "~%"}}
    names = _names(comparison)
    shown = [name for name in names if name not in left_out]
    without = f"; without {', '.join(left_out)}, whose tokens all have one length" if left_out else ""
    return framed(
        frame,
        curves(frame, rows, x=x, y=y, field="tokenizer", names=names, shown=shown),
        title="Length of tokens",
        subtitle=f"share of the text's tokens by their bytes{without}",
        height=_HEIGHT,
    )


def frequency_chart(comparison: Comparison, *, frame: Frame = _PLAIN) -> Spec:
    """How often tokens occur, by their place when they are sorted by that; both axes logarithmic."""
    rows: list[Spec] = [
        {"tokenizer": visible(one.name), "rank": rank, "share": share}
        for one in comparison.tokenizers
        for rank, share in rank_frequencies(one.evaluation.frequencies)
    ]
    ranks, shares = [row["rank"] for row in rows], [row["share"] for row in rows]
    x = {
        "field": "rank",
        "type": "quantitative",
        "title": "rank of the token",
        "scale": {"type": "log", "nice": False},
        "axis": {"values": _powers_of_ten(ranks), "format": "~s"},
    }
    y = {
        "field": "share",
        "type": "quantitative",
        "title": "share of tokens",
        "scale": {"type": "log", "nice": False},
        "axis": {"values": _powers_of_ten(shares), "format": "~%"},
    }
    return framed(
        frame,
        curves(frame, rows, x=x, y=y, field="tokenizer", names=_names(comparison), points=False),
        title="Rank and frequency",
        subtitle="share of the text's tokens by the token's place in order of frequency, both logarithmic",
        height=_HEIGHT,
    )


def token_lengths(one: EvaluatedTokenizer) -> NDArray[np.float64]:
    """float64[17], the share of a tokenizer's tokens by their bytes; the last place holds all longer ones."""
    lengths = one.evaluation.vocabulary.lengths
    counts = np.array(length_histogram(one.evaluation.frequencies, lengths, longest=LONGEST_TOKEN))
    return counts / max(int(counts.sum()), 1)


def rank_frequencies(frequencies: NDArray[np.int64], *, points: int = _POINTS) -> list[tuple[int, float]]:
    """Ranks, about evenly spaced on a logarithmic axis, with the share of their tokens.

    >>> rank_frequencies(np.array([1, 0, 3]))
    [(1, 0.75), (2, 0.25)]
    """
    found = np.sort(frequencies[frequencies > 0])[::-1]
    if not len(found):
        return []
    ranks = np.unique(np.geomspace(1, len(found), points).round().astype(np.int64))
    shares = found[ranks - 1] / found.sum()
    return list(zip(ranks.tolist(), shares.tolist(), strict=True))


def _powers_of_ten(values: Sequence[float]) -> list[float]:
    """The powers of ten among values.

    >>> _powers_of_ten([0.5, 7, 120])
    [1.0, 10.0, 100.0]
    """
    if not values:
        return []
    first, last = np.ceil(np.log10(min(values))), np.floor(np.log10(max(values)))
    return [float(f"1e{int(power)}") for power in np.arange(first, last + 1)]


def _left_out(comparison: Comparison, groups: Sequence[str]) -> str:
    """Which tokenizers have no dot in some groups, where the text that they lose would stretch the chart."""
    names = [
        visible(one.name) for one in comparison.tokenizers if any(loses_text(one, group) for group in groups)
    ]
    return f"; {', '.join(names)}: no dot where more than 1 % is unknown" if names else ""


def _row(group: str, one: EvaluatedTokenizer, value: float) -> Spec:
    return {"group": visible(group), "tokenizer": visible(one.name), "value": value}


def _names(comparison: Comparison) -> list[str]:
    return _visible([one.name for one in comparison.tokenizers])


def _visible(names: Sequence[str]) -> list[str]:
    return [visible(name) for name in names]
