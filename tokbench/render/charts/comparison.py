"""Charts of a comparison: by group, by language, by token length, by token rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.wording import counted
from tokbench.evaluation.evaluated_tokenizer import groups_in_order
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.metric import length_histogram
from tokbench.render.charts.layout import Frame, Spec, curves, dots, framed
from tokbench.render.comparison_tables import baseline_of, by_premium, fair_tokenizers
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
    """Return a chart of a metric by group; the groups have the order of `groups_in_order`.

    Args:
        comparison: the comparison; of very many groups, those with the most text are shown.
        metric: by default bytes per token.
        frame: size and theme of the chart.

    >>> compression_chart.__kwdefaults__["metric"].title
    'bytes/token'
    """
    base = baseline_of(comparison)
    sizes = {group: tally["bytes"] for group, tally in base.evaluation.groups.items()}
    largest = sorted(base.groups, key=lambda group: (-sizes[group], group))[:MOST_GROUPS]
    groups = groups_in_order(base, largest, metric)
    rows = [
        _row(group, tokenizer, value)
        for group in groups
        for tokenizer in comparison.tokenizers
        if (value := tokenizer.groups[group][metric.name].value) is not None
        and (metric.share or not tokenizer.looks_cheaper(group))
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
    """Return a chart of the tokens of each language relative to the reference; None without aligned lines."""
    fair = fair_tokenizers(comparison)
    if not fair:
        return None
    base = baseline_of(comparison).fairness or fair[0][1]
    languages = by_premium(base)
    rows = [
        _row(language, tokenizer, premium)
        for language in languages
        for tokenizer, fairness in fair
        if (premium := fairness.premiums.get(language)) is not None and not tokenizer.looks_cheaper(language)
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
    """Return a chart of the share of tokens by length in bytes; None if no tokenizer has tokens of several lengths."""
    rows: list[Spec] = []
    left_out: list[str] = []
    for tokenizer in comparison.tokenizers:
        shares = token_lengths(tokenizer)
        if np.count_nonzero(shares) < 2:  # a single bar of 100 % would flatten all others
            left_out.append(visible(tokenizer.name))
            continue
        rows += [
            {"tokenizer": visible(tokenizer.name), "length": length, "share": share}
            for length, share in enumerate(shares.tolist())
            if length or share
        ]
    if not rows:
        return None
    # The last bin holds all longer tokens.
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
    """Return a chart of token frequency by frequency rank; both axes are logarithmic."""
    rows: list[Spec] = [
        {"tokenizer": visible(tokenizer.name), "rank": rank, "share": share}
        for tokenizer in comparison.tokenizers
        for rank, share in rank_frequencies(tokenizer.evaluation.frequencies)
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


def token_lengths(tokenizer: EvaluatedTokenizer) -> NDArray[np.float64]:
    """Return float64[17], the share of a tokenizer's tokens by length in bytes; the last bin holds longer tokens."""
    lengths = tokenizer.evaluation.vocabulary.lengths
    counts = np.array(length_histogram(tokenizer.evaluation.frequencies, lengths, longest=LONGEST_TOKEN))
    return counts / max(int(counts.sum()), 1)


def rank_frequencies(frequencies: NDArray[np.int64]) -> list[tuple[int, float]]:
    """Return ranks that are about evenly spaced on a logarithmic axis, with the share of each rank's token.

    >>> rank_frequencies(np.array([1, 0, 3]))
    [(1, 0.75), (2, 0.25)]
    """
    descending = np.sort(frequencies[frequencies > 0])[::-1]
    if not len(descending):
        return []
    ranks = np.unique(np.geomspace(1, len(descending), _POINTS).round().astype(np.int64))
    shares = descending[ranks - 1] / descending.sum()
    return list(zip(ranks.tolist(), shares.tolist(), strict=True))


def _powers_of_ten(values: Sequence[float]) -> list[float]:
    """Return the powers of ten in the range of the values.

    >>> _powers_of_ten([0.5, 7, 120])
    [1.0, 10.0, 100.0]
    """
    if not values:
        return []
    first, last = np.ceil(np.log10(min(values))), np.floor(np.log10(max(values)))
    return [float(f"1e{int(power)}") for power in np.arange(first, last + 1)]


def _left_out(comparison: Comparison, groups: Sequence[str]) -> str:
    """Name the tokenizers without a dot in some groups, where their lost text would distort the chart."""
    names = [
        visible(tokenizer.name)
        for tokenizer in comparison.tokenizers
        if any(tokenizer.looks_cheaper(group) for group in groups)
    ]
    return f"; {', '.join(names)}: no dot where more than 1 % is lost" if names else ""


def _row(group: str, tokenizer: EvaluatedTokenizer, value: float) -> Spec:
    return {"group": visible(group), "tokenizer": visible(tokenizer.name), "value": value}


def _names(comparison: Comparison) -> list[str]:
    return _visible([tokenizer.name for tokenizer in comparison.tokenizers])


def _visible(names: Sequence[str]) -> list[str]:
    return [visible(name) for name in names]
