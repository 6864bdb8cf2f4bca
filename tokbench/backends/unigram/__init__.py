"""Unigram, as of T5, XLNet and mBART: trained by SentencePiece's algorithm, here or in the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tokbench.core.progress import Progress, no_progress

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tokbench.core.manifest import Manifest
    from tokbench.libraries.sentencepiece.config import UnigramConfig
    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer


class UnigramBackend:
    """The registered backend "unigram"; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str] = "unigram"
    summary: ClassVar[str] = "Unigram language model, by SentencePiece's algorithm: as T5"

    @property
    def advised_bytes(self) -> int:
        """As much text as is trained on in minutes."""
        return 1_000_000_000 if self.kernel == "native" else 1_000_000

    @property
    def config_type(self) -> type[UnigramConfig]:
        """The options it is trained with."""
        from tokbench.libraries.sentencepiece.config import UnigramConfig

        return UnigramConfig

    @property
    def kernel(self) -> str:
        """What would train: "native" or "python"."""
        from tokbench.backends.unigram.kernel import current_kernel

        return current_kernel().name

    def train(
        self, documents: Iterable[str], config: UnigramConfig, *, progress: Progress = no_progress
    ) -> SentencePieceTokenizer:
        """Learn a tokenizer from documents. Raises `TrainingError`, `CorpusError`."""
        if config.trainer == "sentencepiece":
            from tokbench.libraries.sentencepiece.training import train as train_in_library

            return train_in_library(documents, config, backend=self.name, progress=progress)
        from tokbench.backends.unigram.training import train

        return train(documents, config, backend=self.name, progress=progress)

    def load(self, directory: Path, manifest: Manifest) -> SentencePieceTokenizer:
        """Open a folder that `SentencePieceTokenizer.save` wrote. Raises `ModelFormatError`."""
        from tokbench.libraries.sentencepiece.models import load

        return load(directory, manifest)
