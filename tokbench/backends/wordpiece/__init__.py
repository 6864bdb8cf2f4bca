"""WordPiece: trained and run by our kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tokbench.core.progress import Progress, no_progress

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tokbench.backends.wordpiece.config import WordPieceConfig
    from tokbench.backends.wordpiece.tokenizer import WordPieceTokenizer
    from tokbench.core.manifest import Manifest


class WordPieceBackend:
    """The registered backend "wordpiece"; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str] = "wordpiece"
    summary: ClassVar[str] = "WordPiece as in BERT: by frequency, or by likelihood as it was first described"

    @property
    def config_type(self) -> type[WordPieceConfig]:
        """The options it is trained with."""
        from tokbench.backends.wordpiece.config import WordPieceConfig

        return WordPieceConfig

    @property
    def kernel(self) -> str:
        """What trains and encodes: "native" or "python"."""
        from tokbench.backends.wordpiece.kernel import current_kernel

        return current_kernel().name

    def train(
        self, documents: Iterable[str], config: WordPieceConfig, *, progress: Progress = no_progress
    ) -> WordPieceTokenizer:
        """Learn a tokenizer from documents. Raises `TrainingError`, `CorpusError`."""
        from tokbench.backends.wordpiece.training import train

        return train(documents, config, progress=progress)

    def load(self, directory: Path, manifest: Manifest) -> WordPieceTokenizer:
        """Open a folder that `WordPieceTokenizer.save` wrote. Raises `ModelFormatError`."""
        from tokbench.backends.wordpiece.tokenizer import load

        return load(directory, manifest)
