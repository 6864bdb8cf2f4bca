"""Descriptions of tokenizers, complete enough to write them in another tool's format.

A conversion works on these descriptions alone and does not depend on the backend.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFlags:
    """How an added token is matched in a text.

    Attributes:
        lstrip: whether it absorbs the white space before it.
        rstrip: whether it absorbs the white space after it.
        single_word: whether it matches only where no letter, digit or underscore touches it.
        normalized: whether it is matched in the normalized text.
    """

    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """A part of a template: one of the texts, or special tokens.

    Attributes:
        text: 0 for the first text, 1 for the second; None for special tokens.
        tokens: the spelling of each special token; empty for a text.
        ids: their ids.
        type_id: the type id of the part's tokens, which for BERT tells two texts apart.
    """

    text: int | None
    tokens: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    type_id: int = 0


@dataclass(frozen=True, slots=True)
class Template:
    """The special tokens that a model expects around its texts.

    Attributes:
        single: the parts for one text.
        pair: the parts for two texts.
    """

    single: tuple[TemplatePart, ...]
    pair: tuple[TemplatePart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """How texts are truncated.

    Attributes:
        max_length: the most tokens, including those of the template.
        strategy: which of two texts is truncated: "LongestFirst", "OnlyFirst" or "OnlySecond".
        stride: the number of tokens that each overflowing window shares with the window before it.
        direction: the end that is truncated, "Left" or "Right".
    """

    max_length: int
    strategy: str = "LongestFirst"
    stride: int = 0
    direction: str = "Right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """How texts are padded.

    Attributes:
        length: the number of tokens after padding; None pads to the longest text of a batch.
        multiple: the number of tokens is rounded up to a multiple of this; None leaves it.
        direction: the end that is padded, "Left" or "Right".
        pad_id: the id of the padding token.
        pad_type_id: the type id of the padding.
        pad_token: the spelling of the padding token.
    """

    length: int | None = None
    multiple: int | None = None
    direction: str = "Right"
    pad_id: int = 0
    pad_type_id: int = 0
    pad_token: str = "[PAD]"  # noqa: S105 -- a token of texts


@dataclass(frozen=True, slots=True, kw_only=True)
class PostProcessing:
    """How the ids of a text are post-processed for a model.

    Attributes:
        template: the special tokens around texts; None for none.
        truncation: how texts are truncated; None for not at all.
        padding: how they are padded; None for not at all.
        trims_offsets: whether the offsets of a token leave out its white space.
        keeps_first_space: whether the first token of a text keeps its leading space where offsets are trimmed.
    """

    template: Template | None = None
    truncation: Truncation | None = None
    padding: Padding | None = None
    trims_offsets: bool = False
    keeps_first_space: bool = False


@dataclass(frozen=True, slots=True)
class ByteLevelBpe:
    """Byte-level BPE: every byte is a token, and pairs merge.

    Attributes:
        tokens: the bytes of each id; None if the vocabulary has a gap or a special token.
        merges: (left id, right id, merged id) in the order of their ranks; None if only the tokens' ranks
            (their ids) are known, and two neighbours merge when their joined bytes are a token.
        pattern: the regular expression of the split pattern; None if a whole text is one pre-token.
        pattern_name: a name of `tokbench.backends.bpe.split_patterns.PATTERN_NAMES`, or "custom".
        normalization: "nfc", or None.
        special_tokens: text → id.
        whole_tokens_first: whether a pre-token that is in the vocabulary becomes that token without any merge
            (tiktoken, and `ignore_merges` of tokenizers).
        token_flags: special token → its flags; a token that is missing has no flag.
        post_processing: how the ids of a text are post-processed for a model.
    """

    tokens: Sequence[bytes | None]
    merges: Sequence[tuple[int, int, int]] | None
    pattern: str | None
    pattern_name: str
    normalization: str | None = None
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    whole_tokens_first: bool = False
    token_flags: Mapping[str, TokenFlags] = field(default_factory=dict)
    post_processing: PostProcessing = field(default_factory=PostProcessing)


@dataclass(frozen=True, slots=True)
class SentencePieceModel:
    """A SentencePiece model of any type.

    Attributes:
        proto: the serialized `ModelProto`, as a `.model` file holds it.
        special_tokens: text → id, the control and user-defined symbols that count as special.
        post_processing: how the ids of a text are post-processed for a model; it comes from files beside the model.
    """

    proto: bytes
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    post_processing: PostProcessing = field(default_factory=PostProcessing)


@dataclass(frozen=True, slots=True)
class HuggingFaceModel:
    """A tokenizer described by its `tokenizer.json`.

    Attributes:
        document: the bytes of the file.
        special_tokens: text → id.
    """

    document: bytes
    special_tokens: Mapping[str, int] = field(default_factory=dict)


Description = ByteLevelBpe | SentencePieceModel | HuggingFaceModel


@runtime_checkable
class DescribesItself(Protocol):
    """A tokenizer that can describe its components."""

    def description(self) -> Description:
        """Return the components of the tokenizer."""


@runtime_checkable
class NestsVocabularies(Protocol):
    """A backend for which training to a size is the first part of training to any larger size."""

    def smaller(self, tokenizer: Tokenizer, vocab_size: int) -> Tokenizer | None:
        """Return the tokenizer that training to a smaller size would give.

        Args:
            tokenizer: a tokenizer that the backend trained.
            vocab_size: the smaller size, including special tokens.

        Returns:
            None if the tokenizer does not contain such a smaller one.
        """
