"""The encoder of a tokenizer with a custom split pattern."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tokbench.backends.bpe.split_patterns import split_offsets
from tokbench.core.kernel_or_library import EncodesOneByOne

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokbench.backends.bpe.kernel import Encoder, Kernel
    from tokbench.backends.bpe.split_patterns import SplitPattern
    from tokbench.core.tokens import Batch

_CHARACTERS_BEFORE_COMPILING = 1 << 19
"""`regex` splits so much text in about the time that compiling a pattern takes."""


class CustomEncoder(EncodesOneByOne):
    """A `KernelEncoder` that splits with the `regex` package at first, and by the compiled pattern once it is worth it.

    The ids are the same. A pattern that cannot be compiled stays with `regex`.
    """

    def __init__(self, encoder: Encoder, pattern: SplitPattern, kernel: Kernel) -> None:
        self._encoder = encoder
        self._pattern = pattern
        self._kernel = kernel
        self._num_characters = 0

    def encode(self, text: str) -> list[int]:
        """Encode a text. Raises UnicodeEncodeError for lone surrogates."""
        if self._is_worth_compiling([text]) and self._compiled is not None:
            return self._compiled.encode(text)
        ids: list[int] = self._encoder.encode_split(text, split_offsets(self._pattern, text)).tolist()
        return ids

    def encode_batch(self, texts: list[str], threads: int) -> Batch:
        """Encode many texts; return their ids and int64[len(texts) + 1] offsets."""
        if self._is_worth_compiling(texts) and self._compiled is not None:
            return self._compiled.encode_batch(texts, threads)
        return super().encode_batch(texts, threads)

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        """Return the number of ids of each text, without producing the ids."""
        if self._is_worth_compiling(texts) and self._compiled is not None:
            return self._compiled.count_batch(texts, threads)
        return super().count_batch(texts, threads)

    def complete(self) -> None:
        """Compile the pattern now, instead of after some text has been encoded."""
        self._num_characters = _CHARACTERS_BEFORE_COMPILING
        (self._compiled or self._encoder).complete()

    def _is_worth_compiling(self, texts: list[str]) -> bool:
        if self._num_characters < _CHARACTERS_BEFORE_COMPILING:
            self._num_characters += sum(map(len, texts))
        return self._num_characters >= _CHARACTERS_BEFORE_COMPILING

    @cached_property
    def _compiled(self) -> Encoder | None:
        """The encoder that splits by the compiled pattern; None if the kernel cannot."""
        from tokbench.backends.bpe.split_programs.compiled import compiled_for

        pattern = compiled_for(self._kernel, self._pattern)
        return None if pattern is None else self._encoder.with_pattern(pattern)
