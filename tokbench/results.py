"""What the use cases return: frozen dataclasses that know their figures, not how they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core import graphemes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.core.graphemes import CutCluster
    from tokbench.core.interfaces import TokenizerInfo, TrainingRecord
    from tokbench.core.tokens import Segmentation


@dataclass(frozen=True, slots=True)
class VizTokenizer:
    """One tokenizer and what it makes of the text."""

    info: TokenizerInfo
    segmentation: Segmentation

    @property
    def characters(self) -> int:
        """Code points of the text."""
        return len(self.segmentation.text)

    @property
    def num_bytes(self) -> int:
        """UTF-8 bytes of the text."""
        return len(self.segmentation.text.encode())

    @property
    def tokens(self) -> int:
        """Tokens, special ones included."""
        return len(self.segmentation.tokens)

    @property
    def bytes_per_token(self) -> float | None:
        """UTF-8 bytes of the text over its tokens, higher is shorter; None where there are no tokens."""
        return self.num_bytes / self.tokens if self.tokens else None

    def cut_clusters(self) -> tuple[CutCluster, ...]:
        """The grapheme clusters that token boundaries cut, in order; reads the whole text each time."""
        return graphemes.cut_clusters(self.segmentation)


@dataclass(frozen=True, slots=True)
class VizResult:
    """One text as one or several tokenizers see it, in the order in which they were asked for."""

    text: str
    views: tuple[VizTokenizer, ...]


@dataclass(frozen=True, slots=True)
class TrainResult:
    """A tokenizer that was trained and saved."""

    info: TokenizerInfo
    training: TrainingRecord
    directory: Path
    first_learned: tuple[bytes, ...]
    last_learned: tuple[bytes, ...]
    saving_seconds: float
    fingerprint: str | None
    left_out: Mapping[str, str]

    @property
    def seconds(self) -> float:
        """Wall seconds from the first byte read to the saved folder."""
        return sum(self.training.seconds.values()) + self.saving_seconds

    @property
    def megabytes_per_second(self) -> float | None:
        """Millions of bytes of text per second of training, without the saving; None where it took no time."""
        seconds = sum(self.training.seconds.values())
        num_bytes = self.training.num_bytes
        return num_bytes / seconds / 1e6 if num_bytes is not None and seconds > 0 else None

    @property
    def bytes_per_token(self) -> float | None:
        """UTF-8 bytes of the training text over its tokens; None where the backend does not tell."""
        num_bytes, tokens = self.training.num_bytes, self.training.tokens
        return num_bytes / tokens if num_bytes is not None and tokens else None

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        training = self.training
        return {
            "schema": "tokbench.train/1",
            **_described(self.info),
            "directory": str(self.directory),
            "left_out": dict(self.left_out),
            "special_tokens": dict(self.info.special_tokens),
            "requested_vocab_size": training.requested_vocab_size,
            "merges": len(training.learned_ids),
            "stopped_early": training.stopped_early,
            "notes": list(training.notes),
            "documents": training.documents,
            "bytes": training.num_bytes,
            "pretokens": training.pretokens,
            "distinct_pretokens": training.distinct_pretokens,
            "tokens": training.tokens,
            "bytes_per_token": self.bytes_per_token,
            "fingerprint": self.fingerprint,
            "threads": training.threads,
            "seconds": {**training.seconds, "saving": self.saving_seconds, "total": self.seconds},
            "megabytes_per_second": self.megabytes_per_second,
            "first_learned": [piece_document(piece) for piece in self.first_learned],
            "last_learned": [piece_document(piece) for piece in self.last_learned],
        }


@dataclass(frozen=True, slots=True)
class EncodeResult:
    """One text as tokens."""

    source: str
    info: TokenizerInfo
    segmentation: Segmentation

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        tokens = self.segmentation.tokens
        return {
            "schema": "tokbench.encode/1",
            "source": self.source,
            **_described(self.info),
            "ids": self.segmentation.ids,
            "pieces": [token.piece.decode(errors="replace") for token in tokens],
            "spans": [list(token.span) for token in tokens],
        }


@dataclass(frozen=True, slots=True)
class DecodeResult:
    """The bytes that ids stand for."""

    info: TokenizerInfo
    tokens: int
    data: bytes

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "schema": "tokbench.decode/1",
            **_described(self.info),
            "tokens": self.tokens,
            "bytes": len(self.data),
            "text": self.data.decode(errors="replace"),
        }


@dataclass(frozen=True, slots=True)
class Count:
    """How long a text is, in every unit."""

    source: str
    tokens: int
    num_bytes: int
    characters: int

    @property
    def bytes_per_token(self) -> float | None:
        """UTF-8 bytes over tokens; None where there are no tokens."""
        return self.num_bytes / self.tokens if self.tokens else None

    def joined(self, other: Count) -> Count:
        """This text and another one behind it."""
        return Count(
            self.source,
            self.tokens + other.tokens,
            self.num_bytes + other.num_bytes,
            self.characters + other.characters,
        )

    def document(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {
            "source": self.source,
            "tokens": self.tokens,
            "bytes": self.num_bytes,
            "characters": self.characters,
            "bytes_per_token": self.bytes_per_token,
        }


@dataclass(frozen=True, slots=True)
class CountResult:
    """The lengths of several texts."""

    info: TokenizerInfo
    counts: tuple[Count, ...]

    @property
    def total(self) -> Count:
        """All of them together."""
        return Count(
            source="total",
            tokens=sum(count.tokens for count in self.counts),
            num_bytes=sum(count.num_bytes for count in self.counts),
            characters=sum(count.characters for count in self.counts),
        )

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        total = self.total.document()
        del total["source"]
        return {
            "schema": "tokbench.count/1",
            **_described(self.info),
            "files": [count.document() for count in self.counts],
            "total": total,
        }


@dataclass(frozen=True, slots=True)
class ShardsResult:
    """A corpus that was written as shards.

    Attributes:
        info: the tokenizer.
        folder: where they are.
        index: what its `index.json` holds.
        seconds: that this run took; less than all where it resumed another.
    """

    info: TokenizerInfo
    folder: Path
    index: Mapping[str, Any]
    seconds: float

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        index = self.index
        return {
            "schema": "tokbench.encode-shards/1",
            **_described(self.info),
            "folder": str(self.folder),
            "format": index["format"],
            "dtype": index["dtype"],
            "eos": index["eos"],
            **index["total"],
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """What is wrong with a folder of shards.

    Attributes:
        folder: the folder.
        shards: how many there are.
        documents: in all of them.
        tokens: in all of them.
        compared: documents that were encoded anew.
        problems: a sentence each; none where all is well.
    """

    folder: Path
    shards: int
    documents: int
    tokens: int
    compared: int
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "schema": "tokbench.verify/1",
            "folder": str(self.folder),
            "passed": self.passed,
            "shards": self.shards,
            "documents": self.documents,
            "tokens": self.tokens,
            "compared": self.compared,
            "problems": list(self.problems),
        }


def piece_document(piece: bytes) -> dict[str, str]:
    """A token's bytes as JSON: as text, U+FFFD where it is incomplete, and in hexadecimal.

    >>> piece_document(b" a")
    {'piece': ' a', 'bytes': '2061'}
    """
    return {"piece": piece.decode(errors="replace"), "bytes": piece.hex()}


def _described(info: TokenizerInfo) -> dict[str, Any]:
    return {"name": info.name, "backend": info.backend, "vocab_size": info.vocab_size, "kernel": info.kernel}
