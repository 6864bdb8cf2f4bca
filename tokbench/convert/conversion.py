"""Conversions: the formats to convert to, each in a module of `targets/` loaded on use; the source, and the result."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from tokbench.core.descriptions import ByteLevelBpe, HuggingFaceModel, SentencePieceModel
from tokbench.core.wording import meant
from tokbench.errors import ConfigError, ConversionError

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


@dataclass(frozen=True, slots=True)
class Target:
    """A format to convert to.

    Attributes:
        name: its name for `--to`.
        summary: a description in one line.
        module: the module of `targets/` whose function `make` converts a source; it may raise `ConversionError`.
        without_roles: whether the file holds a tokenizer without the roles of its tokens.
        takes_roles: whether it can hold roles, a chat template, and that special tokens are text.
        adds_otherwise: whether its library may add up scores in another precision than the source's.
    """

    name: str
    summary: str
    module: str
    without_roles: bool = False
    takes_roles: bool = False
    adds_otherwise: bool = False

    def make(self, source: Source) -> Product:
        """Convert a source. Raises `ConversionError` if the format cannot hold the tokenizer."""
        product: Product = import_module(f"tokbench.convert.targets.{self.module}").make(source)
        return product


TARGETS = {
    target.name: target
    for target in (
        Target("tiktoken", "a rank file for tiktoken", "tiktoken", without_roles=True),
        Target(
            "tokenizers",
            "a tokenizer.json for tokenizers",
            "tokenizers",
            without_roles=True,
            adds_otherwise=True,
        ),
        Target(
            "transformers",
            "a folder for transformers' AutoTokenizer",
            "transformers",
            takes_roles=True,
            adds_otherwise=True,
        ),
        Target(
            "sentencepiece",
            "a .model for sentencepiece",
            "sentencepiece",
            without_roles=True,
            adds_otherwise=True,
        ),
        Target("vocab.txt", "the vocabulary of a WordPiece tokenizer", "wordpiece", without_roles=True),
        Target("tokbin", "our own file for inference", "tokbin"),
        Target("llama2c", "the tokenizer.bin of llama2.c", "llama2c", without_roles=True),
        Target("token_bytes", "a .npy of each id's bytes, for bits per byte", "token_bytes"),
    )
}
"""Name → target."""
_OTHER_NAMES = {
    "tokenizer.json": "tokenizers",
    "tokenizers.js": "tokenizers",
    "huggingface": "transformers",
    "hf": "transformers",
    ".model": "sentencepiece",
    "spm": "sentencepiece",
    "wordpiece": "vocab.txt",
    "llama2.c": "llama2c",
}
"""What users may call a target → its name."""
_OF_LLAMA_CPP = frozenset({"gguf", ".gguf", "llama.cpp", "llamacpp", "ollama"})


def target_named(name: str) -> Target:
    """Return the target with this name. Raises `ConfigError`; the hint names the likely target, or all of them.

    >>> target_named("tiktoken").summary
    'a rank file for tiktoken'
    """
    if name not in TARGETS:
        raise ConfigError(f"there is no format {name!r} to convert to", hint=_likely(name))
    return TARGETS[name]


def _likely(name: str) -> str:
    if name.lower() in _OF_LLAMA_CPP:
        return "llama.cpp's convert_hf_to_gguf.py makes one of a folder that --to transformers writes"
    return meant(_OTHER_NAMES.get(name.lower(), name), TARGETS)
