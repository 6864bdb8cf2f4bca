"""Numbers as people write them: of tokens as 32000, 32_000, 32k or 1M, of bytes as 64MB or 1GiB."""

from __future__ import annotations

import re
from typing import Any

import typer

from tokbench.config import whole_number
from tokbench.errors import ConfigError

_SIZE = re.compile(r"([0-9]{1,15})(?:([KMGT])(I?)B?|B)?")
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}


def num_tokens(text: str) -> int:
    """A number of tokens, at least 1.

    Raises:
        typer.BadParameter: it is none.

    >>> num_tokens("32k"), num_tokens("1_000")
    (32000, 1000)
    """
    try:
        number = whole_number(str(text))
    except ValueError:
        number = 0
    if number < 1:
        raise typer.BadParameter(
            f"{text!r:.40} is not a number of tokens: write at least 1, as 32000, 32_000 or 32k"
        )
    return number


def tokens_option(*names: str, help: str, **options: Any) -> Any:
    """An option that takes a number of tokens, for the annotation of a parameter."""
    return typer.Option(*names, parser=num_tokens, metavar="N", help=help, **options)


def parse_bytes(text: str, *, option: str) -> int:
    """A number of bytes as people write it. Raises `ConfigError`.

    >>> parse_bytes("64MB", option="--max"), parse_bytes("1KiB", option="--max"), parse_bytes("7", option="--max")
    (64000000, 1024, 7)
    """
    match = _SIZE.fullmatch(text.strip().upper())
    if match is None or not int(match[1]):
        raise ConfigError(f"{option} {text!r} is not a size", hint="write it as 64MB, 1GiB or 1000000")
    unit = 1024 if match[3] else 1000
    return int(match[1]) * int(unit ** _POWERS.get(match[2], 0))
