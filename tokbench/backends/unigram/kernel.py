"""Unigram training on the compiled kernel or the Python fallback, as `tokbench.native.kernel_choice` chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.backends.sentencepiece.kernel import COMPILED
from tokbench.native.kernel_choice import chosen_module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.backends.sentencepiece.kernel import TrainingText


def train_unigram(text: TrainingText, **options: Any) -> tuple[list[str], Sequence[float], int]:
    """Learn pieces on the kernel that TOKBENCH_KERNEL asks for.

    Args:
        text: a training text of the same kernel.
        options: the keyword arguments of `tokbench.backends.unigram.reference.train`, and threads.

    Returns:
        The pieces; their scores as float64; the number of rounds.
    """
    _, module = chosen_module(compiled=COMPILED, fallback="tokbench.backends.unigram.fallback")
    trained: tuple[list[str], Sequence[float], int] = module.train_unigram(text, **options)
    return trained
