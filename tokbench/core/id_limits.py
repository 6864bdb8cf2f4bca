"""Limits on ids: a table indexed by id is as long as the largest id, however few tokens there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from pathlib import Path

_ALWAYS_HELD = 1 << 18
"""Ids that are held whatever the vocabulary: as many as the largest in use have, some tens of megabytes."""
_IDS_AN_ENTRY = 16


def ids_held(num_entries: int) -> int:
    """How many ids a vocabulary of this many tokens may count: its tables grow with its file, gaps included.

    Real vocabularies have gaps, as before special tokens, but few of them.

    >>> ids_held(300), ids_held(200_000)
    (262144, 3200000)
    """
    return max(_ALWAYS_HELD, _IDS_AN_ENTRY * num_entries)


def check_largest_id(largest: int, *, num_entries: int, path: Path | str) -> None:
    """Refuse an id far beyond the tokens: 3 KB would make tables of gigabytes. Raises `ModelFormatError`."""
    most = ids_held(num_entries)
    if largest >= most:
        raise ModelFormatError(
            path,
            f"ids below {most} for {num_entries:,} tokens",
            f"the id {largest}",
            hint="the file was damaged, or made to exhaust memory; vocabularies have few unused ids",
        )
