"""Report progress while documents are read."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from tokbench.core.progress import files_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tokbench.core.progress import Progress

_SECONDS_BETWEEN_REPORTS = 0.1

_T = TypeVar("_T")


@runtime_checkable
class TellsBlocks(Protocol):
    """A corpus that calls somebody for each block that it reads of a file, also within a document."""

    on_block: Callable[[], None] | None


def watched(documents: Iterable[_T], source: object, *, phase: str, progress: Progress) -> Iterator[_T]:
    """The documents, reporting up to ten times a second how far their files are read, where that is known.

    Args:
        documents: any.
        source: the corpus that they are read from, or a part of it.
        phase: what progress calls it.
        progress: told in bytes of the files.

    >>> list(watched(["a", "b"], ["a", "b"], phase="reading", progress=print))
    ['a', 'b']
    """
    reported = time.monotonic()

    def report() -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported >= _SECONDS_BETWEEN_REPORTS and (position := files_read(source)) is not None:
            reported = now
            progress(phase, *position, "bytes")

    with _calling(report, source):
        for document in documents:
            report()
            yield document


@contextmanager
def _calling(report: Callable[[], None], source: object) -> Iterator[None]:
    """Have a corpus call for each block, where it can."""
    if not isinstance(source, TellsBlocks):
        yield
        return
    source.on_block = report
    try:
        yield
    finally:
        source.on_block = None
