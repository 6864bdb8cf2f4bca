"""The source of a conversion, and its product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokbench.core.descriptions import ByteLevelBpe, HuggingFaceModel, SentencePieceModel
from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tokbench.convert.proof import Peer
    from tokbench.core.descriptions import Description, PostProcessing
    from tokbench.core.interfaces import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is converted.

    Attributes:
        tokenizer: it, running.
        description: what it is made of; None for one that does not say.
        roles: role → special token, as the user gives them.
        chat_template: a Jinja template, or None.
        accept_rounding: whether a Unigram may be segmented otherwise where rounding decides.
        special_as_text: whether the texts of special tokens are to be ordinary text in the target, too.
    """

    tokenizer: Tokenizer
    description: Description | None
    roles: Mapping[str, str] = field(default_factory=dict)
    chat_template: str | None = None
    accept_rounding: bool = False
    special_as_text: bool = False

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Text → id."""
        return self.tokenizer.info.special_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """What a conversion makes.

    Attributes:
        files: the file under the name "", or the files of a folder by their names.
        open: a path where they were put → the tokenizer as its own library opens it.
        notes: what the format cannot say and its user has to know, a sentence each.
        at_times: files of a folder that other sources have: they give way where a folder is replaced.
        limits: what the proof rests on besides texts, a sentence each.
        rounding: what the user has accepted of rounded sums, None where nothing had to be.
        post_processing: what the target does to the ids of a text; None for a format that does nothing.
    """

    files: Mapping[str, bytes]
    open: Callable[[Path], Peer]
    notes: tuple[str, ...] = ()
    at_times: frozenset[str] = frozenset()
    limits: tuple[str, ...] = ()
    rounding: str | None = None
    post_processing: PostProcessing | None = None


def undescribed(source: Source) -> ConversionError:
    """The error for a tokenizer that does not describe its components."""
    return ConversionError(
        f"the backend {source.tokenizer.info.backend!r} does not describe its tokenizers in terms of other formats",
        hint="--to token_bytes needs no description",
    )


def kind_of(description: Description) -> str:
    """A description as the end of "this is …".

    >>> kind_of(HuggingFaceModel(b'{"model": {"type": "WordPiece"}}'))
    'a tokenizer.json of WordPiece'
    """
    match description:
        case ByteLevelBpe():
            return "a byte-level BPE"
        case SentencePieceModel(proto=proto):
            from tokbench.formats.sentencepiece.model import parse_model

            return f"a SentencePiece {parse_model(proto).model_type.name.lower()} model"
        case HuggingFaceModel(document=data):
            from tokbench.libraries.huggingface.tokenizer_json import model_type, parse_tokenizer_json

            return f"a tokenizer.json of {model_type(parse_tokenizer_json(data, source='the tokenizer'))}"
