"""Counting words for WordPiece in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.backends.wordpiece.training import NormalWordCounting
from tokbench.core.progress import no_progress

if TYPE_CHECKING:
    from tokbench.backends.wordpiece.config import WordPieceConfig
    from tokbench.backends.wordpiece.kernel import WordCounter


def counted_words(texts: list[str], config: WordPieceConfig) -> WordCounter:
    """Return a finished counter of whole documents on the current kernel."""
    counting = NormalWordCounting(config)
    counter = counting.new_counter(threads=2, seed=config.seed)
    counting.count(counter, texts, progress=no_progress)
    return counter
