"""The formats that a tokenizer can be converted to, each in a module of `targets/` that is loaded on use."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from tokbench.core.wording import meant
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from tokbench.convert.conversion import Product, Source


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


def target_named(name: str) -> Target:
    """Return the target with this name. Raises `ConfigError`; the hint lists all targets.

    >>> target_named("tiktoken").summary
    'a rank file for tiktoken'
    """
    if name not in TARGETS:
        raise ConfigError(f"there is no format {name!r} to convert to", hint=meant(name, TARGETS))
    return TARGETS[name]
