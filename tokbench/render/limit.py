"""What `tokbench count --limit` finds: a line for each text, and the forms that other programs read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.render.exports import result_forms
from tokbench.render.glyphs import visible
from tokbench.render.table import table_of_rows, text_cell, text_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tokbench.render.exports import Forms
    from tokbench.render.table import Table
    from tokbench.workbench.limit import LimitedText, LimitResult

_COLUMNS = ("tokenizer", "source", "limit", "tokens", "exact", "over", "bytes")


def render_limit(result: LimitResult, *, console: Console) -> None:
    """A line for each text, those that have too many tokens marked."""
    several = len({text.info.name for text in result.texts}) > 1
    for text in result.texts:
        is_within = text.tokens <= result.limit
        sign = ("✓ ", "green") if is_within else ("✗ ", "bold red")
        name = f" ({visible(text.info.name)})" if several else ""
        console.print(Text.assemble(sign, f"{visible(text.source)}{name}: {in_words(text, result.limit)}"))


def limit_forms(result: LimitResult) -> Forms:
    """The same in the forms that other programs read."""

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
    """How the length of a text compares with a limit."""
    if not text.is_exact:
        return f"more than {counted(limit, 'token')}: its first {text.num_bytes:,} bytes have {text.tokens:,}"
    if text.tokens > limit:
        return f"{counted(text.tokens, 'token')}, {text.tokens - limit:,} more than {limit:,}"
    return (
        f"{counted(text.tokens, 'token')}, {limit - text.tokens:,} fewer than {limit:,}"
        if text.tokens < limit
        else f"{counted(text.tokens, 'token')}, just as many as may be"
    )
