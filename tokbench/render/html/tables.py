"""The tables of the page that other forms do not have: every figure, provenance, lengths, ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.evaluation.ranking import best_of
from tokbench.metrics.catalogue import METRICS
from tokbench.render.cells import NONE, Cell, Column, Table, count_cell, name_cell
from tokbench.render.charts.comparison import LONGEST_TOKEN, token_lengths
from tokbench.render.charts.sweep import words_of_size
from tokbench.render.figures import shown
from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.evaluation.comparison import Comparison
    from tokbench.render.charts.sweep import Point


def figures_table(comparison: Comparison) -> Table:
    """A row for each metric there is: what it means, and what each tokenizer has."""
    rows = []
    for metric in METRICS.values():
        best = best_of(comparison.tokenizers, metric)
        values = [(one.name, one.figures[metric.name].value) for one in comparison.tokenizers]
        cells = (Cell(shown(value, metric), value, best=name == best) for name, value in values)
        words = (Cell(text, text) for text in (metric.name, metric.meaning))
        rows.append((Cell(metric.title, metric.title), *cells, *words))
    return Table(
        caption="All figures",
        columns=(
            Column("figure", first="ascending"),
            *(Column(visible(one.name)) for one in comparison.tokenizers),
            Column("name", "as --metrics, JSON and CSV call it", first="ascending"),
            Column("meaning", first="ascending"),
        ),
        rows=tuple(rows),
    )


def provenance_table(comparison: Comparison) -> Table:
    """A row for each tokenizer: what made it, what runs it, and the hash of its entries."""
    found = comparison.provenance
    heads = ("tokenizer", "backend", "runs on", "SHA-256 of the entries")
    return Table(
        caption=f"tokbench {found.versions['tokbench']}, Python {found.versions['python']}",
        columns=tuple(Column(head, first="ascending") for head in heads),
        rows=tuple(
            (
                name_cell(one.name),
                name_cell(one.candidate.tokenizer.info.backend),
                name_cell(found.versions[one.name]),
                name_cell(found.vocabularies[one.name]),
            )
            for one in comparison.tokenizers
        ),
    )


def lengths_table(comparison: Comparison) -> Table:
    """A row for each length in bytes: the share of each tokenizer's tokens."""
    shares = [token_lengths(one).tolist() for one in comparison.tokenizers]
    rows = []
    for length, values in enumerate(zip(*shares, strict=True)):
        if length or any(values):
            text = f"{length}+" if length == LONGEST_TOKEN else str(length)
            rows.append((Cell(text, length), *(Cell(f"{share:.2%}", share) for share in values)))
    return Table(
        caption="Share of tokens by their bytes",
        columns=(Column("bytes", first="ascending"), *_tokenizers(comparison)),
        rows=tuple(rows),
    )


def frequencies_table(comparison: Comparison) -> Table:
    """A row for the ranks 1, 10, 100, …: the share of each tokenizer's token at that place."""
    found = [
        np.sort(one.evaluation.frequencies[one.evaluation.frequencies > 0])[::-1]
        for one in comparison.tokenizers
    ]
    rows = []
    for rank in (10**power for power in range(len(str(max(map(len, found)))))):
        shares = [float(one[rank - 1] / one.sum()) if rank <= len(one) else None for one in found]
        rows.append(
            (count_cell(rank), *(Cell(NONE if share is None else f"{share:.4%}", share) for share in shares))
        )
    return Table(
        caption="Share of tokens by rank",
        columns=(Column("rank", first="ascending"), *_tokenizers(comparison)),
        rows=tuple(rows),
    )


def sweep_table(points: Iterable[Point], knee: int | None, recommended: int | None) -> Table:
    """A row for each vocabulary size: bytes per token of each group; the recommended size is marked as the best."""
    values = {(size, group): value for size, value, group in points}
    sizes, groups = sorted({size for size, _ in values}), list(dict.fromkeys(group for _, group in values))
    found = {size: [values.get((size, group)) for group in groups] for size in sizes}
    return Table(
        caption="Bytes per token by vocabulary size",
        columns=(Column("entries", first="ascending"), *(Column(visible(group)) for group in groups)),
        rows=tuple(
            (
                Cell(_marked(size, words_of_size(size, knee, recommended)), size, best=size == recommended),
                *(Cell(_ratio(value), value) for value in found[size]),
            )
            for size in sizes
        ),
    )


def _tokenizers(comparison: Comparison) -> tuple[Column, ...]:
    return tuple(Column(visible(one.name)) for one in comparison.tokenizers)


def _marked(size: int, words: str) -> str:
    return f"{size:,} ({words})" if words else f"{size:,}"


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"
