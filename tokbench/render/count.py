"""The results of `tokbench count`: a table, and forms for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.render.glyphs import visible
from tokbench.render.table import (
    Column,
    Table,
    count_column,
    result_forms,
    table_of_rows,
    text_cell,
    text_column,
    value_column,
)
from tokbench.render.terminal import write_table
from tokbench.workbench.count import count_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from tokbench.render.table import Forms
    from tokbench.workbench.count import CountResult
    from tokbench.workbench.limit import LimitedText, LimitResult

_CSV_COLUMNS = ("tokenizer", "source", "tokens", "bytes", "characters", "bytes_per_token")

_COLUMNS = ("tokenizer", "source", "limit", "tokens", "exact", "over", "bytes")


def render_count(results: Sequence[CountResult], *, console: Console) -> None:
    """Print a line per text, a total if there are several, and a column of token counts per tokenizer."""
    write_table(count_table(results), console=console)
    console.print(Text(_tokenizers(results), style="dim"))


def count_forms(results: Sequence[CountResult]) -> Forms:
    """Return the forms for other programs; CSV has no totals."""
    return result_forms(
        json=lambda: count_document(results),
        csv=lambda: _csv_rows(results),
        parts=lambda: (count_table(results), _tokenizers(results)),
    )


def count_table(results: Sequence[CountResult]) -> Table:
    """Return a table with a row per text, and the total if there are several."""
    texts = results[0].counts
    totals = [result.total for result in results] if len(texts) > 1 else []
    by_tokenizer = [[*result.counts, *totals[place:][:1]] for place, result in enumerate(results)]
    first = by_tokenizer[0]
    names = ["tokens"] if len(results) == 1 else [visible(result.info.name) for result in results]
    sources = (text_cell(count.source) for count in texts)
    total = (text_cell("total", style="bold") for _ in totals[:1])
    columns = [
        Column("text", (*sources, *total), first="ascending", align="left", is_long=True),
        *(
            count_column(name, [count.tokens for count in counts])
            for name, counts in zip(names, by_tokenizer, strict=True)
        ),
        count_column("bytes", [count.num_bytes for count in first]),
        count_column("characters", [count.characters for count in first]),
    ]
    if len(results) == 1:
        ratios = [count.bytes_per_token for count in first]
        columns.append(value_column("bytes/token", ratios, lambda ratio: f"{ratio:.3f}"))
    return Table("", tuple(columns), sections=frozenset([len(texts)] if totals else []))


def _tokenizers(results: Sequence[CountResult]) -> str:
    names = ", ".join(f"{result.info.name} ({result.info.vocab_size:,} tokens)" for result in results)
    return visible(f"by {names}")


def _csv_rows(results: Sequence[CountResult]) -> Iterator[Sequence[object]]:
    yield _CSV_COLUMNS
    for result in results:
        for count in result.counts:
            numbers = (count.tokens, count.num_bytes, count.characters, count.bytes_per_token)
            yield (result.info.name, count.source, *numbers)


def render_limit(result: LimitResult, *, console: Console) -> None:
    """Print a line per text, marking the texts with too many tokens."""
    several = len({text.info.name for text in result.texts}) > 1
    for text in result.texts:
        is_within = text.tokens <= result.limit
        sign = ("✓ ", "green") if is_within else ("✗ ", "bold red")
        name = f" ({visible(text.info.name)})" if several else ""
        console.print(Text.assemble(sign, f"{visible(text.source)}{name}: {in_words(text, result.limit)}"))


def limit_forms(result: LimitResult) -> Forms:
    """Return the forms for other programs."""

    def rows() -> Iterator[tuple[object, ...]]:
        yield _COLUMNS
        for text in result.texts:
            over = text.tokens - result.limit
            yield text.info.name, text.source, result.limit, text.tokens, text.is_exact, over, text.num_bytes

    def parts() -> Iterator[Table]:
        columns = [text_column("tokenizer"), text_column("text", is_long=True), text_column("result")]
        yield table_of_rows(
            "",
            columns,
            (
                (text_cell(text.info.name), text_cell(text.source), text_cell(in_words(text, result.limit)))
                for text in result.texts
            ),
        )

    return result_forms(json=result.to_json, csv=rows, parts=parts)


def in_words(text: LimitedText, limit: int) -> str:
    """Describe how the length of a text compares with a limit."""
    if not text.is_exact:
        return f"more than {counted(limit, 'token')}: its first {text.num_bytes:,} bytes have {text.tokens:,}"
    if text.tokens > limit:
        return f"{counted(text.tokens, 'token')}, {text.tokens - limit:,} over the limit of {limit:,}"
    return (
        f"{counted(text.tokens, 'token')}, {limit - text.tokens:,} below the limit of {limit:,}"
        if text.tokens < limit
        else f"{counted(text.tokens, 'token')}, exactly the limit"
    )
