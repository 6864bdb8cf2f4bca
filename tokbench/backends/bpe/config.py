"""The training options of the byte-level BPE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokbench.backends.bpe.reference import NUM_BYTES
from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern
from tokbench.core.argument_types import MAX_THREADS
from tokbench.core.special_tokens import check_special_tokens
from tokbench.core.wording import counted
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.backends.bpe.split_patterns import SplitPattern

PARITY_RULES = ("tokens", "tokens-per-byte", "tokens-per-character")
"""Measures by which parity-aware training compares languages: the one with the highest value gets the next merge.

The first one needs aligned development text.
"""

_MAX_VOCAB_SIZE = 2**31
_MAX_WINDOW = 10**6
_MAX_INTEGER = 2**63 - 1
"""The largest integer that the files of a saved tokenizer hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BpeConfig:
    """The training options of a byte-level BPE, validated on construction.

    Raises:
        ConfigError: an option is invalid; the hint names the smallest change that works.
    """

    vocab_size: int | None = field(
        default=None,
        metadata={"help": "vocabulary size, special tokens included; by default fitted to the text"},
    )
    pattern: str = field(
        default="gpt4",
        metadata={"help": f"how text is split: {', '.join(PATTERN_NAMES)}, or a regular expression"},
    )
    special_tokens: tuple[str, ...] = field(default=(), metadata={"help": "special tokens, numbered last"})
    min_frequency: int = field(
        default=2, metadata={"help": "training stops when the most frequent pair is rarer than this"}
    )
    superwords: int | None = field(
        default=None,
        metadata={
            "help": "number of tokens, bytes included, after which merges may cross spaces; by default never"
        },
    )
    max_token_length: int | None = field(
        default=None, metadata={"help": "maximum length of a token in bytes; by default unlimited"}
    )
    threads: int | None = field(
        default=None,
        metadata={"help": "number of threads; by default all. Never changes the result"},
    )
    trace: bool = field(
        default=False,
        metadata={"help": "record which pairs each merge displaced, for `tokbench explain --merge`"},
    )
    parity: str | None = field(
        default=None,
        metadata={
            "help": "a folder of development text by language: each merge is learned for the one with the "
            "most tokens"
        },
    )
    parity_rule: str = field(
        default="tokens",
        metadata={"help": f"what languages are compared by: {', '.join(PARITY_RULES)}"},
    )
    parity_global_merges: int = field(
        default=0, metadata={"help": "number of merges that are learned first, from all text together"}
    )
    parity_window: int = field(
        default=0,
        metadata={
            "help": "number of latest merges in which no language may exceed its share; 0 for no limit"
        },
    )
    parity_alpha: float = field(
        default=2.0, metadata={"help": "how many times its equal share a language may have in the window"}
    )
    seed: int = field(
        default=0,
        metadata={"help": "seed of the hash tables and the self-test; never changes the merges"},
    )

    def __post_init__(self) -> None:
        check_special_tokens(self.special_tokens)
        resolve_pattern(self.pattern)
        smallest = NUM_BYTES + len(self.special_tokens)
        if self.vocab_size is not None and self.vocab_size < smallest:
            specials = (
                f" and {counted(len(self.special_tokens), 'special token')}" if self.special_tokens else ""
            )
            raise ConfigError(
                f"a vocabulary of {self.vocab_size} is too small: it must contain the {NUM_BYTES} bytes{specials}",
                hint=f"the smallest that works is {smallest}",
            )
        if self.vocab_size is not None and self.vocab_size > _MAX_VOCAB_SIZE:
            raise ConfigError(
                f"a vocabulary of {self.vocab_size} is too large",
                hint=f"it must be at most {_MAX_VOCAB_SIZE:,}",
            )
        self._check_superwords()
        self._check_range("min_frequency", self.min_frequency, smallest=1)
        self._check_range("max_token_length", self.max_token_length, smallest=1)
        self._check_range("threads", self.threads, smallest=1, largest=MAX_THREADS)
        self._check_range("seed", self.seed, smallest=0)
        self._check_parity()

    def _check_parity(self) -> None:
        if self.parity_rule not in PARITY_RULES:
            raise ConfigError(
                f"unknown parity_rule {self.parity_rule!r}", hint=f"choose {', '.join(PARITY_RULES)}"
            )
        self._check_range("parity_global_merges", self.parity_global_merges, smallest=0)
        self._check_range("parity_window", self.parity_window, smallest=0)
        if self.parity_window > _MAX_WINDOW:
            raise ConfigError(
                f"parity_window is {self.parity_window}", hint=f"it must be at most {_MAX_WINDOW}"
            )
        if not 1 <= self.parity_alpha < float("inf"):
            raise ConfigError(
                f"parity_alpha is {self.parity_alpha}",
                hint="it must be a finite number of at least 1: below, every language would be excluded",
            )
        if self.parity is None and (self.parity_global_merges or self.parity_window):
            raise ConfigError(
                "parity_global_merges and parity_window need parity",
                hint="name a folder with parity (--parity)",
            )
        if self.vocab_size is not None:
            merges = self.vocab_size - NUM_BYTES - len(self.special_tokens)
            if self.parity_global_merges > merges:
                raise ConfigError(
                    f"parity_global_merges is {self.parity_global_merges}, but the vocabulary has only {merges} merges",
                    hint="give fewer, to leave some for parity",
                )

    def _check_superwords(self) -> None:
        if self.superwords is None:
            return
        if self.vocab_size is None:
            raise ConfigError("superwords need a vocabulary size", hint="give --vocab-size")
        most = self.vocab_size - len(self.special_tokens)
        if not NUM_BYTES <= self.superwords <= most:
            raise ConfigError(
                f"superwords is {self.superwords}",
                hint=f"it must be from {NUM_BYTES} to {most}: at least the bytes, at most all but the special tokens",
            )
        if self.parity is not None:
            raise ConfigError(
                "superwords and parity cannot be combined",
                hint="leave out one of them",
            )
        if self.trace:
            raise ConfigError("superwords and trace cannot be combined", hint="leave out one of them")
        if resolve_pattern(self.pattern).normalization is not None:
            raise ConfigError(
                f"the pattern {self.pattern!r} normalizes text, which superwords do not support",
                hint="choose another --pattern for the words, such as llama3",
            )

    def _check_range(
        self, name: str, value: int | None, *, smallest: int, largest: int = _MAX_INTEGER
    ) -> None:
        if value is not None and value < smallest:
            raise ConfigError(f"{name} is {value}", hint=f"it must be at least {smallest}")
        if value is not None and value > largest:
            raise ConfigError(f"{name} is {value}", hint=f"it must be at most {largest}")


def config_as_saved(config: BpeConfig, pattern: SplitPattern) -> Mapping[str, Any]:
    """Return the options that affect the trained tokenizer and the text of its pattern, as plain data."""
    words = resolve_pattern(config.pattern)
    return {
        "vocab_size": config.vocab_size,
        "pattern": config.pattern if config.superwords is None else pattern.name,
        "pattern_regex": pattern.regex,
        **(
            {}
            if config.superwords is None
            else {
                "superwords": config.superwords,
                "words_pattern": config.pattern,
                "words_pattern_regex": words.regex,
            }
        ),
        "special_tokens": list(config.special_tokens),
        "min_frequency": config.min_frequency,
        "max_token_length": config.max_token_length,
        "seed": config.seed,
    }
