"""Documents whose reading is told while somebody else takes them one by one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from tokbench.core.interfaces import files_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.interfaces import Progress

_SECONDS_BETWEEN_REPORTS = 0.1

_T = TypeVar("_T")


def watched(documents: Iterable[_T], source: object, *, phase: str, progress: Progress) -> Iterator[_T]:
    """The documents; ten times a second is told how far their files are read, where that is known.

    Args:
        documents: any.
        source: the corpus that they are read from, or a part of it.
        phase: what progress calls it.
        progress: told in bytes of the files.

    >>> list(watched(["a", "b"], ["a", "b"], phase="reading", progress=print))
    ['a', 'b']
    """
    reported = time.monotonic()
    for document in documents:
        now = time.monotonic()
        if now - reported >= _SECONDS_BETWEEN_REPORTS and (place := files_read(source)) is not None:
            reported = now
            progress(phase, *place, "bytes")
        yield document
