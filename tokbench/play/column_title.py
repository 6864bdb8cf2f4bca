"""The title of a column: its tokenizer, its number of tokens, and how they compare with the other columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from tokbench.core.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.play.columns import Column

_SHORTEST_NAME = 8
_BETWEEN = 2
"""Minimum columns between the name and the figures."""


def title_figures(column: Column, *, fewest: int, has_others: bool) -> list[str]:
    """Return the figures of a column, the longest form first; for a part of a text there are none yet.

    Args:
        column: the tokens.
        fewest: the smallest number of tokens of any column.
        has_others: whether there are other columns.
    """
    if not column.part.is_whole:
        return ["…"]
    count = len(column)
    tokens = counted(count, "token")
    if not has_others:
        return [f"{tokens} · {len(column.data) / count:.2f} bytes/token", tokens] if count else [tokens]
    more = 100 * (count / fewest - 1) if 0 < fewest < count else 0.0
    exact, short = (f" +{more:.1f} %", f" +{more:.0f}%") if more else ("", "")
    differ = f"{column.num_differ:,} differ"
    return [
        f"{tokens}{exact} · {differ}",
        f"{tokens}{short} · {differ}",
        f"{count:,}{short} · {differ}",
        f"{tokens}{short}",
        f"{count:,}{short}",
        f"{count:,}",
    ]


def fitted_title(name: str, figures: Sequence[str], *, width: int) -> tuple[str, str]:
    """Fit a name and figures side by side; the name keeps enough characters to distinguish columns.

    Args:
        name: the whole name.
        figures: forms of the same figures, the longest first.
        width: available columns for both.

    >>> fitted_title("bert-base-uncased", ["12 tokens +20.0 %", "12 +20%"], width=20)
    ('bert-base-…', '12 +20%')
    """
    least = min(cell_len(name), _SHORTEST_NAME) + _BETWEEN
    chosen = next((form for form in figures if least + cell_len(form) <= width), figures[-1])
    room = max(width - _BETWEEN - cell_len(chosen), 1)
    if cell_len(name) > room:
        name = set_cell_size(name, room - 1) + "…"
    return name, chosen
