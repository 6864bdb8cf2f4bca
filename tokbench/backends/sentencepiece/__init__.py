"""The SentencePiece backend: BPE on characters with byte fallback, as in Llama 2, trained here or in the library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.core.progress import Progress, no_progress
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tokbench.backends.sentencepiece.training import Learner, LineWordCounting
    from tokbench.core.counted_words import CountedWords
    from tokbench.core.manifest import Manifest
    from tokbench.libraries.sentencepiece.config import SentencePieceConfig
    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer


class LineTrainedBackend(ABC):
    """A backend that trains on the words of lines; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str]
    bounds_memory: ClassVar[bool] = False
    """Whether training keeps to the memory limit of the counted words: it may take more."""

    @property
    def advised_bytes(self) -> int:
        """The largest size of text that trains within minutes."""
        return 1_000_000_000 if self._is_compiled else 1_000_000

    @property
    def kernel(self) -> str:
        """The name of the kernel that would train: "native" or "python"."""
        from tokbench.backends.sentencepiece.kernel import current_kernel

        return current_kernel().name

    @property
    def _is_compiled(self) -> bool:
        from tokbench.backends.sentencepiece.kernel import current_kernel

        return current_kernel().name == "native"

    @abstractmethod
    def _learner(self) -> Learner:
        """Return the training algorithm."""

    def train(
        self, documents: Iterable[str], config: SentencePieceConfig, *, progress: Progress = no_progress
    ) -> SentencePieceTokenizer:
        """Learn a tokenizer from documents. Raises `TrainingError`, `CorpusError`."""
        if self._is_for_the_library(config):
            from tokbench.libraries.sentencepiece.training import train as train_in_library

            return train_in_library(documents, config, backend=self.name, progress=progress)
        from tokbench.backends.sentencepiece.training import train

        return train(documents, config, learn=self._learner(), backend=self.name, progress=progress)

    def _is_for_the_library(self, config: SentencePieceConfig) -> bool:
        """Return whether the library trains: it is requested, or the compiled kernel is missing or lacks an option."""
        from tokbench.backends.sentencepiece.options import library_options

        if config.trainer == "auto":
            return not self._is_compiled or bool(library_options(config))
        return config.trainer == "sentencepiece"

    def word_counting(self, config: SentencePieceConfig) -> LineWordCounting:
        """Return how the words of lines are counted; see `tokbench.core.counted_words.TrainsOnWords`.

        Raises:
            ConfigError: the trainer or a selection of lines needs more than counts.
        """
        from tokbench.backends.sentencepiece.training import LineWordCounting

        needed = {
            "trainer": ("auto", "tokbench"),
            "max_sentence_length": (None,),
            "input_sentence_size": (0,),
        }
        for option, values in needed.items():
            if getattr(config, option) not in values:
                raise ConfigError(
                    f"{option} needs the lines of the text, which counted words do not have",
                    hint="leave it out, or train on the text",
                )
        return LineWordCounting(config, self.name)

    def options_of_words(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the white space options and the special tokens that the words were counted with."""
        names = ("add_dummy_prefix", "remove_extra_whitespaces", "special_tokens")
        return {name: settings[name] for name in names if name in settings}

    def train_on_words(
        self, words: CountedWords, config: SentencePieceConfig, *, progress: Progress = no_progress
    ) -> SentencePieceTokenizer:
        """Learn a tokenizer from counted words. Raises `TrainingError`."""
        from tokbench.backends.sentencepiece.training import train_on_words

        return train_on_words(words, config, learn=self._learner(), backend=self.name, progress=progress)

    def load(self, directory: Path, manifest: Manifest) -> SentencePieceTokenizer:
        """Open a folder that `SentencePieceTokenizer.save` wrote. Raises `ModelFormatError`."""
        from tokbench.libraries.sentencepiece.models import load

        return load(directory, manifest)


class SentencePieceBackend(LineTrainedBackend):
    """The registered backend "sentencepiece"; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str] = "sentencepiece"
    summary: ClassVar[str] = "BPE on characters with byte fallback, by SentencePiece's algorithm: as Llama 2"

    @property
    def advised_bytes(self) -> int:
        """The largest size of text that trains within minutes."""
        return 1_000_000_000 if self._is_compiled else 100_000_000

    @property
    def kernel(self) -> str:
        """The name of the engine that would train: "native", or the library with its version."""
        from tokbench.libraries.sentencepiece.tokenizer import library

        return "native" if self._is_compiled else library()

    @property
    def config_type(self) -> type[SentencePieceConfig]:
        """The class of the training options."""
        from tokbench.libraries.sentencepiece.config import SentencePieceConfig

        return SentencePieceConfig

    def _learner(self) -> Learner:
        from tokbench.backends.sentencepiece.training import learn_bpe

        return learn_bpe
