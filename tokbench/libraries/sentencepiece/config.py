"""The training options of SentencePiece's algorithms: BPE on characters, and Unigram."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.config import PassesOn
from tokbench.core.argument_types import MAX_THREADS
from tokbench.core.special_tokens import check_special_tokens
from tokbench.core.wording import meant
from tokbench.errors import ConfigError
from tokbench.formats.sentencepiece.model import NORMALIZER_FIELDS, SPACE, TRAINER_FIELDS, ModelType

if TYPE_CHECKING:
    from collections.abc import Sequence

NUM_BYTES = 256
NORMALIZATIONS = ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")

TRAINERS = ("tokbench", "sentencepiece")
"""The trainers, which implement the same algorithm."""

PARTS = 16
"""The number of parts into which the library divides the work, its default. It changes the result, so it does not
depend on the machine; the number of parts that run at once does."""

LONGEST_LINE = 1 << 16
"""The largest length of a line in bytes; the library's BPE can address no more than 65,536 characters of a word."""

_BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")

_RENAMED = {
    "vocab_size": "vocab_size",
    "model_type": "the backend",
    "control_symbols": "special_tokens",
    "max_sentencepiece_length": "max_token_length",
    "normalization_rule_name": "normalization",
    "num_threads": "threads",
    "random_seed": "seed",
    "shuffle_input_sentence": "input_sentence_size and seed",
    "input": "the text given to train on",
    "input_format": "the text given to train on",
    "model_prefix": "the place to save in",
}
"""Options of the library that follow an option or argument of another name in tokbench."""

_SAME_NAMES = (
    *("user_defined_symbols", "character_coverage", "byte_fallback", "add_dummy_prefix", "split_digits"),
    *("remove_extra_whitespaces", "allow_whitespace_only_pieces"),
    *(f"{role}_{part}" for role in ("unk", "bos", "eos", "pad") for part in ("id", "piece")),
)
"""Options that the library has under the same names."""

_MAX_VOCAB_SIZE = 1 << 24


