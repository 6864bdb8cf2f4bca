"""Words as numbers: by the compiled module, or by the Python fallback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tokbench.native.kernel_choice import chosen_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COMPILED = "tokbench.native._word_cache"
FALLBACK = "tokbench.libraries.word_cache.fallback"


class Numbering(Protocol):
    """Gives each different word a number, from 0 on, in the order in which they come."""

    def number(self, texts: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
        """The words of texts.

        Returns:
            int64[R] their numbers, int64[len(texts) + 1] which of these are whose, and the words that
            are new, in the order of their numbers.

        Raises:
            ValueError: a text holds a lone surrogate; then nothing has got a number.
        """

    def clear(self) -> None:
        """Forget them all."""


def new_numbering(cut: str) -> Numbering:
    """A numbering of the words that a cut of `tokbench.libraries.word_cache.cut_points.CUTS` makes.

    Raises:
        BackendUnavailableError: the compiled module is demanded and not installed.
    """
    _, module = chosen_module(compiled=COMPILED, fallback=FALLBACK)
    numbering: Numbering = module.Numbering(cut)
    return numbering
