"""Tables that only the HTML page has: all figures, provenance, lengths, ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.evaluation.evaluated_tokenizer import best_of
from tokbench.metrics.catalogue import METRICS
from tokbench.render.charts.comparison import LONGEST_TOKEN, token_lengths
from tokbench.render.charts.sweep import words_of_size
from tokbench.render.figures import shown
from tokbench.render.glyphs import visible
from tokbench.render.table import Cell, Column, Table, count_column, text_column, value_column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.evaluation.comparison import Comparison
    from tokbench.render.charts.sweep import Point


def figures_table(comparison: Comparison) -> Table:
    """Return a table with a row per metric: its meaning, and its value for each tokenizer."""
    metrics = METRICS.values()
    best = {metric.name: best_of(comparison.tokenizers, metric) for metric in metrics}
    columns = [
        Column(
            visible(tokenizer.name),
            tuple(
                Cell(shown(value, metric), value, best=best[metric.name] == tokenizer.name)
                for metric in metrics
                for value in (tokenizer.figures[metric.name].value,)
            ),
        )
        for tokenizer in comparison.tokenizers
    ]
    return Table(
        "All figures",
        (
            text_column("figure", (metric.title for metric in metrics)),
            *columns,
            text_column(
                "name", (metric.name for metric in metrics), meaning="as --metrics, JSON and CSV call it"
            ),
            text_column("meaning", (metric.meaning for metric in metrics)),
        ),
    )


def provenance_table(comparison: Comparison) -> Table:
    """Return a table with a row per tokenizer: its backend, its engine, and the hash of its tokens."""
    provenance = comparison.provenance
    names = [tokenizer.name for tokenizer in comparison.tokenizers]
    return Table(
        f"tokbench {provenance.versions['tokbench']}, Python {provenance.versions['python']}",
        (
            text_column("tokenizer", names),
            text_column(
                "backend", (tokenizer.candidate.tokenizer.info.backend for tokenizer in comparison.tokenizers)
            ),
            text_column("runs on", (provenance.versions[name] for name in names)),
            text_column("SHA-256 of the tokens", (provenance.vocabularies[name] for name in names)),
        ),
    )


def lengths_table(comparison: Comparison) -> Table:
    """Return a table with a row per length in bytes: the share of each tokenizer's tokens."""
    shares = [token_lengths(tokenizer).tolist() for tokenizer in comparison.tokenizers]
    lengths = [length for length, values in enumerate(zip(*shares, strict=True)) if length or any(values)]
    heads = (Cell(f"{length}+" if length == LONGEST_TOKEN else str(length), length) for length in lengths)
    return Table(
        "Share of tokens by their bytes",
        (
            Column("bytes", tuple(heads), first="ascending"),
            *(
                value_column(visible(tokenizer.name), (found[length] for length in lengths), "{:.2%}".format)
                for tokenizer, found in zip(comparison.tokenizers, shares, strict=True)
            ),
        ),
    )


def frequencies_table(comparison: Comparison) -> Table:
    """Return a table with a row per rank 1, 10, 100, …: the share of each tokenizer's token of that rank."""
    found = [
        np.sort(tokenizer.evaluation.frequencies[tokenizer.evaluation.frequencies > 0])[::-1]
        for tokenizer in comparison.tokenizers
    ]
    ranks = [10**power for power in range(len(str(max(map(len, found)))))]
    columns = []
    for tokenizer, sizes in zip(comparison.tokenizers, found, strict=True):
        shares = (float(sizes[rank - 1] / sizes.sum()) if rank <= len(sizes) else None for rank in ranks)
        columns.append(value_column(visible(tokenizer.name), shares, "{:.4%}".format))
    return Table("Share of tokens by rank", (count_column("rank", ranks, first="ascending"), *columns))


def sweep_table(points: Iterable[Point], knee: int | None, recommended: int | None) -> Table:
    """Return a table with a row per vocabulary size: bytes per token of each group; the recommended size is marked."""
    values = {(size, group): value for size, value, group in points}
    sizes, groups = sorted({size for size, _ in values}), list(dict.fromkeys(group for _, group in values))
    heads = (
        Cell(_marked(size, words_of_size(size, knee, recommended)), size, best=size == recommended)
        for size in sizes
    )
    return Table(
        "Bytes per token by vocabulary size",
        (
            Column("vocab", tuple(heads), first="ascending"),
            *(
                value_column(visible(group), (values.get((size, group)) for size in sizes), "{:.3f}".format)
                for group in groups
            ),
        ),
    )


def _marked(size: int, words: str) -> str:
    return f"{size:,} ({words})" if words else f"{size:,}"
