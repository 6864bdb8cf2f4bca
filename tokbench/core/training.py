"""What is the same in the training of every backend: its documents, their identity, and why it ends early."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.documents import ByteDocuments
from tokbench.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.core.documents import TextIdentity


def refuse_one_text(documents: object) -> None:
    """Raise `TrainingError` for a text where documents are needed: its characters would be taken for them."""
    if isinstance(documents, str | bytes):
        raise TrainingError(
            "documents is one text, where an iterable of texts is needed",
            hint="pass [text], or open_corpus(path)",
        )


def identity_of(documents: object) -> Callable[[], TextIdentity] | None:
    """What identifies documents once they were read; None for those that cannot tell which they are.

    >>> identity_of(["a", "b"]) is None
    True
    """
    return documents.identity if isinstance(documents, ByteDocuments) else None


def early_end(reason: str, *, learned: int, wanted: int, unit: str = "tokens") -> str | None:
    """Why a training ended before it had learned what was wanted; None where it did not.

    Args:
        reason: what the text has no more of.
        learned: how many it learned.
        wanted: how many were asked for.
        unit: of what.

    >>> early_end("the text has no more words", learned=1_000, wanted=2_000)
    'the text has no more words: 1,000 of 2,000 tokens were learned'
    """
    return None if learned >= wanted else f"{reason}: {learned:,} of {wanted:,} {unit} were learned"
