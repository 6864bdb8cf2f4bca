"""Options that take a number of tokens, as people write it: 32000, 32_000, 32k, 1M."""

from __future__ import annotations

from typing import Any

import typer


def num_tokens(text: str) -> int:
    """A number of tokens, at least 1.

    Raises:
        typer.BadParameter: it is none.

    >>> num_tokens("32k"), num_tokens("1_000")
    (32000, 1000)
    """
    from tokbench.config import whole_number

    try:
        number = whole_number(str(text))
    except ValueError:
        number = 0
    if number < 1:
        raise typer.BadParameter(f"{text!r:.40} is no number of tokens: write 32000, 32_000 or 32k")
    return number


def tokens_option(*names: str, help: str, **options: Any) -> Any:
    """An option that takes a number of tokens, for the annotation of a parameter."""
    return typer.Option(*names, parser=num_tokens, metavar="N", help=help, **options)
