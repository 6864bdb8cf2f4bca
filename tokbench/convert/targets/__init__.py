"""What a tokenizer can be converted to: one module a target, loaded when it is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, cast

from tokbench.core.near_names import meant
from tokbench.errors import ConfigError, ConversionError
from tokbench.formats.tokenizer_config.fields import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tokbench.convert.proof import Peer
    from tokbench.core.descriptions import Description, PostProcessing
    from tokbench.core.interfaces import Tokenizer

__all__ = ["ROLES", "TARGETS", "Product", "Source", "Target", "target_named", "undescribed"]


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


@dataclass(frozen=True, slots=True)
class Target:
    """A format to convert to.

    Attributes:
        name: what `--to` takes.
        summary: what it is, in a line.
        place: the module and function that make a product of a source; may raise `ConversionError`.
        without_roles: whether a file of it holds a tokenizer and not what its tokens are to a model.
        takes_roles: whether roles, a chat template, and that special tokens are text can be said in it.
        adds_otherwise: whether its library may add up scores in another precision than the source's.
    """

    name: str
    summary: str
    place: str
    without_roles: bool = False
    takes_roles: bool = False
    adds_otherwise: bool = False

    def make(self, source: Source) -> Product:
        """The product. Raises `ConversionError` where the format cannot hold the tokenizer."""
        module, _, name = self.place.partition(":")
        make = cast(
            "Callable[[Source], Product]", getattr(import_module(f"tokbench.convert.targets.{module}"), name)
        )
        return make(source)


TARGETS = {
    target.name: target
    for target in (
        Target("tiktoken", "a rank file for tiktoken", "tiktoken:make", without_roles=True),
        Target(
            "tokenizers",
            "a tokenizer.json for tokenizers",
            "tokenizers:make",
            without_roles=True,
            adds_otherwise=True,
        ),
        Target(
            "transformers",
            "a folder for transformers' AutoTokenizer",
            "transformers:make",
            takes_roles=True,
            adds_otherwise=True,
        ),
        Target(
            "sentencepiece",
            "a .model for sentencepiece",
            "sentencepiece:make",
            without_roles=True,
            adds_otherwise=True,
        ),
        Target("vocab.txt", "the vocabulary of a WordPiece tokenizer", "wordpiece:make", without_roles=True),
        Target("tokbin", "our own file for inference", "tokbin:make"),
        Target("llama2c", "the tokenizer.bin of llama2.c", "llama2c:make", without_roles=True),
        Target("token_bytes", "a .npy of each id's bytes, for bits per byte", "token_bytes:make"),
    )
}
"""Every target by its name."""


def undescribed(source: Source) -> ConversionError:
    """The refusal of a tokenizer that does not say what it is made of."""
    return ConversionError(
        f"the backend {source.tokenizer.info.backend!r} does not describe its tokenizers in terms of other formats",
        hint="--to token_bytes needs no description",
    )


def target_named(name: str) -> Target:
    """The target of a name. Raises `ConfigError`; the hint names those there are.

    >>> target_named("tiktoken").summary
    'a rank file for tiktoken'
    """
    if name not in TARGETS:
        raise ConfigError(f"there is no format {name!r} to convert to", hint=meant(name, TARGETS))
    return TARGETS[name]
