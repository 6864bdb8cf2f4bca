"""The arguments and options that several commands share."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from tokbench.tokens import SpecialPolicy


class ColorChoice(Enum):
    """When output is coloured."""

    auto = "auto"
    always = "always"
    never = "never"


class ProgressChoice(Enum):
    """How progress is shown."""

    bar = "bar"
    json = "json"
    none = "none"


class DecodeErrors(Enum):
    """What becomes of bytes that are no whole characters."""

    replace = "replace"
    strict = "strict"


TokenizerOption = Annotated[
    str,
    typer.Option(
        "-t",
        "--tokenizer",
        metavar="NAME",
        help="A path, a name below ./tokenizers, or the built-in `default`.",
    ),
]
SpecialOption = Annotated[
    SpecialPolicy,
    typer.Option("--special", help="What the text of a special token becomes: text, its id, or an error."),
]
TextFlag = Annotated[bool, typer.Option("--text", help="Take every argument as the text itself.")]
FileFlag = Annotated[bool, typer.Option("--file", help="Take every argument as a file or folder.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
ColorOption = Annotated[
    ColorChoice, typer.Option(help="Colour: auto is on a terminal, unless NO_COLOR is set.")
]
ProgressOption = Annotated[
    ProgressChoice, typer.Option(help="Progress on stderr; a bar shows on a terminal only.")
]

__all__ = [
    "ColorChoice",
    "ColorOption",
    "DecodeErrors",
    "FileFlag",
    "JsonFlag",
    "ProgressChoice",
    "ProgressOption",
    "SpecialOption",
    "TextFlag",
    "TokenizerOption",
]
