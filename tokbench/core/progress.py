"""How long work reports its progress, and how far documents are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


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
