"""The Unigram backend: the model of T5 and XLNet, trained by SentencePiece's algorithm, here or in the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tokbench.backends.sentencepiece import LineTrainedBackend

if TYPE_CHECKING:
    from tokbench.backends.sentencepiece.training import Learner
    from tokbench.libraries.sentencepiece.config import UnigramConfig


class UnigramBackend(LineTrainedBackend):
    """The registered backend "unigram"; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str] = "unigram"
    summary: ClassVar[str] = "Unigram language model, by SentencePiece's algorithm: as T5"

    @property
    def config_type(self) -> type[UnigramConfig]:
        """The class of the training options."""
        from tokbench.libraries.sentencepiece.config import UnigramConfig

        return UnigramConfig

    def _learner(self) -> Learner:
        from tokbench.backends.unigram.training import learn

        return learn
