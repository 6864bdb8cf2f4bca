"""Count the words of documents: by a kernel, and by the library for characters that it treats differently."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tokbench.backends.wordpiece.agreement import settled_characters
from tokbench.backends.wordpiece.kernel import current_kernel
from tokbench.backends.wordpiece.library_characters import library_words
from tokbench.core.documents import ByteDocuments
from tokbench.core.training import batches, count_sources, count_texts, limits_reported, refuse_one_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokbench.backends.wordpiece.config import WordPieceConfig
    from tokbench.backends.wordpiece.kernel import WordCounter
    from tokbench.core.progress import Progress


def threads_of(config: WordPieceConfig) -> int:
    """The threads that a configuration asks for: all, where it says nothing."""
    return config.threads or os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class NormalWordCounting:
    """How normalized words are counted under a configuration; see `tokbench.core.counted_words.WordCounting`.

    Parts of a text with a character of which the kernel does not make what the installed library makes, are
    normalized by the library, each distinct one once, so that training and encoding see the same words.
    """

    config: WordPieceConfig

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that the counts depend on besides the text."""
        import tokenizers

        return {
            "backend": "wordpiece",
            **asdict(self.config.rules),
            "max_characters_per_word": self.config.max_characters_per_word,
            "special_tokens": sorted(self.config.all_special_tokens),
            "unicode": f"tokenizers {tokenizers.__version__}",
        }

    @property
    def cuts_at_lines(self) -> bool:
        """Whether no special token is in two lines: no word is."""
        return not any("\n" in text[:-1] for text in self.config.all_special_tokens)

    def new_counter(self, *, threads: int, seed: int) -> WordCounter:
        """A counter of the kernel."""
        kernel = current_kernel()
        return kernel.new_counter(
            special_tokens=list(self.config.all_special_tokens),
            settled=settled_characters(kernel, self.config.rules),
            max_characters_per_word=self.config.max_characters_per_word,
            threads=threads,
            seed=seed,
            **asdict(self.config.rules),
        )

    def count(self, counter: WordCounter, documents: Iterable[str], *, progress: Progress) -> None:
        """Hand documents to a counter and finish it; they are streamed, cut at special tokens and never joined.

        Raises:
            CorpusError: a document that cannot be read.
            TrainingError: what was given is not an iterable of texts, or more than the kernel can number.
            TextError: a text holds a lone surrogate.
        """
        refuse_one_text(documents)
        if isinstance(documents, ByteDocuments):
            count_sources(counter, documents, progress=progress)
        else:
            for batch in batches(documents, progress=progress):
                with limits_reported():
                    count_texts(counter, batch)
        with limits_reported():
            counter.finish()
        self.drain(counter)

    def drain(self, counter: WordCounter) -> None:
        """Bring all that has arrived into the words, what the kernel does not normalize, too."""
        with limits_reported():
            counter.drain()
        for part, count in counter.take_unsettled():
            for word in library_words(part, **asdict(self.config.rules)):
                counter.add_counted(word, count)
