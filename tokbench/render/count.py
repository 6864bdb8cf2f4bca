"""What `tokbench count` finds: a table, CSV, JSON."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tokbench.render.glyphs import visible
from tokbench.render.layout import plain_table, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from tokbench.workbench.count import Count, CountResult

_CSV_COLUMNS = ("tokenizer", "source", "tokens", "bytes", "characters", "bytes_per_token")


def render_count(results: Sequence[CountResult], *, console: Console) -> None:
    """A line a text, and the total where there are several; a column of tokens for each tokenizer."""
    names = ["tokens"] if len(results) == 1 else [visible(result.info.name) for result in results]
    ratio = ["bytes/token"] if len(results) == 1 else []
    table = plain_table("", *((name, "right") for name in [*names, "bytes", "characters", *ratio]))
    for row in zip(*(result.counts for result in results), strict=True):
        table.add_row(Text(visible(row[0].source)), *_cells(row))
    if len(results[0].counts) > 1:
        table.add_section()
        table.add_row(Text("total", style="bold"), *_cells([result.total for result in results]))
    print_table(table, console=console)
    by = ", ".join(f"{result.info.name} ({result.info.vocab_size:,} entries)" for result in results)
    console.print(Text(visible(f"by {by}"), style="dim"))


def _cells(counts: Sequence[Count]) -> Iterator[str]:
    """The numbers of a text: its tokens by each tokenizer, and its lengths; with one tokenizer their ratio."""
    yield from (f"{count.tokens:,}" for count in counts)
    yield f"{counts[0].num_bytes:,}"
    yield f"{counts[0].characters:,}"
    if len(counts) == 1:
        ratio = counts[0].bytes_per_token
        yield "–" if ratio is None else f"{ratio:.3f}"


def count_csv(results: Sequence[CountResult]) -> str:
    """A line for each tokenizer and text, under a head; without totals, which a sum gives."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    for result in results:
        for count in result.counts:
            numbers = (count.tokens, count.num_bytes, count.characters, count.bytes_per_token)
            writer.writerow([result.info.name, count.source, *numbers])
    return text.getvalue()


def count_document(results: Sequence[CountResult]) -> dict[str, Any]:
    """One tokenizer's document as it is; of several, each as one of `tokenizers`."""
    documents = [result.to_json() for result in results]
    if len(documents) == 1:
        return documents[0]
    return {"schema": documents[0]["schema"], "tokenizers": documents}
