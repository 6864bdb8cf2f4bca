"""SentencePiece models on our kernel: which models it encodes with exactly the library's ids, and their encoders."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Protocol

from tokbench.formats.sentencepiece.model import ModelType
from tokbench.libraries.sentencepiece import bpe, unigram, whole_pieces
from tokbench.native.kernel_choice import is_installed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.kernel_or_library import KernelEncoder
    from tokbench.formats.sentencepiece.model import SentencePieceFile

_ENOUGH_TEXT = 1 << 14
"""The number of characters below which building an encoder takes longer than encoding with the library."""


class LateEncoder:
    """An encoder that is built once there has been enough text; until then, and if that fails, the library encodes.

    Args:
        model: a model that a kernel supports.
    """

    def __init__(self, model: SentencePieceFile) -> None:
        self._model = model
        self._characters_left = _ENOUGH_TEXT
        self._built: KernelEncoder | None = None

    def covers(self, text: str) -> bool:
        """Return whether the encoder is built, now or earlier. Raises UnicodeEncodeError for lone surrogates."""
        if not text.isascii():
            text.encode()
        if self._built is None:
            self._characters_left -= len(text)
            if self._characters_left <= 0:
                self._build()
        return self._built is not None

    def covers_all(self, texts: Sequence[str], threads: int) -> bool:
        """Return whether the encoder is built, now if the texts are long enough, or earlier."""
        del threads
        if self._built is None and sum(map(len, texts)) >= self._characters_left:
            self._build()
        return self._built is not None

    def _build(self) -> None:
        try:
            self._built = _kernel_of(self._model).new_encoder(self._model)
        except ValueError:
            self._characters_left = sys.maxsize

    @property
    def _encoder(self) -> KernelEncoder:
        assert self._built is not None  # callers ask `covers` first
        return self._built

    def encode(self, text: str) -> list[int]:
        """Return the ids of a covered text."""
        return self._encoder.encode(text)

    def encode_batch(self, texts: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of many texts, and int64[len(texts) + 1] offsets."""
        return self._encoder.encode_batch(texts, threads)

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        """Return the number of ids of each text."""
        return self._encoder.count_batch(texts, threads)

    def sized_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64] | None]:
        """Return the ids of many texts, their offsets, and the size of each token in the normalized text in bytes.

        The sizes are None if they follow from the ids.
        """
        if isinstance(self._encoder, whole_pieces.Encoder):
            return self._encoder.sized_batch(texts, threads)
        return *self._encoder.encode_batch(texts, threads), None


def kernel_or_reason(model: SentencePieceFile) -> tuple[str, str]:
    """Return the kernel that encodes with a model ("native", "python", or "" for the library), and why the library.

    The Python fallback is slower than the library, and runs only if TOKBENCH_KERNEL asks for it.
    """
    kernel = _kernel_of(model)
    if reason := kernel.library_reason(model):
        return "", reason
    if os.environ.get("TOKBENCH_KERNEL") == "python":
        return "python", ""
    return ("native", "") if is_installed(kernel.COMPILED) else ("", "the compiled kernel is not installed")


class _ModelKernel(Protocol):
    """A module with the encoders of one algorithm."""

    COMPILED: str

    def library_reason(self, model: SentencePieceFile) -> str: ...
    def new_encoder(self, model: SentencePieceFile) -> KernelEncoder: ...


def _kernel_of(model: SentencePieceFile) -> _ModelKernel:
    kernels: dict[ModelType, _ModelKernel] = {ModelType.UNIGRAM: unigram, ModelType.BPE: bpe}
    return kernels.get(model.model_type, whole_pieces)
