"""Counting of pre-tokens: documents → a counter of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.reference import cut_at_special_tokens
from tokbench.backends.bpe.split_patterns import resolve_pattern, split
from tokbench.backends.bpe.split_programs.compiled import compiled_for
from tokbench.core.base import utf8
from tokbench.core.documents import ByteDocuments
from tokbench.core.training import batches, count_sources, count_texts, limits_reported, refuse_one_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokbench.backends.bpe.config import BpeConfig
    from tokbench.backends.bpe.kernel import PretokenCounter
    from tokbench.backends.bpe.split_patterns import SplitPattern
    from tokbench.core.progress import Progress
    from tokbench.native._bpe import CompiledPattern


_WITHOUT_CUTS = ("superwords", "none")
"""Patterns with which the pre-tokens of a line depend on the lines around it."""


@dataclass(frozen=True, slots=True)
class PretokenCounting:
    """The counting of pre-tokens under a configuration; see `tokbench.core.counted_words.WordCounting`."""

    config: BpeConfig

    @property
    def pattern(self) -> SplitPattern:
        """The pattern that splits texts."""
        return resolve_pattern(self.config.pattern)

    @property
    def reads_bytes(self) -> bool:
        """Whether the kernel splits UTF-8 as it is read from a file, without creating Python strings."""
        return self._kernel_pattern is not None and self.pattern.normalization is None

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything besides the text that the counts depend on."""
        return {
            "backend": "bpe",
            "pattern": self.config.pattern,
            "pattern_regex": self.pattern.regex,
            "normalization": self.pattern.normalization,
            "special_tokens": sorted(self.config.special_tokens),
            "unicode": _unicode_tables(self.pattern),
        }

    @property
    def cuts_at_lines(self) -> bool:
        """Whether lines can be counted apart: the pattern allows it (`native/bpe/patterns.hpp`), special tokens too."""
        is_known = not self.pattern.is_custom and self.pattern.name not in _WITHOUT_CUTS
        return is_known and not any("\n" in text[:-1] for text in self.config.special_tokens)

    def new_counter(self, *, threads: int, seed: int) -> PretokenCounter:
        """Create a counter of the kernel."""
        return current_kernel().new_counter(
            pattern=self._kernel_pattern,
            special_tokens=list(self.config.special_tokens),
            threads=threads,
            seed=seed,
        )

    def count(self, counter: PretokenCounter, documents: Iterable[str], *, progress: Progress) -> None:
        """Pass documents to a counter and finish it. Raises `CorpusError`, `TrainingError`."""
        refuse_one_text(documents)
        if self.reads_bytes and isinstance(documents, ByteDocuments):
            count_sources(counter, documents, progress=progress)
            return
        for batch in batches(documents, progress=progress):
            self.add(counter, batch)
        with limits_reported():
            counter.finish()

    def add(self, counter: PretokenCounter, texts: list[str]) -> None:
        """Add whole documents to a counter. Raises `TextError` for lone surrogates."""
        if self._kernel_pattern is None:
            self._count_split(counter, texts)
        else:
            count_texts(counter, texts, normalized=self.pattern.normalized)

    def drain(self, counter: PretokenCounter) -> None:
        """Wait until everything that the counter received is in its counts."""
        with limits_reported():
            counter.drain()

    @property
    def _kernel_pattern(self) -> str | CompiledPattern | None:
        """What the kernel splits by; None if `regex` splits, by a custom pattern that the kernel cannot compile."""
        return self.pattern.kernel_name or compiled_for(current_kernel(), self.pattern)

    def _count_split(self, counter: PretokenCounter, texts: list[str]) -> None:
        """Split by a custom pattern with the `regex` package."""
        from collections import Counter

        num_bytes = sum(len(utf8(text)) for text in texts)
        counts: Counter[str] = Counter()
        for text in texts:
            for piece in cut_at_special_tokens(text, self.config.special_tokens):
                if not piece.is_special:
                    counts.update(split(self.pattern, piece.text))
        for pretoken, count in counts.items():
            counter.add_counted(pretoken, count)
        counter.add_totals(
            documents=sum(1 for text in texts if text), num_bytes=num_bytes, pretokens=counts.total()
        )


def _unicode_tables(pattern: SplitPattern) -> str:
    """Return the version of the Unicode tables that the pattern uses."""
    if current_kernel().name == "native" and not pattern.is_custom:
        from tokbench.native import _bpe

        return _bpe.UNICODE_TABLES
    import regex

    return f"regex {regex.__version__}"
