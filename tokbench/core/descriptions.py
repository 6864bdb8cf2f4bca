"""What a tokenizer is made of, completely enough to write it in another tool's format.

A conversion works on these descriptions alone and never asks which backend it has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFlags:
    """How an added token is found in a text.

    Attributes:
        lstrip: it takes the white space before it.
        rstrip: it takes the white space after it.
        single_word: it is found only where no letter, digit or underscore touches it.
        normalized: it is matched in the normalized text.
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
        type_id: the type id that a model gets for the part, as BERT gets for each of two texts.
    """

    text: int | None
    tokens: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    type_id: int = 0


@dataclass(frozen=True, slots=True)
class Template:
    """The special tokens that a model wants around its texts.

    Attributes:
        single: the parts for one text.
        pair: the parts for two.
    """

    single: tuple[TemplatePart, ...]
    pair: tuple[TemplatePart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """How texts are truncated.

    Attributes:
        max_length: the most tokens, those of the template included.
        strategy: what is cut of two texts: "LongestFirst", "OnlyFirst" or "OnlySecond".
        stride: how many tokens the parts that were cut off share with what is before them.
        direction: the end that is cut, "Left" or "Right".
    """

    max_length: int
    strategy: str = "LongestFirst"
    stride: int = 0
    direction: str = "Right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """How texts are padded.

    Attributes:
        length: the tokens that each has afterwards; None fills up to the longest text of a batch.
        multiple: the number of tokens is brought to a multiple of this; None leaves it.
        direction: the end that is filled, "Left" or "Right".
        pad_id: the id that fills.
        pad_type_id: the type id of the padding.
        pad_token: its spelling.
    """

    length: int | None = None
    multiple: int | None = None
    direction: str = "Right"
    pad_id: int = 0
    pad_type_id: int = 0
    pad_token: str = "[PAD]"  # noqa: S105 -- a token of texts


@dataclass(frozen=True, slots=True, kw_only=True)
class PostProcessing:
    """What is done to the ids of a text before a model gets them.

    Attributes:
        template: the special tokens around texts; None for none.
        truncation: where texts are cut; None for nowhere.
        padding: how they are filled up; None for not at all.
        trims_offsets: whether the places of tokens leave out the white space that the tokens have.
        keeps_first_space: whether those of a text's first token do not, where they are trimmed.
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
        tokens: the bytes of each id; None where the vocabulary has a gap or a special token.
        merges: (left id, right id, made id) in the order of their ranks; None where only the tokens'
            ranks (their ids) are known, and two neighbours merge when their bytes together are a token.
        pattern: the split pattern's regular expression; None where a whole text is one pre-token.
        pattern_name: a name of `tokbench.backends.bpe.split_patterns.PATTERN_NAMES`, or "custom".
        normalization: "nfc", or None.
        special_tokens: text → id.
        whole_tokens_first: whether a pre-token that is in the vocabulary becomes that token without any merge
            (tiktoken, and `ignore_merges` of tokenizers).
        token_flags: special token → how it is found; one that is missing has no flag.
        post_processing: what is done to the ids of a text before a model gets them.
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
        post_processing: what is done to the ids of a text before a model gets them: it stands beside the file.
    """

    proto: bytes
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    post_processing: PostProcessing = field(default_factory=PostProcessing)


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
        """The components of the tokenizer."""


@runtime_checkable
class NestsVocabularies(Protocol):
    """A backend for which training to a size is the first part of training to any larger size."""

    def smaller(self, tokenizer: Tokenizer, vocab_size: int) -> Tokenizer | None:
        """The tokenizer that training to a smaller size would give.

        Args:
            tokenizer: one that the backend trained.
            vocab_size: the smaller size, special tokens included.

        Returns:
            None where the tokenizer has no such beginning.
        """
