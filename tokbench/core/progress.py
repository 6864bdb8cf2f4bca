"""Progress reports of long work, and the position in the files of documents that are being read."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SECONDS_BETWEEN_REPORTS = 0.1

_T = TypeVar("_T")


class Progress(Protocol):
    """Receives progress reports of long work, in the thread that started it."""

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        """Report `done` of `total` (None if it is not known) in `unit` ("bytes", "merges", …)."""


def no_progress(phase: str, done: int, total: int | None, unit: str) -> None:
    """Ignore progress."""


def total_for(done: int, total: int | None) -> int | None:
    """Return the total to report with `done`; None if more is done than the known total."""
    return total if total is not None and done <= total else None


def known_bytes(documents: object) -> int | None:
    """Return the approximate bytes of text of documents if they are known before reading, else None."""
    size = getattr(documents, "text_bytes", None)
    return size if isinstance(size, int) else None


def files_read(documents: object) -> tuple[int, int] | None:
    """Return the bytes of the documents' files read so far and in total; None if they are not known."""
    position = getattr(documents, "files_read", None)
    return position if isinstance(position, tuple) else None


def reading_of(documents: object) -> Callable[[int], tuple[int, int | None]]:
    """Return a function that maps the bytes of text read so far to the bytes done and in total, for progress reports.

    They are bytes of text where the text's size is known in advance, else bytes of the files that it comes from.

    >>> reading_of(["a", "bc"])(3)
    (3, None)
    """
    total = known_bytes(documents)

    def reported(num_bytes: int) -> tuple[int, int | None]:
        files = files_read(documents) if total is None else None
        return files or (num_bytes, total_for(num_bytes, total))

    return reported


@runtime_checkable
class TellsBlocks(Protocol):
    """A corpus that calls back for each block that it reads from a file, also within a document."""

    on_block: Callable[[], None] | None


def watched(documents: Iterable[_T], source: object, *, phase: str, progress: Progress) -> Iterator[_T]:
    """Yield the documents; report the position in their files up to ten times a second, where it is known.

    Args:
        documents: any documents.
        source: the corpus from which they are read, or a part of it.
        phase: the name of the phase in reports.
        progress: called with the bytes of the files.

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

    with _block_callback(report, source):
        for document in documents:
            report()
            yield document


@contextmanager
def _block_callback(report: Callable[[], None], source: object) -> Iterator[None]:
    """Make a corpus call `report` for each block, if it supports that."""
    if not isinstance(source, TellsBlocks):
        yield
        return
    source.on_block = report
    try:
        yield
    finally:
        source.on_block = None
