"""The SentencePiece backend: BPE on characters with byte fallback, as in Llama 2, trained here or in the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tokbench.backends.sentencepiece.backend import LineTrainedBackend

if TYPE_CHECKING:
    from tokbench.backends.sentencepiece.training import Learner
    from tokbench.libraries.sentencepiece.config import SentencePieceConfig


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
        from tokbench.backends.sentencepiece.bpe import learn

        return learn
