"""The WordPiece backend: training and encoding on tokbench's own kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.core.progress import Progress, no_progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tokbench.backends.wordpiece.config import WordPieceConfig
    from tokbench.backends.wordpiece.tokenizer import WordPieceTokenizer
    from tokbench.backends.wordpiece.training import NormalWordCounting
    from tokbench.core.counted_words import CountedWords
    from tokbench.core.manifest import Manifest


class WordPieceBackend:
    """The registered backend "wordpiece"; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str] = "wordpiece"
    summary: ClassVar[str] = "WordPiece as in BERT: by frequency, or by likelihood as it was first described"

    @property
    def config_type(self) -> type[WordPieceConfig]:
        """The class of the training options."""
        from tokbench.backends.wordpiece.config import WordPieceConfig

        return WordPieceConfig

    @property
    def kernel(self) -> str:
        """The name of the kernel that trains and encodes: "native" or "python"."""
        from tokbench.backends.wordpiece.kernel import current_kernel

        return current_kernel().name

    def train(
        self, documents: Iterable[str], config: WordPieceConfig, *, progress: Progress = no_progress
    ) -> WordPieceTokenizer:
        """Learn a tokenizer from documents. Raises `TrainingError`, `CorpusError`."""
        from tokbench.backends.wordpiece.training import train

        return train(documents, config, progress=progress)

    @property
    def bounds_memory(self) -> bool:
        """Whether training keeps to the memory limit of the counted words: it may take more."""
        return False

    def word_counting(self, config: WordPieceConfig) -> NormalWordCounting:
        """Return how words are counted; see `tokbench.core.counted_words.TrainsOnWords`. Raises `ConfigError`."""
        from tokbench.backends.wordpiece.training import NormalWordCounting

        return NormalWordCounting(config)

    def options_of_words(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the normalization options that the words were counted with."""
        from dataclasses import fields

        from tokbench.backends.wordpiece.config import WordPieceConfig

        # The settings do not keep the order of the special tokens.
        names = {field.name for field in fields(WordPieceConfig)} - {"special_tokens"}
        if settings.get("strip_accents") == settings.get("lowercase"):
            names.remove("strip_accents")  # the default
        return {name: value for name, value in settings.items() if name in names}

    def train_on_words(
        self, words: CountedWords, config: WordPieceConfig, *, progress: Progress = no_progress
    ) -> WordPieceTokenizer:
        """Learn a tokenizer from counted words. Raises `TrainingError`."""
        from tokbench.backends.wordpiece.training import train_on_words

        return train_on_words(words, config, progress=progress)

    def load(self, directory: Path, manifest: Manifest) -> WordPieceTokenizer:
        """Open a folder that `WordPieceTokenizer.save` wrote. Raises `ModelFormatError`."""
        from tokbench.backends.wordpiece.tokenizer import load

        return load(directory, manifest)
