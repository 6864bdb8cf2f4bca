"""What a tokenizer and a backend are, as Protocols; optional capabilities are Protocols of their own.

Nothing here imports a tokenizer library, and no code outside `backends` knows more of a
tokenizer than what stands here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tokbench.core.plurals import counted
from tokbench.core.tokens import ModelInput, Segmentation, SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """What a tokenizer says of itself.

    Attributes:
        name: how the user calls it.
        backend: the registered backend that made it.
        vocab_size: entries, special tokens included.
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
        return f"<{self.name}: {self.backend}, {self.vocab_size:,} entries, {special}, {lossless}, {self.kernel}>"


@dataclass(frozen=True, slots=True)
class Encoded:
    """The ids of many texts in two arrays.

    Attributes:
        ids: uint32[N], the ids of all texts, one after another.
        offsets: int64[len(texts) + 1]; text i has ids[offsets[i]:offsets[i + 1]].
    """

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __repr__(self) -> str:
        """Short: how many there are."""
        return f"<{counted(len(self), 'text')}, {counted(len(self.ids), 'id')}>"

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many ids each text has."""
        return self.offsets[1:] - self.offsets[:-1]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.uint32]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"text {index} of {len(self)}")
        index %= len(self)
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True, slots=True)
class EncodedSpans:
    """The tokens of many texts in arrays, with their spans.

    Attributes:
        encoded: the ids, and which of them are whose.
        starts: int64[N], where each token begins: UTF-8 byte offsets into its own text.
        stops: int64[N], where it ends.
        kinds: uint8[N], the number of its kind: 0 NORMAL, 1 BYTE, 2 UNKNOWN, 3 SPECIAL.
    """

    encoded: Encoded
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    kinds: NDArray[np.uint8]

    def __repr__(self) -> str:
        """Short: how many there are."""
        return f"<{counted(len(self.encoded), 'text')}, {counted(len(self.encoded.ids), 'token')} with their places>"


class Progress(Protocol):
    """Where long work says how far it is; called in the thread that started the work."""

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        """Report `done` of `total` (None where it is not known) in `unit` ("bytes", "merges", …)."""


def no_progress(phase: str, done: int, total: int | None, unit: str) -> None:
    """Report to nobody."""


def known_bytes(documents: object) -> int | None:
    """About how many bytes of text documents have, where they know that before they are read; else None."""
    size = getattr(documents, "text_bytes", None)
    return size if isinstance(size, int) else None


def total_for(done: int, total: int | None) -> int | None:
    """A total to report beside what is done: none where there is more than was known of."""
    return total if total is not None and done <= total else None


def files_read(documents: object) -> tuple[int, int] | None:
    """How far the files of documents are read: bytes on the disk, and of all of them; None where that is not known."""
    found = getattr(documents, "files_read", None)
    return found if isinstance(found, tuple) else None


def reading_of(documents: object) -> Callable[[int], tuple[int, int | None]]:
    """Tells how far documents are read, by the bytes of their text so far: bytes that are done, and in all.

    They are those of the text where its size is known before it is read, else those of the files that it comes from.

    >>> reading_of(["a", "bc"])(3)
    (3, None)
    """
    total = known_bytes(documents)

    def reported(num_bytes: int) -> tuple[int, int | None]:
        files = files_read(documents) if total is None else None
        return files or (num_bytes, total_for(num_bytes, total))

    return reported


class Tokenizer(Protocol):
    """A trained tokenizer: immutable, safe to share between threads."""

    @property
    def info(self) -> TokenizerInfo:
        """What it says of itself."""

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
        """The bytes of one entry. Raises `UnknownIdError`."""

    def token_id(self, piece: bytes) -> int | None:
        """The id of an entry, or None; special tokens are found by the bytes of their text."""

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens. Raises `StoreError`."""


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """What a training run saw and did.

    Attributes:
        documents: documents read, or None where the backend does not say.
        num_bytes: UTF-8 bytes read, or None.
        pretokens: pre-tokens seen, or None where the algorithm has none.
        distinct_pretokens: different ones among them, or None.
        tokens: tokens the training text becomes under the result, or None.
        learned_ids: the entries that were learned, in the order in which they were.
        learned_unit: what one of them is called, in the plural.
        seconds: phase → wall seconds.
        threads: threads used.
        kernel: what trained: "native", "python", or a library with its version.
        requested_vocab_size: as asked for, or None where the default was taken.
        stopped_early: why fewer entries were learned than asked for, else None.
        notes: what else the user should know of it, a sentence each.
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


@dataclass(frozen=True, slots=True)
class BackendOption:
    """One option of a backend, for `tokbench backends` and for checking presets."""

    name: str
    default: Any
    help: str


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """What a backend says of itself before it is used."""

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
        """How it is called: the name of its entry point."""

    @property
    def summary(self) -> str:
        """What it is, in a line."""

    @property
    def kernel(self) -> str:
        """What runs it: "native", "python", or a library with its version."""

    @property
    def config_type(self) -> type[Any]:
        """A frozen dataclass whose fields are its options; a field's metadata may carry `help`."""

    def train(self, documents: Iterable[str], config: Any, *, progress: Progress = no_progress) -> Tokenizer:
        """Learn a tokenizer from documents. Raises `TrainingError`, `ConfigError`, `CorpusError`."""

    def load(self, directory: Path) -> Tokenizer:
        """Open a folder that this backend saved. Raises `ModelFormatError`."""


