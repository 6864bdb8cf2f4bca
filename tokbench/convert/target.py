"""The formats that a tokenizer can be converted to, each in a module of `targets/` that is loaded on use."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from tokbench.core.wording import meant
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.convert.conversion import Product, Source


@dataclass(frozen=True, slots=True)
class Target:
    """A format to convert to.

    Attributes:
        name: its name for `--to`.
        summary: a description in one line.
        place: the module and function that convert a source; the function may raise `ConversionError`.
        without_roles: whether the file holds a tokenizer without the roles of its tokens.
        takes_roles: whether it can hold roles, a chat template, and that special tokens are text.
        adds_otherwise: whether its library may add up scores in another precision than the source's.
    """

    name: str
    summary: str
    place: str
    without_roles: bool = False
    takes_roles: bool = False
    adds_otherwise: bool = False

    def make(self, source: Source) -> Product:
        """Convert a source. Raises `ConversionError` if the format cannot hold the tokenizer."""
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
"""Name → target."""


def target_named(name: str) -> Target:
    """Return the target with this name. Raises `ConfigError`; the hint lists all targets.

    >>> target_named("tiktoken").summary
    'a rank file for tiktoken'
    """
    if name not in TARGETS:
        raise ConfigError(f"there is no format {name!r} to convert to", hint=meant(name, TARGETS))
    return TARGETS[name]
