"""SentencePiece models on our kernel: which of them it encodes with the library's ids for every text."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Protocol, cast

from tokbench.formats.sentencepiece.model import ModelType
from tokbench.native.kernel_choice import is_installed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.kernel_or_library import KernelEncoder
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.native._unigram import Encoder as CompiledUnigram


_ENOUGH_TEXT = 1 << 14
"""Characters: for fewer, to make an encoder takes longer than the library does."""


class LateEncoder:
    """The encoder of a model, made when there has been some text; until then, and where it fails, the library runs.

    Args:
        model: one that has a kernel.
    """

    def __init__(self, model: SentencePieceFile) -> None:
        self._model = model
        self._missing = _ENOUGH_TEXT
        self._made: KernelEncoder | None = None

    def covers(self, text: str) -> bool:
        """Whether the encoder is there. Raises UnicodeEncodeError for lone surrogates."""
        if not text.isascii():
            text.encode()
        if self._made is None:
            self._missing -= len(text)
            if self._missing <= 0:
                self._make()
        return self._made is not None

    def covers_all(self, texts: Sequence[str], threads: int) -> bool:
        """Whether the encoder is there for all of some texts, or they are enough to make it."""
        del threads
        if self._made is None and sum(map(len, texts)) >= self._missing:
            self._make()
        return self._made is not None

    def _make(self) -> None:
        try:
            self._made = new_encoder(self._model)
        except ValueError:
            self._missing = sys.maxsize

    @property
    def _encoder(self) -> KernelEncoder:
        assert self._made is not None  # as its text is covered
        return self._made

    def encode(self, text: str) -> list[int]:
        """The ids of a text that is covered."""
        return self._encoder.encode(text)

    def encode_batch(self, texts: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of many texts, and int64[len(texts) + 1] offsets."""
        return self._encoder.encode_batch(texts, threads)

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        """How many ids each text has."""
        return self._encoder.count_batch(texts, threads)

    def place_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The ids of many texts, where each begins and ends as the library says it, and how many each text has.

        Of a compiled Unigram alone.
        """
        return cast("CompiledUnigram", self._encoder).place_batch(texts, threads)


def kernel_or_reason(model: SentencePieceFile) -> tuple[str, str]:
    """Which kernel encodes with a model: "native", "python", or "" for its library; and why the library.

    The Python fallback is slower than the library, and runs only where TOKBENCH_KERNEL asks for it.
    """
    kernel = _kernel_of(model)
    if reason := kernel.left_because(model):
        return "", reason
    if os.environ.get("TOKBENCH_KERNEL") == "python":
        return "python", ""
    return ("native", "") if is_installed(kernel.COMPILED) else ("", "the compiled kernel is not installed")


def new_encoder(model: SentencePieceFile) -> KernelEncoder:
    """The encoder of a model that has a kernel.

    Raises:
        ValueError: its normalization table is damaged, or a piece occurs twice.
        BackendUnavailableError: the compiled module is demanded and not installed.
    """
    return _kernel_of(model).new_encoder(model)


class _ModelKernel(Protocol):
    """A module that has the encoders of one algorithm."""

    COMPILED: str

    def left_because(self, model: SentencePieceFile) -> str: ...
    def new_encoder(self, model: SentencePieceFile) -> KernelEncoder: ...


def _kernel_of(model: SentencePieceFile) -> _ModelKernel:
    from tokbench.libraries.sentencepiece import bpe, unigram, whole_pieces

    kernels: dict[ModelType, _ModelKernel] = {ModelType.UNIGRAM: unigram, ModelType.BPE: bpe}
    return kernels.get(model.model_type, whole_pieces)
