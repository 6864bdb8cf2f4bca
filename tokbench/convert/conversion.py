"""The source of a conversion, and its result."""

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
    """The tokenizer to convert, with the user's options.

    Attributes:
        tokenizer: the running tokenizer.
        description: its components; None if it does not describe them.
        roles: role → special token, as given by the user.
        chat_template: a Jinja template, or None.
        accept_rounding: whether a Unigram may segment texts differently where rounding decides.
        special_as_text: whether the texts of special tokens become ordinary text in the target, too.
    """

    tokenizer: Tokenizer
    description: Description | None
    roles: Mapping[str, str] = field(default_factory=dict)
    chat_template: str | None = None
    accept_rounding: bool = False
    special_as_text: bool = False

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Text → id of the special tokens."""
        return self.tokenizer.info.special_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """The result of a conversion.

    Attributes:
        files: the file under the name "", or the files of a folder by name.
        open: a function from the written path to the tokenizer as its own library opens it.
        notes: what the format cannot express and users should know, one sentence each.
        at_times: files that only some sources produce: a folder that is replaced may contain them.
        limits: what the proof relies on other than texts, one sentence each.
        rounding: the user's acceptance of rounded sums, in a sentence; None if none was needed.
        post_processing: what the target does to the ids of a text; None if the format does nothing.
    """

    files: Mapping[str, bytes]
    open: Callable[[Path], Peer]
    notes: tuple[str, ...] = ()
    at_times: frozenset[str] = frozenset()
    limits: tuple[str, ...] = ()
    rounding: str | None = None
    post_processing: PostProcessing | None = None


def undescribed(source: Source) -> ConversionError:
    """Return the error for a tokenizer that does not describe its components."""
    return ConversionError(
        f"the backend {source.tokenizer.info.backend!r} does not describe its tokenizers in terms of other formats",
        hint="--to token_bytes needs no description",
    )


def kind_of(description: Description) -> str:
    """Describe the kind of tokenizer, as the end of "this is …".

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