def _option(*, default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceConfig(PassesOn):
    """The training options of SentencePiece's BPE, validated on construction.

    Raises:
        ConfigError: an option is invalid; the hint names the smallest change that works.
    """

    model_type: ClassVar[ModelType] = ModelType.BPE
    trainers: ClassVar[tuple[str, ...]] = ("auto", *TRAINERS)
    passes_on: ClassVar[str] = "options"

    vocab_size: int | None = _option(
        default=None, help="vocabulary size, special tokens and bytes included; by default fitted to the text"
    )
    special_tokens: tuple[str, ...] = _option(default=(), help="control symbols; the text is cut at them")
    user_defined_symbols: tuple[str, ...] = _option(
        default=(), help="pieces that are matched before anything else"
    )
    character_coverage: float = _option(
        default=0.9995, help="share of the text's characters that become tokens; 1.0 for all"
    )
    byte_fallback: bool = _option(
        default=True, help="characters without a token become their bytes, not <unk>"
    )
    normalization: str = _option(default="identity", help=", ".join(NORMALIZATIONS))
    add_dummy_prefix: bool = _option(default=True, help="put a space in front of every text")
    remove_extra_whitespaces: bool = _option(
        default=False, help="drop spaces at both ends of a text, and all but one between words"
    )
    max_token_length: int = _option(default=16, help="maximum length of a token in characters")
    split_digits: bool = _option(default=False, help="every digit is a separate token")
    allow_whitespace_only_pieces: bool = _option(default=True, help="runs of spaces may be tokens")
    unk_id: int = _option(default=0, help="the id of <unk>")
    bos_id: int = _option(default=1, help="the id of <s>; -1 for none")
    eos_id: int = _option(default=2, help="the id of </s>; -1 for none")
    pad_id: int = _option(default=-1, help="the id of <pad>; -1 for none")
    unk_piece: str = _option(default="<unk>", help="the unknown token")
    bos_piece: str = _option(default="<s>", help="the begin-of-text token")
    eos_piece: str = _option(default="</s>", help="the end-of-text token")
    pad_piece: str = _option(default="<pad>", help="the padding token")
    max_sentence_length: int | None = _option(
        default=None,
        help="maximum length of a line in bytes: longer ones are skipped; by default, cut at a space if possible",
    )
    input_sentence_size: int = _option(
        default=0, help="number of lines to train on, drawn at random; 0 for all"
    )
    trainer: str = _option(
        default="auto",
        help="tokbench: the library's algorithm on our kernel; sentencepiece: the library; auto: the kernel if it is "
        "compiled, to the same pieces",
    )
    threads: int | None = _option(
        default=None, help="number of threads; by default all. Never changes the result"
    )
    seed: int = _option(default=0, help="seed of the drawn lines and the self-test")
    options: tuple[str, ...] = _option(
        default=(), help="another option of the library, as --option key=value"
    )

    def __post_init__(self) -> None:
        self._check_symbols()
        self._check_ids()
        self._check_numbers()
        if self.normalization not in NORMALIZATIONS:
            raise ConfigError(
                f"unknown normalization {self.normalization!r}",
                hint=_suggestion(self.normalization, NORMALIZATIONS),
            )
        if self.trainer not in self.trainers:
            raise ConfigError(
                f"unknown trainer {self.trainer!r}", hint=_suggestion(self.trainer, self.trainers)
            )
        self.library_options()
        self._check_vocab_size()

    @property
    def named_ids(self) -> dict[str, int]:
        """The pieces with a configured id of 0 or more → the id."""
        named = {
            self.unk_piece: self.unk_id,
            self.bos_piece: self.bos_id,
            self.eos_piece: self.eos_id,
            self.pad_piece: self.pad_id,
        }
        return {piece: id for piece, id in named.items() if id >= 0}

    @property
    def all_special_tokens(self) -> tuple[str, ...]:
        """The pieces with configured ids, and the special tokens."""
        return (*self.named_ids, *self.special_tokens)

    @property
    def reserved(self) -> int:
        """The number of tokens that exist before anything is learned."""
        symbols = len(self.special_tokens) + len(self.user_defined_symbols)
        return len(self.named_ids) + symbols + (NUM_BYTES if self.byte_fallback else 0)

    def library_options(self) -> dict[str, str]:
        """Return the library's other options by name, after checking them. Raises `ConfigError`."""
        known = [name for name in (*TRAINER_FIELDS, *NORMALIZER_FIELDS) if name not in _RENAMED]
        named = {option.name for option in dataclasses.fields(self)}
        chosen: dict[str, str] = {}
        for text in self.options:
            _check_utf8(text, "option")
            key, equals, value = text.partition("=")
            if not equals:
                raise ConfigError(f"the option {text!r} has no value", hint="write key=value")
            if key in named and key != "options":
                raise ConfigError(f"{key} is an option of its own", hint=f"set {key}, not options")
            if key in _RENAMED:
                raise ConfigError(
                    f"the library's {key} cannot be set here", hint=f"it follows {_RENAMED[key]}"
                )
            if key not in known or key in _REFUSED:
                raise ConfigError(
                    f"SentencePiece has no option {key!r} that can be set here",
                    hint=_suggestion(
                        key,
                        [name for name in known if name not in named | _REFUSED],
                        besides=[name for name in named if name != self.passes_on],
                    ),
                )
            chosen[key] = _checked(key, value)
        return chosen

    def library_arguments(self, *, vocab_size: int) -> dict[str, str]:
        """Return all options for the library's trainer as strings; lists are lines of CSV."""
        given: dict[str, Any] = {
            "model_type": self.model_type.name.lower(),
            "vocab_size": vocab_size,
            # If the text cannot fill the vocabulary, training stops early, and the record says so.
            "hard_vocab_limit": False,
            "control_symbols": self.special_tokens,
            "normalization_rule_name": self.normalization,
            "max_sentencepiece_length": self.max_token_length,
            **{name: getattr(self, name) for name in _SAME_NAMES},
            "max_sentence_length": LONGEST_LINE,
            "num_threads": PARTS,
        }
        return {key: _as_text(value) for key, value in (given | self.library_options()).items()}

    def as_saved(self) -> dict[str, Any]:
        """Return the options that affect the trained tokenizer, as plain data."""
        values = {option.name: getattr(self, option.name) for option in dataclasses.fields(self)}
        del values["threads"]
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    def _check_symbols(self) -> None:
        check_special_tokens(self.special_tokens)
        symbols = (*self.special_tokens, *self.user_defined_symbols)
        names = (self.unk_piece, self.bos_piece, self.eos_piece, self.pad_piece)
        if "" in (*names, *self.user_defined_symbols):
            raise ConfigError("a piece is empty", hint="give each one a text, such as <pad>")
        if len({*names}) < len(names):
            raise ConfigError(f"two of the pieces {', '.join(names)} are the same", hint="rename one")
        for symbol in (*names, *symbols):
            if "\n" in symbol or SPACE in symbol or "\0" in symbol:
                raise ConfigError(
                    f"the symbol {symbol!r} contains a line end, a NUL or {SPACE}",
                    hint="SentencePiece trains on lines and writes a space as ▁",
                )
            _check_utf8(symbol, "symbol")
            if self.byte_fallback and _BYTE_PIECE.fullmatch(symbol):
                raise ConfigError(
                    f"{symbol!r} is already the piece of a byte",
                    hint="rename it, or leave out the bytes with --no-byte-fallback",
                )
        for symbol in symbols:
            if symbol in self.named_ids:
                raise ConfigError(
                    f"{symbol!r} is already the piece with id {self.named_ids[symbol]}",
                    hint="leave it out, or rename unk_piece, bos_piece, eos_piece or pad_piece",
                )
            if symbols.count(symbol) > 1:
                raise ConfigError(f"the symbol {symbol!r} is given twice", hint="name each one once")

    def _check_ids(self) -> None:
        ids = sorted(self.named_ids.values())
        if self.unk_id < 0:
            raise ConfigError("unk_id is negative", hint="SentencePiece needs an unknown piece: unk_id = 0")
        if len(set(ids)) < len(ids):
            raise ConfigError(
                f"two of unk_id, bos_id, eos_id and pad_id are the same: {ids}", hint="-1 leaves one out"
            )

    def _check_numbers(self) -> None:
        # The library fails on a number out of range, in some cases late.
        if not 0.98 <= self.character_coverage <= 1:
            raise ConfigError(
                f"character_coverage is {self.character_coverage}",
                hint="it must be from 0.98 to 1.0: 0.9995 for many scripts, 1.0 for few characters",
            )
        ranges = {
            "max_token_length": (1, 512),
            "max_sentence_length": (1, LONGEST_LINE),
            "input_sentence_size": (0, 1 << 62),
            "threads": (1, MAX_THREADS),
            "seed": (0, 1 << 62),
        }
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise ConfigError(f"{name} is {value}", hint=f"it must be from {low} to {high}")

    def _check_vocab_size(self) -> None:
        # The bytes and characters are checked during training, as only the text tells how many there are.
        special = self.reserved - (NUM_BYTES if self.byte_fallback else 0)
        smallest = max(special, *self.named_ids.values()) + 1
        size = self.vocab_size
        if size is not None and size < smallest:
            raise ConfigError(
                f"a vocabulary of {size} is too small: {special} tokens are special or have fixed ids",
                hint=f"the smallest that could work is {smallest}, and the text's characters need more",
            )
        if size is not None and size > _MAX_VOCAB_SIZE:
            raise ConfigError(
                f"a vocabulary of {size} is too large", hint=f"it must be at most {_MAX_VOCAB_SIZE:,}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnigramConfig(SentencePieceConfig):
    """The training options of Unigram, validated on construction.

    Raises:
        ConfigError: an option is invalid; the hint names the smallest change that works.
    """

    model_type: ClassVar[ModelType] = ModelType.UNIGRAM
    trainers: ClassVar[tuple[str, ...]] = TRAINERS

    trainer: str = _option(
        default="tokbench",
        help="tokbench: by the same algorithm, faster; or sentencepiece: the library's own",
    )
    round_scores: bool = _option(
        default=True,
        help="round scores to 1/32, so that every library adds them up exactly, to the same ids",
    )


_REFUSED = {
    "name",
    "precompiled_charsmap",
    "escape_whitespaces",  # without it no piece contains a space, and decoding breaks
    "accept_language",
    "self_test_sample_size",
    "mining_sentence_size",
    "training_sentence_size",
    "seed_sentencepieces_file",  # a path, which the model file would store
    "normalization_rule_tsv",
    "enable_differential_privacy",  # noise that no seed reproduces
    "differential_privacy_noise_level",
    "differential_privacy_clipping_threshold",
}


def _check_utf8(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"the {what} {text!a} has no UTF-8 form") from None


def _checked(key: str, value: str) -> str:
    """Return a value after checking that the library can read it. Raises `ConfigError`."""
    kind = (TRAINER_FIELDS.get(key) or NORMALIZER_FIELDS[key]).kind
    try:
        if kind == "int":
            int(value)
        elif kind == "float":
            float(value)
        elif kind == "bool" and value not in ("true", "false"):
            raise ValueError
    except ValueError:
        needed = {"int": "a whole number", "float": "a number", "bool": "true or false"}[kind]
        raise ConfigError(f"the option {key} is {value!r}", hint=f"it needs {needed}") from None
    return value


def _as_text(value: Any) -> str:
    """Return a value in the library's spelling."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        import csv
        import io

        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(value)
        return line.getvalue()
    return str(value)


def _suggestion(name: str, known: Sequence[str], *, besides: Sequence[str] = ()) -> str:
    return meant(name, [*known, *besides], otherwise=f"choose {', '.join(known)}")
