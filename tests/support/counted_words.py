"""Counting words in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.corpus import open_corpus
from tokbench.distributed.engines.open import InProcessEngine
from tokbench.workbench.count_words import CountWordsResult, count_words

if TYPE_CHECKING:
    from pathlib import Path


def counted(paths: list[Path], out: Path, **options: Any) -> CountWordsResult:
    options = {"engine": InProcessEngine(threads=1), "options": {}, **options}
    return count_words(open_corpus(*paths), out=str(out), **options)
