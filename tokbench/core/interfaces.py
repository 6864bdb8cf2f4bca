"""The Protocols of tokenizers and backends, and the records that describe them.

Nothing here imports a tokenizer library. Code outside `backends` uses a tokenizer only through these interfaces and,
after an isinstance check, the capabilities of `tokbench.core.capabilities`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tokbench.core.progress import Progress, no_progress
from tokbench.core.tokens import Segmentation, SpecialPolicy
from tokbench.core.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.manifest import Manifest
    from tokbench.core.tokens import Encoded


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """Name, size and properties of a tokenizer.

    Attributes:
        name: the name that the user gave.
        backend: the name of the registered backend that created it.
        vocab_size: the number of ids, including those of special tokens and ids without a token.
        special_tokens: text → id.
        lossless: whether decode(encode(text)) equals every text, byte for byte.
        kernel: the code that runs it: "native", "python", or a library with its version.
    """

    name: str
    backend: str
    vocab_size: int
    special_tokens: Mapping[str, int]
    lossless: bool
    kernel: str

    def __repr__(self) -> str:
        """Return a short form; special tokens are only counted, as there may be hundreds."""
        lossless = "lossless" if self.lossless else "not lossless"
        special = counted(len(self.special_tokens), "special token")
        return (
            f"<{self.name}: {self.backend}, {self.vocab_size:,} tokens, {special}, {lossless}, {self.kernel}>"
        )


class Tokenizer(Protocol):
    """A trained tokenizer: immutable, safe to share between threads."""

    @property
    def info(self) -> TokenizerInfo:
        """Name, size and properties."""

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """Encode a text. Raises `SpecialTokenError` under `SpecialPolicy.RAISE`, `TextError` for surrogates."""

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """Encode many texts into arrays; `threads=None` takes every processor."""

    def segment(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> Segmentation:
        """Return the tokens of a text with their bytes and spans; their ids equal those of `encode`."""

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Decode ids to bytes. Raises `UnknownIdError`."""

    def decode(self, ids: Sequence[int], *, errors: str = "replace") -> str:
        """Decode ids to text; incomplete characters become U+FFFD, or raise `DecodeError` under errors="strict"."""

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes of one token. Raises `UnknownIdError`."""

    def token_id(self, piece: bytes) -> int | None:
        """Return the id of a token, or None; special tokens are looked up by the bytes of their text."""

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens. Raises `StoreError`."""


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """What a training run read and learned.

    Attributes:
        documents: the number of documents read, or None if the backend does not report it.
        num_bytes: the number of UTF-8 bytes read, or None.
        pretokens: the number of pre-tokens, or None if the algorithm has none.
        distinct_pretokens: the number of distinct pre-tokens, or None.
        tokens: the number of tokens of the training text when encoded with the result, or None.
        learned_ids: the ids of the learned tokens, in the order of learning.
        learned_unit: the name of a learned token, in the plural.
        seconds: phase → wall seconds.
        threads: the number of threads used.
        kernel: the code that trained: "native", "python", or a library with its version.
        requested_vocab_size: the requested size, or None if the default was used.
        stopped_early: why fewer tokens were learned than requested, else None.
        notes: further notes for the user, one sentence each.
        words: a JSON description of the counted words that it learned from; None if it read documents.
    """

    documents: int | None
    num_bytes: int | None
    pretokens: int | None
    distinct_pretokens: int | None
    tokens: int | None
    learned_ids: range
    seconds: Mapping[str, float]
    threads: int
    kernel: str
    learned_unit: str = "pieces"
    requested_vocab_size: int | None = None
    stopped_early: str | None = None
    notes: tuple[str, ...] = ()
    words: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class BackendOption:
    """An option of a backend, for `tokbench backends` and for checking presets."""

    name: str
    default: Any
    help: str


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """Name, summary, kernel and options of a backend; "unavailable" is the kernel of one that cannot be loaded."""

    name: str
    summary: str
    kernel: str
    options: tuple[BackendOption, ...] = field(default=())


class Backend(Protocol):
    """A family of algorithms that trains tokenizers and loads those that it saved.

    A new backend only needs a class of this shape, named by an entry point in the group `tokbench.backends`.
    """

    @property
    def name(self) -> str:
        """The name of its entry point."""

    @property
    def summary(self) -> str:
        """A description in one line."""

    @property
    def kernel(self) -> str:
        """The code that runs it: "native", "python", or a library with its version."""

    @property
    def config_type(self) -> type[Any]:
        """A frozen dataclass whose fields are its options; a field's metadata may carry `help`."""

    def train(self, documents: Iterable[str], config: Any, *, progress: Progress = no_progress) -> Tokenizer:
        """Train a tokenizer on documents. Raises `TrainingError`, `ConfigError`, `CorpusError`."""

    def load(self, directory: Path, manifest: Manifest) -> Tokenizer:
        """Open a folder that this backend saved; `manifest` is the folder's manifest. Raises `ModelFormatError`."""
