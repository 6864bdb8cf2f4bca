"""Counting of the words of lines: documents → a counter of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.backends.sentencepiece.kernel import current_kernel
from tokbench.backends.sentencepiece.options import chosen_options
from tokbench.core.documents import ByteDocuments
from tokbench.core.progress import reading_of
from tokbench.core.training import batches, count_sources, count_texts, limits_reported

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokbench.backends.sentencepiece.kernel import WordCounter
    from tokbench.core.progress import Progress
    from tokbench.libraries.sentencepiece.config import SentencePieceConfig


@dataclass(frozen=True, slots=True)
class LineWordCounting:
    """The counting of the words of lines under a configuration; see `tokbench.core.counted_words.WordCounting`."""

    config: SentencePieceConfig
    backend: str = "unigram"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything besides the text that the counts depend on."""
        return {
            "backend": self.backend,
            "add_dummy_prefix": self.config.add_dummy_prefix,
            "remove_extra_whitespaces": self.config.remove_extra_whitespaces,
            "split_by_whitespace": chosen_options(self.config).split_by_whitespace,
            "special_tokens": sorted(self.config.special_tokens),
        }

    @property
    def cuts_at_lines(self) -> bool:
        """Whether lines can be counted apart: no word spans two lines, and no special token does."""
        return not any("\n" in text[:-1] for text in self.config.special_tokens)

    def new_counter(self, *, threads: int, seed: int | None = None) -> WordCounter:
        """Create a counter of the kernel; without a seed, the kernel uses its default."""
        counter: WordCounter = current_kernel().new_counter(
            dummy_prefix=self.config.add_dummy_prefix,
            collapse=self.config.remove_extra_whitespaces,
            whole_lines=not chosen_options(self.config).split_by_whitespace,
            special_tokens=list(self.config.special_tokens),
            threads=threads,
            **({} if seed is None else {"seed": seed}),
        )
        return counter

    def count(self, counter: WordCounter, documents: Iterable[str], *, progress: Progress) -> None:
        """Pass documents to a counter and finish it. Raises `CorpusError`, `TrainingError`."""
        if current_kernel().reads_bytes and isinstance(documents, ByteDocuments):
            count_sources(counter, documents, progress=progress, phase="reading")
            return
        for batch in batches(documents, progress=progress, phase="reading"):
            count_texts(counter, batch)
        with limits_reported():
            counter.finish()
        tell_all_read(counter.num_bytes, documents, progress=progress)

    def drain(self, counter: WordCounter) -> None:
        """Wait until everything that the counter received is in its counts."""
        with limits_reported():
            counter.drain()


def tell_all_read(num_bytes: int, documents: object, *, progress: Progress) -> None:
    """Report that all documents are read."""
    done, total = reading_of(documents)(num_bytes)
    progress("reading", total or done, total or done, "bytes")