@runtime_checkable
class AdvisesTrainingSize(Protocol):
    """A backend that takes long enough to train for comparisons to give it a sample of a large text."""

    @property
    def advised_bytes(self) -> int:
        """The most UTF-8 bytes to train on while somebody waits: about a minute's work."""


@runtime_checkable
class ByteDocuments(Protocol):
    """Documents that can also be had as UTF-8 bytes, without a Python string for each.

    A backend that reads bytes natively asks for these; every other one iterates strings.
    """

    def __iter__(self) -> Iterator[str]:
        """The documents as strings."""

    @property
    def num_bytes(self) -> int:
        """Their size, as far as it is known before they are read: for progress."""

    def identity(self) -> TextIdentity:
        """Tells which documents these are. Raises `CorpusError` for what is read only once."""

    def byte_sources(self) -> Iterator[ByteSource]:
        """The same documents as files or blocks of bytes, in the same order; each is used before the next."""


@dataclass(frozen=True, slots=True)
class LineIdentity:
    """Which lines a text is made of, whatever their order and the documents that they are in.

    Attributes:
        fingerprint: of all of them; see `tokbench.corpus.lines.Lines`.
        sample: the hashes of some, 10 hexadecimal digits each, ascending.
    """

    fingerprint: str
    sample: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextIdentity:
    """Which documents a text is made of, whatever their order.

    Attributes:
        fingerprint: of all of them; see `tokbench.corpus.Fingerprint`.
        sample: the hashes of some documents, 16 hexadecimal digits each, ascending: of all that occur
            the smallest, so that two texts with documents in common have them in common here too.
        lines: which lines these are, whatever the documents; None where that is not known.
    """

    fingerprint: str
    sample: tuple[str, ...]
    lines: LineIdentity | None = None


@dataclass(frozen=True, slots=True)
class ByteSource:
    """Bytes that hold one or more whole documents.

    Attributes:
        name: what error messages call it.
        path: a plain file to be read and checked as it is, or None.
        blocks: where `path` is None, the UTF-8 bytes in order, cut anywhere.
        documents: how the bytes fall into documents: "file" (one), or "lines" (without their ends, blank
            ones left out).
    """

    name: str
    path: Path | None
    blocks: Iterable[bytes] | None
    documents: str


