"""What a tokenizer and a backend are, as Protocols, and what each says of itself.

Nothing here imports a tokenizer library. Code outside `backends` knows of a tokenizer what stands here and, where it
asks for them, the capabilities of `tokbench.core.capabilities`.
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

    from tokbench.core.encoded import Encoded
    from tokbench.core.manifest import Manifest


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """Name, size and properties of a tokenizer.

    Attributes:
        name: how the user calls it.
        backend: the registered backend that made it.
        vocab_size: tokens, special tokens included.
        special_tokens: text → id.
        lossless: whether decode(encode(text)) gives every text back, byte for byte.
        kernel: what runs it: "native", "python", or a library with its version.
    """

    name: str
    backend: str
    vocab_size: int
    special_tokens: Mapping[str, int]
    lossless: bool
    kernel: str

    def __repr__(self) -> str:
        """Short: special tokens are counted, as there may be hundreds."""
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
        """The ids of a text. Raises `SpecialTokenError` under `SpecialPolicy.RAISE`, `TextError` for surrogates."""

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """The ids of many texts, in arrays; `threads=None` takes every processor."""

    def segment(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> Segmentation:
        """The tokens of a text with their bytes and spans; its ids are those of `encode`."""

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes of ids. Raises `UnknownIdError`."""

    def decode(self, ids: Sequence[int], *, errors: str = "replace") -> str:
        """The text of ids; incomplete characters become U+FFFD, or `DecodeError` under errors="strict"."""

    def token_bytes(self, id: int) -> bytes:
        """The bytes of one token. Raises `UnknownIdError`."""

    def token_id(self, piece: bytes) -> int | None:
        """The id of a token, or None; special tokens are found by the bytes of their text."""

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens. Raises `StoreError`."""


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """What a training run read and learned.

    Attributes:
        documents: documents read, or None where the backend does not say.
        num_bytes: UTF-8 bytes read, or None.
        pretokens: pre-tokens seen, or None where the algorithm has none.
        distinct_pretokens: different ones among them, or None.
        tokens: tokens the training text becomes under the result, or None.
        learned_ids: the tokens that were learned, in the order in which they were.
        learned_unit: what one of them is called, in the plural.
        seconds: phase → wall seconds.
        threads: threads used.
        kernel: what trained: "native", "python", or a library with its version.
        requested_vocab_size: as asked for, or None where the default was taken.
        stopped_early: why fewer tokens were learned than asked for, else None.
        notes: what else the user should know of it, a sentence each.
        words: which counted words it learned from, as JSON; None where it read documents.
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
    """One option of a backend, for `tokbench backends` and for checking presets."""

    name: str
    default: Any
    help: str


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """Name, summary, kernel and options of a backend."""

    name: str
    summary: str
    kernel: str
    options: tuple[BackendOption, ...] = field(default=())


class Backend(Protocol):
    """An algorithm family: trains tokenizers and loads the ones it saved.

    A class of this shape, named by an entry point in the group `tokbench.backends`, is all that
    a new backend needs.
    """

    @property
    def name(self) -> str:
        """Its name: that of its entry point."""

    @property
    def summary(self) -> str:
        """One line of description."""

    @property
    def kernel(self) -> str:
        """What runs it: "native", "python", or a library with its version."""

    @property
    def config_type(self) -> type[Any]:
        """A frozen dataclass whose fields are its options; a field's metadata may carry `help`."""

    def train(self, documents: Iterable[str], config: Any, *, progress: Progress = no_progress) -> Tokenizer:
        """Learn a tokenizer from documents. Raises `TrainingError`, `ConfigError`, `CorpusError`."""

    def load(self, directory: Path, manifest: Manifest) -> Tokenizer:
        """Open a folder that this backend saved; `manifest` is the folder's own. Raises `ModelFormatError`."""
