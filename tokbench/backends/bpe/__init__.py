"""tokbench's own byte-level BPE: training, encoding and decoding on a native kernel or its Python fallback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.core.progress import Progress, no_progress
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from tokbench.backends.bpe.config import BpeConfig
    from tokbench.backends.bpe.counting import PretokenCounting
    from tokbench.backends.bpe.tokenizer import BpeTokenizer
    from tokbench.core.capabilities import Check
    from tokbench.core.counted_words import CountedWords
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.manifest import Manifest


class BpeBackend:
    """The registered backend "bpe"; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str] = "bpe"
    summary: ClassVar[str] = "byte-level BPE, ours: exact, fast, opens in tiktoken and tokenizers"

    @property
    def config_type(self) -> type[BpeConfig]:
        """The class of the training options."""
        from tokbench.backends.bpe.config import BpeConfig

        return BpeConfig

    @property
    def kernel(self) -> str:
        """The name of the kernel that would run: "native" or "python"."""
        from tokbench.backends.bpe.kernel import current_kernel

        return current_kernel().name

    def train(
        self, documents: Iterable[str], config: BpeConfig, *, progress: Progress = no_progress
    ) -> BpeTokenizer:
        """Learn a tokenizer from documents. Raises `TrainingError`, `CorpusError`."""
        from tokbench.backends.bpe.parity.training import train_for_parity
        from tokbench.backends.bpe.superwords import train_with_superwords
        from tokbench.backends.bpe.training import train

        if config.parity is not None:
            return train_for_parity(documents, config, progress=progress)
        if config.superwords is not None:
            return train_with_superwords(documents, config, progress=progress)
        return train(documents, config, progress=progress)

    @property
    def bounds_memory(self) -> bool:
        """Whether training keeps to the memory limit of the counted words, as the native kernel does."""
        return self.kernel == "native"

    def word_counting(self, config: BpeConfig) -> PretokenCounting:
        """Return how pre-tokens are counted; see `tokbench.core.counted_words.TrainsOnWords`. Raises `ConfigError`."""
        from tokbench.backends.bpe.counting import PretokenCounting

        if config.parity is not None:
            raise ConfigError(
                "counted words do not record their languages, which parity needs",
                hint="leave out --parity, or --memory and --counts",
            )
        if config.superwords is not None:
            raise ConfigError(
                "superwords are learned from whole texts, not from counted words",
                hint="leave out --superwords, or --memory and --counts",
            )
        return PretokenCounting(config)

    def options_of_words(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the pattern and the special tokens that the pre-tokens were counted with."""
        return {name: settings[name] for name in ("pattern", "special_tokens") if name in settings}

    def train_on_words(
        self, words: CountedWords, config: BpeConfig, *, progress: Progress = no_progress
    ) -> BpeTokenizer:
        """Learn a tokenizer from counted pre-tokens. Raises `TrainingError`."""
        from tokbench.backends.bpe.training import train_on_words

        return train_on_words(words, config, progress=progress)

    def load(self, directory: Path, manifest: Manifest) -> BpeTokenizer:
        """Open a folder that `BpeTokenizer.save` wrote. Raises `ModelFormatError`, `SelfTestError`."""
        from tokbench.backends.bpe.folder import read_folder
        from tokbench.backends.bpe.tokenizer import BpeTokenizer

        arguments, read_trace = read_folder(directory, manifest)
        tokenizer = BpeTokenizer(**arguments)
        tokenizer.verify_against(manifest, path=directory)
        tokenizer.read_trace = read_trace
        return tokenizer

    def smaller(self, tokenizer: Tokenizer, vocab_size: int) -> BpeTokenizer | None:
        """Return the tokenizer of the first `vocab_size` tokens of a trained one, or None; see `NestsVocabularies`."""
        from tokbench.backends.bpe.tokenizer import BpeTokenizer
        from tokbench.backends.bpe.training import smaller

        return smaller(tokenizer, vocab_size) if isinstance(tokenizer, BpeTokenizer) else None

    def examine(self) -> Iterator[Check]:
        """Yield the checks for `tokbench doctor`: which kernel runs, and whether it equals the reference."""
        from tokbench.backends.bpe.self_check import examine

        return examine()
