"""What a tokenizer is made of, wholly enough to make it again in another tool's format.

A conversion works on these descriptions alone and never asks which backend it has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ByteLevelBpe:
    """Byte-level BPE: every byte is a token, and pairs merge.

    Attributes:
        tokens: the bytes of each id; None where the vocabulary has a gap or a special token.
        merges: (left id, right id, made id) in the order of their ranks; None where only the tokens'
            ranks (their ids) are known, and two neighbours merge when their bytes together are a token.
        pattern: the split pattern's regular expression; None where a whole text is one pre-token.
        pattern_name: a name of `tokbench.backends.bpe.split.PATTERN_NAMES`, or "custom".
        normalization: "nfc", or None.
        special_tokens: text → id.
        whole_tokens_first: whether a pre-token that is an entry becomes that entry without any merge
            (tiktoken, and `ignore_merges` of tokenizers).
    """

    tokens: tuple[bytes | None, ...]
    merges: tuple[tuple[int, int, int], ...] | None
    pattern: str | None
    pattern_name: str
    normalization: str | None = None
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    whole_tokens_first: bool = False


@dataclass(frozen=True, slots=True)
class SentencePieceModel:
    """A SentencePiece model of any type.

    Attributes:
        proto: the serialised `ModelProto`, as a `.model` file holds it.
        special_tokens: text → id, the control and user-defined symbols that count as special.
    """

    proto: bytes
    special_tokens: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HuggingFaceModel:
    """Whatever a `tokenizer.json` says.

    Attributes:
        document: its bytes.
        special_tokens: text → id.
    """

    document: bytes
    special_tokens: Mapping[str, int] = field(default_factory=dict)


Description = ByteLevelBpe | SentencePieceModel | HuggingFaceModel


@runtime_checkable
class DescribesItself(Protocol):
    """A tokenizer that can say what it is made of."""

    def description(self) -> Description:
        """What it is made of."""
