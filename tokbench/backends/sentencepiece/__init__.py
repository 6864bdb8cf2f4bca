"""SentencePiece's BPE on characters with byte fallback, as of Llama 2 and Mistral: trained and run by the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tokbench.core.progress import Progress, no_progress

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tokbench.core.manifest import Manifest
    from tokbench.libraries.sentencepiece.config import SentencePieceConfig
    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer


class SentencePieceBackend:
    """The registered backend "sentencepiece"; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str] = "sentencepiece"
    summary: ClassVar[str] = "BPE on characters with byte fallback, by SentencePiece: as Llama 2"
    advised_bytes: ClassVar[int] = 100_000_000

    @property
    def config_type(self) -> type[SentencePieceConfig]:
        """The options it is trained with."""
        from tokbench.libraries.sentencepiece.config import SentencePieceConfig

        return SentencePieceConfig

    @property
    def kernel(self) -> str:
        """What would run: the library with its version."""
        from tokbench.libraries.sentencepiece.tokenizer import library

        return library()

    def train(
        self, documents: Iterable[str], config: SentencePieceConfig, *, progress: Progress = no_progress
    ) -> SentencePieceTokenizer:
        """Learn a tokenizer from documents. Raises `TrainingError`, `CorpusError`."""
        from tokbench.libraries.sentencepiece.training import train

        return train(documents, config, backend=self.name, progress=progress)

    def load(self, directory: Path, manifest: Manifest) -> SentencePieceTokenizer:
        """Open a folder that `SentencePieceTokenizer.save` wrote. Raises `ModelFormatError`."""
        from tokbench.libraries.sentencepiece.models import load

        return load(directory, manifest)
