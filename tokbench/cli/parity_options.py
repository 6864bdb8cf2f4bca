"""The options with which `train` learns for the parity of languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from tokbench.cli import completion
from tokbench.cli.options import tokens_option
from tokbench.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ParityChoices:
    """Which development text there is, and how it decides what is learned."""

    parity: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Learn each merge for the language that needs most tokens for its development text (bpe): a folder "
            "with the same lines in every language, named as the text to learn from is.",
        ),
    ] = None
    parity_rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What that language has most of: tokens (the default), tokens-per-byte or tokens-per-character; the "
            "last two need no translations.",
        ),
    ] = None
    parity_global_merges: Annotated[
        int | None,
        tokens_option(help="Learn so many merges from all text together first; by default none."),
    ] = None
    parity_window: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Pass over a language that was chosen too often among the latest N merges; by default none is.",
        ),
    ] = None
    parity_alpha: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="How many times its share is too often, with --parity-window; by default 2."
        ),
    ] = None
    group_by: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion.groupings,
            metavar="HOW",
            help="How to tell the languages of the text to learn from, with --parity: path (the default), auto, "
            "script, extension or field:NAME.",
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Those of the backend."""
        return {
            "parity": self.parity,
            "parity_rule": self.parity_rule,
            "parity_global_merges": self.parity_global_merges,
            "parity_window": self.parity_window,
            "parity_alpha": self.parity_alpha,
        }

    def check(self, *, is_text: bool) -> None:
        """Raise `ConfigError` for options that have nothing to act on.

        Args:
            is_text: whether text is learned from as it is read.
        """
        if self.parity is not None and not is_text:
            raise ConfigError(
                "--parity asks for the languages of the text, and counted words do not tell them",
                hint="leave out --counts and --memory",
            )
        if self.parity is None and self != ParityChoices(parity=None):
            raise ConfigError(
                "--parity-… and --group-by are for --parity", hint="name a folder of development text"
            )