class Decoding(Enum):
    """What the text of an entry depends on, besides itself."""

    JOINED = "joined"
    """On nothing: the bytes of ids are those of each, joined."""
    FROM_LEFT = "from left"
    """On whether a text begins with it, or does so but for what gives no text, also behind a special token; and
    on the entry before. What follows only adds to the text."""
    WHOLE = "whole"
    """On anything."""


@runtime_checkable
class TellsDecoding(Protocol):
    """A tokenizer that says how its text may be decoded in pieces; of others nothing is known."""

    @property
    def decoding(self) -> Decoding:
        """What the text of an entry depends on."""


@runtime_checkable
class SupportsPreTokens(Protocol):
    """A tokenizer that splits into pre-tokens before it does anything else."""

    def pretokens(self, text: str) -> list[str]:
        """The pre-tokens of a text; together they are the text."""


@runtime_checkable
class SupportsSpans(Protocol):
    """A tokenizer that places the tokens of many texts faster than it segments them.

    `tokbench.core.token_arrays.encode_spans` asks any tokenizer.
    """

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """The tokens of many texts in arrays: the ids, spans and kinds that `segment` gives."""


@runtime_checkable
class SupportsCounts(Protocol):
    """A tokenizer that counts the tokens of texts faster than it encodes them."""

    def count_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> NDArray[np.int64]:
        """How many ids `encode_batch` would give for each text: int64[len(texts)]."""


@runtime_checkable
class RecordsTraining(Protocol):
    """A tokenizer that still knows how it was trained."""

    @property
    def training(self) -> TrainingRecord | None:
        """What the training saw and did; None for one that was opened."""


@runtime_checkable
class KnowsTrainingText(Protocol):
    """A tokenizer that can tell which text it was trained on."""

    @property
    def training_text(self) -> TextIdentity | None:
        """Which documents that text is made of; None where it is not known."""


@runtime_checkable
class KnowsLoadingTime(Protocol):
    """A tokenizer that can tell how long it took to open it."""

    loading_seconds: float | None
    """Wall seconds, of which the first tokenizer's include the import of its library; None if trained here."""


@dataclass(frozen=True, slots=True)
class ScoredSegmentation:
    """One way to segment a text, and how good it is: a log probability, or what stands for one."""

    segmentation: Segmentation
    score: float


@runtime_checkable
class SupportsNBest(Protocol):
    """A tokenizer that knows more than one segmentation of a text."""

    def n_best(self, text: str, *, n: int) -> list[ScoredSegmentation]:
        """The `n` best segmentations, the best first; fewer where there are fewer."""


@runtime_checkable
class SupportsSampling(Protocol):
    """A tokenizer that can segment at random, for regularisation."""

    def sample(
        self, text: str, *, seed: int, alpha: float | None = None, nbest_size: int | None = None
    ) -> list[int]:
        """The ids of one random segmentation; the same for the same arguments.

        `alpha` is how far it may stray: for Unigram the smoothing of Kudo 2018 (smaller is wilder),
        for BPE the dropout probability of Provilkov et al. 2020 (larger is wilder). None takes 0.1.
        """


@runtime_checkable
class SupportsScores(Protocol):
    """A tokenizer whose entries have scores."""

    def score(self, id: int) -> float | None:
        """The entry's log probability (Unigram), or what stands for one; None for one without."""


@runtime_checkable
class SupportsTemplate(Protocol):
    """A tokenizer that knows what a model wants around its texts, and how long they may be."""

    def with_template(
        self, text: str, pair: str | None = None, *, special: SpecialPolicy = SpecialPolicy.TEXT
    ) -> list[int]:
        """The ids of one text, or of two, with the template's special tokens, as [CLS] … [SEP] … [SEP]."""

    def model_input(
        self,
        text: str,
        pair: str | None = None,
        *,
        special: SpecialPolicy = SpecialPolicy.TEXT,
        template: bool = True,
        limits: bool = True,
    ) -> ModelInput:
        """The same with type ids, and cut and filled up as the file asks; without `template` or `limits`, not so."""
