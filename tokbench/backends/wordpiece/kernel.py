"""The interface of the WordPiece kernels, and the choice between the compiled kernel and the Python fallback.

`tokbench.native.kernel_choice` chooses.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokbench.core.counted_words import WordCounter as BulkCounter
from tokbench.core.kernel_or_library import KernelEncoder
from tokbench.core.training import DocumentCounter
from tokbench.native.kernel_choice import chosen_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

    from tokbench.backends.wordpiece.document import WordPieceDescription


class Encoder(KernelEncoder, Protocol):
    """An encoder of text into ids, with or without their spans."""

    def place_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the ids of many texts, their start and stop in bytes, and the number of ids of each text."""


class WordCounter(DocumentCounter, BulkCounter, Protocol):
    """A counter of words; the members below are used after `finish`."""

    def take_unsettled(self) -> list[tuple[str, int]]:
        """Return the parts of the text with unsettled characters and their counts, and forget them."""

    def add_counted(self, word: str, count: int) -> None:
        """Add occurrences of a word that the caller normalized."""

    def items(self) -> list[tuple[str, int]]:
        """Return each distinct word and its count, in no particular order."""

    def characters(self) -> list[tuple[str, int, bool]]:
        """Return each character, its count, and whether it occurs inside a word after the first character."""

    @property
    def words(self) -> int:
        """The number of words counted, without words that are too long."""

    @property
    def distinct_words(self) -> int:
        """The number of distinct words."""

    @property
    def too_long(self) -> int:
        """The number of words left out because they have too many characters."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The functions and classes of one kernel.

    Attributes:
        name: "native" or "python".
        tables: the library version from which the character tables come, as "tokenizers 0.23.3"; "" for none.
        settled_marks: whether accents are stripped → a 1 for each of 0x110000 code points that this library version
            and the kernel treat alike in every text.
        new_encoder: pieces as bytes, their uint32 ids, and keyword arguments prefix, unknown, max_characters_per_word
            and the fields of `BertRules` → an encoder. Raises ValueError for invalid pieces.
        normal_words: a text and the fields of `BertRules` → its words, each character normalized independently.
        is_movable: a code point → whether strip_accents keeps the character, or a part of it, and may move it.
        new_counter: keyword arguments special_tokens, settled (a 1 for each of 0x110000 code points that the kernel
            may normalize), max_characters_per_word, threads, seed and the fields of `BertRules` → a counter.
        train: a finished counter, the keyword arguments of `reference.train`, seed and progress → all pieces.
        count_tokens: an encoder, a finished counter and threads → the number of tokens of its words.
        unmarked: texts, 0x110000 marks and threads → the characters of the texts whose mark is 0.
    """

    name: str
    tables: str
    settled_marks: Callable[[bool], bytes]
    new_encoder: Callable[..., Encoder]
    normal_words: Callable[..., list[str]]
    is_movable: Callable[[int], bool]
    unmarked: Callable[[list[str], bytearray, int], str]
    new_counter: Callable[..., WordCounter]
    train: Callable[..., list[str]]
    count_tokens: Callable[[Encoder, WordCounter, int], int]

    def encoder(self, description: WordPieceDescription) -> Encoder:
        """Build the encoder of a description. Raises ValueError if its pieces repeat more than a table can hold."""
        return self.new_encoder(
            [piece.encode() for piece in description.pieces],
            np.fromiter(description.pieces.values(), np.uint32, len(description.pieces)),
            prefix=description.prefix,
            unknown=description.unknown,
            max_characters_per_word=description.max_characters_per_word,
            **asdict(description.rules),
        )


def current_kernel() -> Kernel:
    """Return the kernel that the environment variable TOKBENCH_KERNEL asks for.

    Raises:
        ConfigError: the variable has an invalid value.
        BackendUnavailableError: the native kernel is required and not installed.
    """
    name, module = chosen_module(
        compiled="tokbench.native._wordpiece", fallback="tokbench.backends.wordpiece.fallback"
    )
    return _kernel(name, module)


@cache
def _kernel(name: str, module: ModuleType) -> Kernel:
    return Kernel(
        name=name,
        tables=module.CHARACTER_TABLES,
        settled_marks=module.settled_marks,
        new_encoder=module.Encoder,
        normal_words=module.normal_words,
        is_movable=module.is_movable,
        unmarked=module.unmarked,
        new_counter=module.WordCounter,
        train=module.train,
        count_tokens=module.count_tokens,
    )
