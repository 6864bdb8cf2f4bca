"""A change of tokenizer on the terminal: kept tokens, figures, groups, and texts that need more tokens."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.wording import counted, is_or_are
from tokbench.evaluation.evaluated_tokenizer import losses
from tokbench.metrics.catalogue import metrics_named
from tokbench.render.comparison_tables import legend_lines, summary_table
from tokbench.render.figures import with_interval
from tokbench.render.glyphs import spelled, text_of, visible
from tokbench.render.table import BEST, NONE, Table, count_column, known_columns, text_column, value_column
from tokbench.render.terminal import print_lines, print_rows, write_table
from tokbench.workbench.migrate import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from tokbench.workbench.migrate import GroupChange, MigrateResult

_TEXT_SHOWN, _LEAST_SHOWN = 60, 20
_COLUMNS_OF_FIGURES = 36
"""Columns between the source and the beginning of a text, including spaces."""


def render_migrate(result: MigrateResult, *, console: Console) -> None:
    """Print the tokens, the figures, the groups and the texts."""
    print_rows(_rows(result), console=console)
    metrics = metrics_named(FIGURES)
    write_table(summary_table(result.comparison, metrics=metrics), console=console)
    print_lines(legend_lines(result.comparison, metrics=metrics, mark=BEST), style="dim", console=console)
    write_table(groups_table(result.groups), console=console)
    if result.groups[0].old_context is not None:
        console.print(Text("context is the characters that fit into it", style="dim"))
    print_lines(losses(result.comparison.tokenizers), style="yellow", console=console)
    if result.texts:
        write_table(texts_table(result, width=console.width), console=console)
    print_lines(result.comparison.provenance.warnings, style="yellow", console=console)


def groups_table(groups: Sequence[GroupChange]) -> Table:
    """Return a table with a row per group: tokens and characters of a context, before and after."""
    return Table(
        "Tokens of each group before and after",
        (
            text_column("group", [visible(change.group) for change in groups]),
            count_column("before", [change.old_tokens for change in groups]),
            count_column("after", [change.new_tokens for change in groups]),
            text_column("change", [_change(change) for change in groups]),
            *known_columns(
                value_column("context before", [change.old_context for change in groups], _whole),
                value_column("context after", [change.new_context for change in groups], _whole),
            ),
        ),
        corner="tokens of",
        bars=tuple(change.ratio for change in groups),
        bars_title="after / before",
    )


def texts_table(result: MigrateResult, *, width: int) -> Table:
    """Return a table with a row per text that grows, fitted to a width so that no source and few texts are broken."""
    sources = _without_common_folder([visible(text.source) for text in result.texts])
    shown = max(_LEAST_SHOWN, min(_TEXT_SHOWN, width - max(map(len, sources)) - _COLUMNS_OF_FIGURES))
    return Table(
        "The texts that grow most",
        (
            text_column("text", sources),
            count_column("before", [text.old_tokens for text in result.texts]),
            count_column("after", [text.new_tokens for text in result.texts]),
            value_column("ratio", [text.ratio for text in result.texts], lambda ratio: f"{ratio:.2f}"),
            text_column("begins", [_beginning(text.text, shown) for text in result.texts], is_long=True),
        ),
        corner="grows most",
    )


def _rows(result: MigrateResult) -> Iterator[tuple[str, Text]]:
    shared = result.shared
    before, after = result.comparison.tokenizers
    for label, tokenizer in (("from", before), ("to", after)):
        info = tokenizer.candidate.tokenizer.info
        yield label, Text(f"{visible(tokenizer.name)} ({info.backend}, {info.vocab_size:,} ids)")
    yield "same", Text(f"{counted(shared.same_id, 'token')} with the same id, {shared.moved:,} with another")
    if shared.by_role:
        roles = ", ".join(f"{role} {old} → {new}" for role, (old, new) in shared.by_role.items())
        yield "same", Text(f"by their role: {roles}")
    yield "gone", Text(counted(shared.only_old, "token"))
    yield (
        "new",
        Text(
            f"{counted(len(shared.only_new), 'token')}: {result.decomposed:,} begin from the old tokens "
            f"that spell them, {result.unknown:,} {is_or_are(result.unknown)} unknown"
        ),
    )
    yield "rows", Text(f"{result.patch['vocab_size']:,} for the model")
    for name, size in result.files.items():
        yield "written", Text(f"{visible(name)}  {counted(size, 'byte')}")
    if result.out is not None:
        yield "in", Text(visible(str(result.out)), style="bold")


def _change(change: GroupChange) -> str:
    if change.ratio is None:
        return NONE
    text = f"{(change.ratio - 1) * 100:+.1f} %"
    if change.interval is None:
        return text
    moved = type(change.interval)(change.interval.low - 1, change.interval.high - 1)
    return with_interval(text, change.ratio - 1, moved, scale=100, digits=1)


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _beginning(text: str, most: int) -> str:
    shown = text_of(spelled(text[:most].encode()))
    return shown if len(text) <= most else f"{shown}…"


def _without_common_folder(sources: list[str]) -> list[str]:
    """Remove the folders that all file names share.

    >>> _without_common_folder(["corpora/de.txt:7", "corpora/code/c.c:3"]), _without_common_folder(["a.txt:1"])
    (['de.txt:7', 'code/c.c:3'], ['a.txt:1'])
    >>> _without_common_folder(["/one/a.txt", "/two/a.txt"])
    ['/one/a.txt', '/two/a.txt']
    """
    folders = zip(*(source.split("/")[:-1] for source in sources), strict=False)
    shared = [names[0] for names in takewhile(lambda names: len(set(names)) == 1, folders)]
    if not any(shared):  # nothing shared, or only the root of absolute paths
        return sources
    return ["/".join(source.split("/")[len(shared) :]) for source in sources]
