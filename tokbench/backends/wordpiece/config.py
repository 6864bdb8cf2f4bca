"""The training options of WordPiece."""

from __future__ import annotations

import string
import unicodedata
from dataclasses import dataclass, field

from tokbench.backends.wordpiece.document import BertRules
from tokbench.core.argument_types import MAX_THREADS
from tokbench.core.special_tokens import check_special_tokens
from tokbench.core.wording import meant
from tokbench.errors import ConfigError

OBJECTIVES = ("frequency", "likelihood")

_MAX_VOCAB_SIZE = 1 << 24
MAX_CHARACTERS = 1000
"""The largest `max_characters_per_word`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPieceConfig:
    """The training options of WordPiece, validated on construction.

    Raises:
        ConfigError: an option is invalid.
    """

    vocab_size: int | None = field(
        default=None,
        metadata={"help": "vocabulary size, special tokens included; by default fitted to the text"},
    )
    objective: str = field(
        default="frequency",
        metadata={
            "help": "which pieces are joined: the most frequent pair (as `tokenizers` does), or the one that "
            'raises the likelihood of the text most ("likelihood")'
        },
    )
    lowercase: bool = field(default=True, metadata={"help": "convert words to lower case"})
    strip_accents: bool | None = field(
        default=None, metadata={"help": "strip accents from letters; by default as `lowercase`"}
    )
    clean_text: bool = field(
        default=True, metadata={"help": "drop control characters and make all white space a space"}
    )
    handle_chinese_chars: bool = field(
        default=True, metadata={"help": "make each CJK ideograph a separate word"}
    )
    special_tokens: tuple[str, ...] = field(
        default=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
        metadata={"help": "special tokens, numbered first; the unknown token is always one"},
    )
    unknown_token: str = field(
        default="[UNK]", metadata={"help": "the token of words that the vocabulary does not cover"}
    )
    continuing_prefix: str = field(default="##", metadata={"help": "the prefix of pieces inside words"})
    max_characters_per_word: int = field(
        default=100, metadata={"help": "longer words are unknown and not trained on"}
    )
    min_frequency: int = field(default=2, metadata={"help": "pairs that are rarer are not joined"})
    limit_alphabet: int | None = field(
        default=1000,
        metadata={"help": "maximum number of characters in the vocabulary; the most frequent are kept"},
    )
    initial_alphabet: str = field(
        default="", metadata={"help": "characters that are always in the vocabulary, numbered first"}
    )
    threads: int | None = field(
        default=None, metadata={"help": "number of threads; by default all. Never changes the result"}
    )
    seed: int = field(
        default=0,
        metadata={"help": "seed of the hash tables and the self-test; never changes the pieces"},
    )

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise ConfigError(
                f"there is no objective {self.objective!r}", hint=meant(self.objective, OBJECTIVES)
            )
        check_special_tokens(self.all_special_tokens)
        for token in self.all_special_tokens:
            _check_special_text(token)
        _check_prefix(self.continuing_prefix)
        for token in self.all_special_tokens:
            _check_not_inside(token, self.continuing_prefix)
        self._check_range("vocab_size", self.vocab_size, largest=_MAX_VOCAB_SIZE)
        self._check_range("max_characters_per_word", self.max_characters_per_word, largest=MAX_CHARACTERS)
        self._check_range("min_frequency", self.min_frequency)
        self._check_range("limit_alphabet", self.limit_alphabet)
        self._check_range("threads", self.threads, largest=MAX_THREADS)
        self._check_range("seed", self.seed, smallest=0)
        if not self.initial_alphabet.isprintable():  # lone surrogates are not
            raise ConfigError(
                f"initial_alphabet is {self.initial_alphabet!a}",
                hint="it may contain only visible characters",
            )

    @property
    def all_special_tokens(self) -> tuple[str, ...]:
        """The special tokens in the order of their ids, including the unknown token.

        >>> WordPieceConfig(special_tokens=("[CLS]",)).all_special_tokens
        ('[UNK]', '[CLS]')
        """
        if self.unknown_token in self.special_tokens:
            return self.special_tokens
        return (self.unknown_token, *self.special_tokens)

    @property
    def rules(self) -> BertRules:
        """The normalization of a text before it is split into words."""
        return BertRules(
            clean_text=self.clean_text,
            handle_chinese_chars=self.handle_chinese_chars,
            strip_accents=self.lowercase if self.strip_accents is None else self.strip_accents,
            lowercase=self.lowercase,
        )

    def _check_range(
        self, name: str, value: int | None, *, smallest: int = 1, largest: int = 2**63 - 1
    ) -> None:
        if value is not None and not smallest <= value <= largest:
            raise ConfigError(f"{name} is {value}", hint=f"it must be from {smallest} to {largest}")


def _check_special_text(special_token: str) -> None:
    """Reject a text that could be a piece of a word (these have no punctuation), or that vocab.txt cannot hold."""
    if len(special_token.splitlines()) != 1 or special_token.splitlines()[0] != special_token:
        raise ConfigError(
            f"the special token {special_token!r} has a line end",
            hint="vocab.txt contains one token per line",
        )
    if len(special_token) < 2 or not any(character in string.punctuation for character in special_token):
        raise ConfigError(
            f"the special token {special_token!r} could be a word of the text",
            hint=f"put it in brackets, such as [{special_token}]",
        )


def _check_not_inside(special_token: str, prefix: str) -> None:
    """Reject a text that could be a piece inside a word: the prefix, then characters of a word."""
    rest = special_token.removeprefix(prefix)
    if rest != special_token and rest and not any(character in string.punctuation for character in rest):
        raise ConfigError(
            f"the special token {special_token!r} could be a piece inside a word, as it begins with {prefix}",
            hint=f"put it in brackets, such as [{rest}]",
        )


def _check_prefix(prefix: str) -> None:
    signs = (c in string.punctuation or unicodedata.category(c).startswith("P") for c in prefix)
    if not prefix or not all(signs):
        raise ConfigError(
            f"continuing_prefix is {prefix!r}",
            hint="it must be punctuation, such as ##, so that no word begins with it",
        )
