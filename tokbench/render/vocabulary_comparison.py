"""The differences of two tokenizers, as `tokbench inspect A B` shows them."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.render.glyphs import EMPTY_MARK, spelled, text_of, visible
from tokbench.render.table import (
    NONE,
    Cell,
    Column,
    Table,
    count_cell,
    result_forms,
    table_of_rows,
    text_cell,
    text_column,
)
from tokbench.render.terminal import write_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from tokbench.render.table import Forms
    from tokbench.workbench.compare_vocabularies import VocabularyComparison

_LONGEST_VALUE = 120
_name = partial(text_column, is_long=True)


def render_comparison_of_two(result: VocabularyComparison, *, top: int, console: Console) -> None:
    """Print the differences, a table for each kind."""
    for part in parts_of(result, top=top):
        if isinstance(part, Table):
            console.print(Text(part.caption, style="bold"))
            write_table(part, console=console)
        else:
            console.print(Text(part))


def forms_of_comparison(result: VocabularyComparison, *, top: int) -> Forms:
    """Return the forms for other programs; CSV has a row per difference."""
    return result_forms(
        json=result.to_json, csv=lambda: _rows(result), parts=lambda: parts_of(result, top=top)
    )


def parts_of(result: VocabularyComparison, *, top: int) -> Iterator[Table | str]:
    """Yield sentences and tables; each table has at most `top` rows."""
    first_name, second_name = map(visible, result.names)
    found = result.differences
    yield (
        f"{first_name} and {second_name}: {counted(result.same_tokens, 'token')} under the same id, "
        f"{len(found.moved):,} under another, {len(found.only_first):,} only in {first_name}, "
        f"{len(found.only_second):,} only in {second_name}"
    )
    yield _merges_in_words(result)
    if result.is_same:
        yield "nothing differs"
    heads = [_name("setting"), _name(first_name), _name(second_name)]
    settings = (
        [text_cell(setting.name), _value(setting.first), _value(setting.second)]
        for setting in result.settings
    )
    yield from _table("Settings", heads, settings, total=len(result.settings), top=None)
    heads = [_name("special token"), Column(f"id in {first_name}"), Column(f"id in {second_name}")]
    special = (
        [text_cell(text), _id_cell(first), _id_cell(second)]
        for text, (first, second) in result.special_tokens.items()
    )
    yield from _table("Special tokens", heads, special, total=len(result.special_tokens), top=top)
    first, second = result.tokens
    moved = (
        [_token(first[id]), _id_cell(id), text_cell(", ".join(map(str, there)))]
        for id, there in found.moved.items()
    )
    heads = [_name("token"), Column(f"id in {first_name}"), Column(f"id in {second_name}", align="left")]
    yield from _table("Under another id", heads, moved, total=len(found.moved), top=top)
    for name, tokens, ids in (
        (first_name, first, found.only_first),
        (second_name, second, found.only_second),
    ):
        rows = ([_token(tokens[id]), _id_cell(id)] for id in ids)
        yield from _table(f"Only in {name}", [_name("token"), Column("id")], rows, total=len(ids), top=top)
    if result.merges is not None:
        alone = (result.merges.only_first, result.merges.only_second)
        for name, merges, ranks in zip((first_name, second_name), result.merge_lists, alone, strict=True):
            rows = ([_merge(merges[rank]), count_cell(rank)] for rank in ranks)
            heads = [_name("merge"), Column("rank")]
            yield from _table(f"Merges only in {name}", heads, rows, total=len(ranks), top=top)


def _merges_in_words(result: VocabularyComparison) -> str:
    if result.merges_not_compared is not None:
        return f"merges: not compared, {visible(result.merges_not_compared)}"
    if result.merges is None:
        return "merges: the same"
    first_name, second_name = map(visible, result.names)
    found = result.merges
    return (
        f"merges: different from rank {found.rank:,} on; {len(found.only_first):,} only in {first_name}, "
        f"{len(found.only_second):,} only in {second_name}, {found.moved:,} others moved"
    )


def _table(
    caption: str, heads: Sequence[Column], rows: Iterable[Sequence[Cell]], *, total: int, top: int | None
) -> Iterator[Table]:
    if total:
        shown = list(islice(rows, top))
        more = f" (the first {len(shown):,} of {total:,}: --top)" if len(shown) < total else f" ({total:,})"
        yield table_of_rows(caption + more, heads, shown, corner=heads[0].title)


def _rows(result: VocabularyComparison) -> Iterator[tuple[object, ...]]:
    """Yield rows of kind, subject, and its place in the first and in the second tokenizer."""
    first, second = result.tokens
    found = result.differences
    yield "kind", "what", "first", "second"
    for setting in result.settings:
        yield "setting", setting.name, setting.first, setting.second
    for text, ids in result.special_tokens.items():
        yield "special token", text, *ids
    for id, there in found.moved.items():
        yield "moved token", first[id].hex(), id, " ".join(map(str, there))
    for id in found.only_first:
        yield "only first", first[id].hex(), id, None
    for id in found.only_second:
        yield "only second", second[id].hex(), None, id
    if result.merges is not None:
        for rank in result.merges.only_first:
            yield "merge only first", _merge_hex(result.merge_lists[0][rank]), rank, None
        for rank in result.merges.only_second:
            yield "merge only second", _merge_hex(result.merge_lists[1][rank]), None, rank


def _id_cell(id: int | None) -> Cell:
    return Cell(NONE if id is None else str(id), id)


def _token(data: bytes) -> Cell:
    shown = text_of(spelled(data)) or EMPTY_MARK
    return Cell(shown, shown)


def _merge(parts: tuple[Any, Any]) -> Cell:
    shown = " + ".join(text_of(spelled(part)) for part in parts)
    return Cell(shown, shown)


def _merge_hex(parts: tuple[Any, Any]) -> str:
    return " ".join(part.hex() for part in parts)


def _value(value: Any) -> Cell:
    if isinstance(value, bool):
        value = "yes" if value else "no"
    shown = NONE if value is None else visible(value if isinstance(value, str) else str(value))
    return Cell(shown if len(shown) <= _LONGEST_VALUE else f"{shown[:_LONGEST_VALUE]}…", shown)
