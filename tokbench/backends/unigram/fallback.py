"""The kernel in Python: the training interface of `_sentencepiece_training`, implemented by the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.backends.unigram import reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.backends.sentencepiece.fallback import TrainingText


def train_unigram(
    text: TrainingText,
    *,
    threads: int,
    progress: Callable[[int, int], object] | None,
    **options: Any,
) -> tuple[list[str], list[float], int]:
    """Learn pieces; return them, their scores, and the number of rounds."""
    del threads
    done = 0

    def end_round(left: int) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, left)

    pieces = reference.train(
        text.segments, text.rules, characters=frozenset(text.occurrences), progress=end_round, **options
    )
    return [piece for piece, _ in pieces], [score for _, score in pieces], done
