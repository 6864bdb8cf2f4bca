"""The interface of the training kernels, and the choice between the compiled kernel and the Python fallback.

`tokbench.native.kernel_choice` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from tokbench.core.counted_words import WordCounter as BulkCounter
from tokbench.core.training import DocumentCounter
from tokbench.native.kernel_choice import chosen_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType


COMPILED = "tokbench.native._sentencepiece_training"


class WordCounter(DocumentCounter, BulkCounter, Protocol):
    """A counter of the words of the lines of documents.

    A word includes the spaces before it and ends before the next space; it is not normalized.
    """

    @property
    def words(self) -> int:
        """The number of words counted."""

    @property
    def distinct(self) -> int:
        """The number of distinct words."""


class TrainingText(Protocol):
    """The segments of counted words (see `tokbench.backends.sentencepiece.reference`), and their characters."""

    @property
    def num_characters(self) -> int:
        """The number of characters counted."""

    @property
    def distinct(self) -> int:
        """The number of distinct segments."""

    @property
    def is_blank(self) -> bool:
        """Whether the text has no characters except spaces."""

    @property
    def alphabet(self) -> int:
        """The number of characters in the alphabet, of which pieces consist."""

    @property
    def characters(self) -> Sequence[tuple[str, int]]:
        """The characters of the alphabet in ascending order with their counts."""

    @property
    def too_many(self) -> Sequence[int]:
        """The number of codes of segments that occur 0, 1, …, 64 or more times, if they are too many; else empty."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The functions and classes of one kernel.

    Attributes:
        name: "native" or "python".
        reads_bytes: whether a counter reads files and blocks of bytes, as that of byte-level BPE does.
        new_counter: keyword arguments dummy_prefix (add a space before each line), collapse (collapse runs of spaces,
            and strip spaces from lines), whole_lines (do not split lines at spaces), special_tokens (split documents
            at them), threads, and optionally seed → a counter.
        training_text: a finished counter, which may lose its words, the rules for pieces, and the largest number of
            codes (a segment has one code for each character, and one more) → a training text; see
            `_sentencepiece_training.pyi`.
        train_bpe: a training text, num_pieces, threads, and optionally progress, which is called with the number of
            pieces so far → the pieces in the order of their merges; see `tokbench.backends.sentencepiece.reference`.
    """

    name: str
    reads_bytes: bool
    new_counter: Callable[..., Any]
    training_text: Callable[..., TrainingText]
    train_bpe: Callable[..., list[str]]


def current_kernel() -> Kernel:
    """Return the kernel that the environment variable TOKBENCH_KERNEL asks for.

    Raises:
        ConfigError: the variable has an invalid value.
        BackendUnavailableError: the native kernel is required and not installed.
    """
    name, module = chosen_module(compiled=COMPILED, fallback="tokbench.backends.sentencepiece.fallback")
    return _kernel(name, module)


@cache
def _kernel(name: str, module: ModuleType) -> Kernel:
    return Kernel(
        name=name,
        reads_bytes=hasattr(module.WordCounter, "add_file"),
        new_counter=module.WordCounter,
        training_text=module.training_text,
        train_bpe=module.train_bpe,
    )
