"""Which kernel runs WordPiece: the compiled one, or the Python fallback; `tokbench.native.kernel_choice` chooses."""

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
    """Turns text into ids, and tells where their characters are."""

    def place_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The ids of many texts; the first and after the last byte of the characters of each; ids a text."""


class WordCounter(DocumentCounter, BulkCounter, Protocol):
    """Counts words; what follows is asked for after `finish`."""

    def take_unsettled(self) -> list[tuple[str, int]]:
        """Parts of the text with characters that are not settled, and their counts; handed over once."""

    def add_counted(self, word: str, count: int) -> None:
        """Occurrences of a word that was normalized elsewhere."""

    def items(self) -> list[tuple[str, int]]:
        """Each distinct word and its count, in no order."""

    def characters(self) -> list[tuple[str, int, bool]]:
        """Each character, its count, and whether it stands anywhere but first in a word, by code point."""

    @property
    def words(self) -> int:
        """Words seen, without those that are too long."""

    @property
    def distinct_words(self) -> int:
        """How many of them are distinct."""

    @property
    def too_long(self) -> int:
        """Words that were left out because they have more characters than a word may have."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel.

    Attributes:
        name: "native" or "python".
        tables: the version of the library that its tables of characters are from, as "tokenizers 0.23.3"; "" for none.
        settled_marks: whether accents are stripped → a 1 for each of 0x110000 code points of which that version
            makes what the kernel does, in every text.
        new_encoder: pieces as bytes, uint32 ids of them, and keyword arguments prefix, unknown, max_characters_per_word
            and the fields of `BertRules` → an encoder. Raises ValueError for pieces that cannot be.
        normal_words: a text and the fields of `BertRules` → its words, each character normalized by itself.
        is_movable: a code point → whether the character stays under strip_accents, which may put it, or a part of it,
            elsewhere.
        new_counter: keyword arguments special_tokens, settled (a 1 for each of 0x110000 code points that is to be
            normalized by the kernel), max_characters_per_word, threads, seed and the fields of `BertRules`.
        train: a finished counter and the keyword arguments of `reference.train`, seed and progress → all pieces.
        count_tokens: an encoder, a finished counter and threads → how many tokens its words become.
        unmarked: texts, 0x110000 marks and threads → the characters of the texts that have a 0 among them.
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
        """An encoder of a description. Raises ValueError where its pieces repeat more than a table holds."""
        return self.new_encoder(
            [piece.encode() for piece in description.pieces],
            np.fromiter(description.pieces.values(), np.uint32, len(description.pieces)),
            prefix=description.prefix,
            unknown=description.unknown,
            max_characters_per_word=description.max_characters_per_word,
            **asdict(description.rules),
        )


def current_kernel() -> Kernel:
    """The kernel that TOKBENCH_KERNEL asks for.

    Raises:
        ConfigError: the variable holds another word.
        BackendUnavailableError: the native kernel is demanded and not installed.
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
