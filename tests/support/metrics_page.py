"""docs/metrics.md, generated from the catalogue of metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.explanations import BESIDE
from tokbench.metrics.metric import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.metrics.metric import Metric

HEAD = """\
# Metrics

<!-- Made of tokbench/metrics/catalogue.py by `python tests/golden/test_readme.py`: change that, not this page. -->

`tokbench compare`, `report`, `sweep` and `check` compute these figures. `--metrics` takes their names, and
`tokbench compare --metrics help` prints this list.

- A figure is a ratio of sums over all text, unless stated otherwise. `compare --aggregate macro` takes the mean
  over groups instead, `per_document` the mean over documents.
- A figure with a zero denominator is `null` in JSON and `–` in a table, never 0.
- A document that gives no tokens (white space, or characters that a tokenizer drops) counts in the figures of decoding
  and is left out of all other ratios.
- A share is between 0 and 1 in JSON, and a percentage in a table.
- "Better" is the direction in which a figure is ranked; a figure with "neither" has no star. A star needs a significant
  difference to every other lossless tokenizer.
- An interval is a 95 % paired bootstrap interval over independently sampled units: aligned lines with all their
  languages, files with all their parts, or documents. With fewer than five units there is no interval. Two tokenizers
  are compared on the same resamples. Figures that are not ratios of counts have no interval, except the two entropies,
  whose interval is that of the jackknife.
- Intervals are not corrected for the number of comparisons: of twenty figures or groups by which two tokenizers do not
  differ, one is expected to look significant.
- Up to 4,096 units are resampled individually. Beyond that, units are combined by a hash of the document's file and
  position, so that memory does not grow with the text; the expected width of intervals is unchanged.
"""

THEMES = {
    "compression": "Compression",
    "vocabulary": "Vocabulary and coverage",
    "fidelity": "Fidelity",
    "numbers": "Numbers",
    "code": "Program code",
}

COUNTED = """
## What is counted

The counts used in "computed as", each summed over documents. A boundary is a position where a token starts or stops; a
token touches a word if they share a byte. The JSON of a comparison has them for all text, as `counts`, and for each
group, as `group_counts`.

"""
BESIDE_THEM = """
## Beside the metrics

These figures are shown where they apply; `--metrics` does not accept them.

"""
NOT_A_RATIO = {
    "single_token_word_types": "distinct words",
    "vocab_utilization": "ids that occur",
    "reachable_utilization": "ids that occur",
}


def metrics_page() -> str:
    """Return the page: every metric once, by its name in JSON, and the counts that it is computed from."""
    parts = [HEAD]
    for theme, title in THEMES.items():
        rows = [_row(metric) for metric in METRICS.values() if metric.theme == theme]
        parts.append(
            f"\n## {title}\n\n{table(('name', 'in tables', 'unit', 'better', 'meaning', 'computed as'), rows)}"
        )
    beside = (
        (f"`{count.name}`", count.title, count.unit, count.direction, count.meaning) for count in BESIDE
    )
    parts += [BESIDE_THEM, table(("name", "in tables", "unit", "better", "meaning"), beside)]
    used = {name for metric in METRICS.values() for name in (*metric.numerator, *metric.denominator)}
    counted = ((f"`{name}`", meaning) for name, meaning in MEANINGS.items() if name in used)
    parts += [COUNTED, table(("count", "what it counts"), counted)]
    return "".join(parts)


def _row(metric: Metric) -> tuple[str, ...]:
    return (
        f"`{metric.name}`",
        metric.title,
        metric.unit,
        metric.direction,
        metric.meaning,
        _formula(metric),
    )


def _formula(metric: Metric) -> str:
    if metric.compute is not None:
        return NOT_A_RATIO.get(metric.name, "frequencies of ids")
    above, below = (_sum(terms) for terms in (metric.numerator, metric.denominator))
    return f"`1 - {above} / {below}`" if metric.complement else f"`{above} / {below}`"


def _sum(terms: tuple[str, ...]) -> str:
    """Format a sum; a count that occurs n times is multiplied by n."""
    parts = [
        f"{terms.count(term)} * {term}" if terms.count(term) > 1 else term for term in dict.fromkeys(terms)
    ]
    return f"({' + '.join(parts)})" if len(parts) > 1 else parts[0]


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Format a Markdown table."""
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
