"""Options for opening a tokenizer, and opening it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli import completion
from tokbench.cli.options import name_option
from tokbench.core.sampling import Sampling
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.files.untrusted import decode_text, read_named, unreadable
from tokbench.opening.request import Engine, OpenRequest
from tokbench.render.console import ProgressChoice, showing_progress
from tokbench.workbench.open import open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

_MOST_DIGITS = 20
_MAX_TEMPLATE_BYTES = 4 << 20
OPENING = "Opening the tokenizer"
"""Where help lists what is said of a tokenizer that is opened."""
DEFAULT = "default"
"""The tokenizer of a command that names none."""

TokenizerOption = Annotated[
    str,
    name_option(
        completion.tokenizers,
        "-t",
        "--tokenizer",
        help="A path, a name in ./tokenizers, `default`, `tiktoken:NAME` or `hf:ORG/MODEL`.",
    ),
]
TokenizersOption = Annotated[
    list[str] | None,
    name_option(
        completion.tokenizers,
        "-t",
        "--tokenizer",
        help="A tokenizer, by default `default`: a path, a name in ./tokenizers, `tiktoken:NAME` or "
        "`hf:ORG/MODEL`; repeatable.",
    ),
]
SpecialPolicyOption = Annotated[
    SpecialPolicy,
    typer.Option(help="How to encode the text of a special token: as ordinary text, as its id, or fail."),
]


@dataclass(frozen=True, slots=True)
class VocabularyChoices:
    """Additions to opened tokenizers whose files do not define them."""

    pattern: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion.patterns,
            metavar="NAME|REGEX",
            rich_help_panel=OPENING,
            help="The split pattern, if the tokenizer's file does not define it: a name or a regular expression.",
        ),
    ] = None
    special_token: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT[=ID]",
            rich_help_panel=OPENING,
            help="Add a special token that the tokenizer's file does not define; repeatable.",
        ),
    ] = None
    special_preset: Annotated[
        str | None,
        name_option(
            completion.special_presets,
            help="Add a set of special tokens, with ids and roles, that the tokenizer's file does not define: gpt2, "
            "chatml, llama3, nanochat, mistral, gemma or bert.",
            rich_help_panel=OPENING,
        ),
    ] = None

    def open_all(
        self, names: list[str] | None, *, roles: Mapping[str, str] | None = None, progress: ProgressChoice
    ) -> list[Tokenizer]:
        """Open several tokenizers, by default `default`. Raises like `open`."""
        return [self.open(name, roles=roles, progress=progress) for name in names or [DEFAULT]]

    def open(
        self, name: str, *, roles: Mapping[str, str] | None = None, progress: ProgressChoice
    ) -> Tokenizer:
        """Open the tokenizer of `-t NAME`. Raises like `tokbench.workbench.open.open_tokenizer`."""
        with showing_progress(progress) as report:
            return open_tokenizer(
                name,
                replace(self.request(), roles=roles or {}),
                progress=report,
                tell=lambda message: print(f"note: {message}", file=sys.stderr),
            )

    def request(self) -> OpenRequest:
        """Convert to a request for opening. Raises `ConfigError`."""
        return OpenRequest(
            pattern=self.pattern,
            special_tokens=special_tokens(self.special_token or []),
            special_preset=self.special_preset,
        )


@dataclass(frozen=True, slots=True)
class OpeningChoices(VocabularyChoices):
    """Additions to opened tokenizers, and their engine."""

    engine: Annotated[
        Engine,
        typer.Option(
            rich_help_panel=OPENING,
            help="What runs the tokenizer: auto is native where its ids equal the library's for every text.",
        ),
    ] = "auto"

    def request(self) -> OpenRequest:
        """Convert to a request for opening. Raises `ConfigError`."""
        return replace(VocabularyChoices.request(self), engine=self.engine)


def special_tokens(given: list[str]) -> dict[str, int | None]:
    """Parse special tokens: TEXT, or TEXT=ID if the last "=" is followed by digits.

    Raises:
        ConfigError: a token is repeated, or an id is invalid.

    >>> special_tokens(["<|a|>", "<|b=c|>=7"])
    {'<|a|>': None, '<|b=c|>': 7}
    """
    made: dict[str, int | None] = {}
    for one in given:
        text, equals, digits = one.rpartition("=")
        has_id = bool(equals and text and digits.isascii() and digits.isdigit())
        key = text if has_id else one
        if key in made:
            raise ConfigError(f"the special token {key!r} is given twice", hint="name each one once")
        if has_id and len(digits) > _MOST_DIGITS:
            raise ConfigError(f"the id of {text!r} has {len(digits):,} digits", hint="ids are below 2^32")
        made[key] = int(digits) if has_id else None
    return made


@dataclass(frozen=True, slots=True)
class RoleChoices:
    """The roles that the user assigns to tokens of an opened tokenizer."""

    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=TEXT",
            rich_help_panel=OPENING,
            help="Set the role of a token, overriding the tokenizer's files: bos, eos, pad, unk, mask, "
            "cls, sep or turn_end; repeatable.",
        ),
    ] = None

    def roles(self) -> dict[str, str]:
        """Return role → text. Raises `ConfigError`."""
        return parsed_roles(self.role or [])


def parsed_roles(given: list[str]) -> dict[str, str]:
    """Parse ROLE=TEXT options; the text may contain "=". Raises `ConfigError`."""
    roles: dict[str, str] = {}
    for one in given:
        role, equals, text = one.partition("=")
        if not equals or not text:
            raise ConfigError(f"--role {one!r} names no token", hint="write it as --role 'bos=<|bos|>'")
        if role in roles:
            raise ConfigError(f"the role {role!r} is given twice", hint="give it one token")
        roles[role] = text
    return roles


def read_template(path: Path | None) -> str | None:
    """Read a chat template. Raises `ConfigError`."""
    if path is None:
        return None
    try:
        return decode_text(read_named(path, limit=_MAX_TEMPLATE_BYTES), path=path)
    except (OSError, ModelFormatError) as error:
        raise unreadable("chat template", path, error) from None


DropoutOption = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Sample a segmentation: the probability of skipping a merge (BPE), or the smoothing (Unigram).",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option(metavar="N", help="The random seed of --dropout; by default 0.")
]


def chosen_sampling(dropout: float | None, seed: int | None) -> Sampling | None:
    """Return the sampling of --dropout and --seed. Raises `ConfigError`."""
    if dropout is None and seed is not None:
        raise ConfigError("--seed needs --dropout", hint="add --dropout 0.1, or leave it out")
    return None if dropout is None else Sampling(dropout=dropout, seed=seed or 0)
