"""Progress of long work, and how far the files of documents are read."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SECONDS_BETWEEN_REPORTS = 0.1

_T = TypeVar("_T")


class Progress(Protocol):
    """Receives the progress of long work, in the thread that started it."""

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        """Report `done` of `total` (None where it is not known) in `unit` ("bytes", "merges", …)."""


def no_progress(phase: str, done: int, total: int | None, unit: str) -> None:
    """Ignore progress."""


def total_for(done: int, total: int | None) -> int | None:
    """A total to report beside what is done: none where there is more than was known of."""
    return total if total is not None and done <= total else None


def known_bytes(documents: object) -> int | None:
    """About how many bytes of text documents have, where they know that before they are read; else None."""
    size = getattr(documents, "text_bytes", None)
    return size if isinstance(size, int) else None


def files_read(documents: object) -> tuple[int, int] | None:
    """How far the files of documents are read: bytes on the disk, and of all of them; None where that is not known."""
    found = getattr(documents, "files_read", None)
    return found if isinstance(found, tuple) else None


def reading_of(documents: object) -> Callable[[int], tuple[int, int | None]]:
    """Tells how far documents are read, by the bytes of their text so far: bytes that are done, and in all.

    They are those of the text where its size is known before it is read, else those of the files that it comes from.

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
    """A corpus that calls back for each block that it reads of a file, also within a document."""

    on_block: Callable[[], None] | None


def watched(documents: Iterable[_T], source: object, *, phase: str, progress: Progress) -> Iterator[_T]:
    """The documents, reporting up to ten times a second how far their files are read, where that is known.

    Args:
        documents: any.
        source: the corpus that they are read from, or a part of it.
        phase: what progress calls it.
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
