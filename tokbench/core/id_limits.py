"""Limits on ids: a table indexed by id is as long as the largest id, however few tokens there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from pathlib import Path

_ALWAYS_ALLOWED = 1 << 18
"""Ids that are always accepted: as many as the largest vocabularies in use have, some tens of megabytes of tables."""
_IDS_PER_ENTRY = 16


def ids_held(num_entries: int) -> int:
    """Return the number of ids that a vocabulary of this many tokens may span, including gaps.

    The limit grows with the file, and so do tables. Real vocabularies have gaps, as before special tokens, but few.

    >>> ids_held(300), ids_held(200_000)
    (262144, 3200000)
    """
    return max(_ALWAYS_ALLOWED, _IDS_PER_ENTRY * num_entries)


def check_largest_id(largest: int, *, num_entries: int, path: Path | str) -> None:
    """Reject an id far above the number of tokens: 3 KB could demand gigabytes of tables. Raises `ModelFormatError`."""
    most = ids_held(num_entries)
    if largest >= most:
        raise ModelFormatError(
            path,
            f"ids below {most} for {num_entries:,} tokens",
            f"the id {largest}",
            hint="the file was damaged, or made to exhaust memory; vocabularies have few unused ids",
        )
