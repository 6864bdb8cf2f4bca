"""Counting of the words of documents on a kernel, with the library for characters that it treats differently."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class NormalWordCounting:
    """The counting of normalized words under a configuration; see `tokbench.core.counted_words.WordCounting`.

    Parts of a text with a character that the kernel and the installed library normalize differently are normalized
    by the library, each distinct part once, so that training and encoding see the same words.
    """

    config: WordPieceConfig

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything besides the text that the counts depend on."""
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
        """Whether lines can be counted apart: no word spans two lines, and no special token does."""
        return not any("\n" in text[:-1] for text in self.config.all_special_tokens)

    def new_counter(self, *, threads: int, seed: int) -> WordCounter:
        """Create a counter of the kernel."""
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
        """Pass documents to a counter and finish it; they are streamed, split at special tokens and never joined.

        Raises:
            CorpusError: a document cannot be read.
            TrainingError: `documents` is a single text, or there are too many words for the kernel.
            TextError: a text contains a lone surrogate.
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
        """Wait until everything received is in the counts, including the parts that the library normalizes."""
        with limits_reported():
            counter.drain()
        for part, count in counter.take_unsettled():
            for word in library_words(part, **asdict(self.config.rules)):
                counter.add_counted(word, count)
