"""Which kernel trains: the compiled one, or the Python fallback; `tokbench.native.kernel_choice` chooses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from tokbench.core.counted_words import WordCounter as BulkCounter
from tokbench.core.training import SourceCounter
from tokbench.native.kernel_choice import chosen_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType


COMPILED = "tokbench.native._sentencepiece_training"


class WordCounter(SourceCounter, BulkCounter, Protocol):
    """Counts the words of the lines of documents.

    A word is the spaces before it and what follows up to the next space, as it stands in the text.
    """

    def add_texts(self, texts: list[str]) -> None:
        """Add whole documents."""

    def finish(self) -> None:
        """End the counting; nothing is added afterwards."""

    @property
    def documents(self) -> int:
        """The number of documents that are not empty."""

    @property
    def num_bytes(self) -> int:
        """The number of their bytes."""

    @property
    def words(self) -> int:
        """The number of words counted."""

    @property
    def distinct(self) -> int:
        """How many of them are distinct."""


class TrainingText(Protocol):
    """The segments of counted words (`tokbench.backends.sentencepiece.rules`), and their characters."""

    @property
    def num_characters(self) -> int:
        """The number of characters counted."""

    @property
    def distinct(self) -> int:
        """The number of distinct segments."""

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing but spaces."""

    @property
    def alphabet(self) -> int:
        """Characters that pieces are made of."""

    @property
    def characters(self) -> Sequence[tuple[str, int]]:
        """The characters, ascending, and how often each occurs."""

    @property
    def too_many(self) -> Sequence[int]:
        """The codes of segments that occur 0, 1, … and 64 times or more, where these are too many; else empty."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel.

    Attributes:
        name: "native" or "python".
        reads_bytes: whether a counter takes files and blocks of bytes, as that of byte-level BPE does.
        new_counter: keyword arguments dummy_prefix (a line begins as if a space stood before it), collapse (one space
            for many, none at either end of a line), whole_lines (words are not parted at spaces),
            special_tokens (documents are cut at them), threads, and perhaps seed.
        training_text: a finished counter, whose words it may take away, the rules for pieces, and for how many codes
            there is room (a segment has one for each character, and one more) → a text; see
            `_sentencepiece_training.pyi`.
        train_bpe: a text, how many pieces (num_pieces), threads and perhaps progress, called with how many there
            are → the pieces in the order of their merges, as `tokbench.backends.sentencepiece.reference` has them.
    """

    name: str
    reads_bytes: bool
    new_counter: Callable[..., Any]
    training_text: Callable[..., TrainingText]
    train_bpe: Callable[..., list[str]]


def current_kernel() -> Kernel:
    """The kernel that TOKBENCH_KERNEL asks for.

    Raises:
        ConfigError: the variable holds another word.
        BackendUnavailableError: the native kernel is demanded and not installed.
    """
    name, module = chosen_module(
        compiled=COMPILED,
        fallback="tokbench.backends.sentencepiece.fallback",
    )
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
