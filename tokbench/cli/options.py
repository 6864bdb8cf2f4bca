"""The arguments and options that several commands share."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tokbench.cli import completion
from tokbench.core.tokens import SpecialPolicy


class ColorChoice(StrEnum):
    """When output is coloured."""

    auto = "auto"
    always = "always"
    never = "never"


class ProgressChoice(StrEnum):
    """How progress is shown."""

    bar = "bar"
    json = "json"
    none = "none"


class ErrorPolicy(StrEnum):
    """What to do about bytes that are not UTF-8."""

    STRICT = "strict"
    REPLACE = "replace"
    SKIP = "skip"


class AggregateChoice(StrEnum):
    """How many documents become one figure."""

    pooled = "pooled"
    macro = "macro"
    per_document = "per_document"


class EngineChoice(StrEnum):
    """What runs a tokenizer that was opened from a file of another tool."""

    auto = "auto"
    native = "native"
    library = "library"


class DecodeErrors(StrEnum):
    """What becomes of bytes that are no whole characters."""

    REPLACE = "replace"
    STRICT = "strict"


_SIZE = re.compile(r"([0-9]{1,15})(?:([KMGT])(I?)B?|B)?")
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}


def parse_bytes(text: str, *, option: str) -> int:
    """A number of bytes as people write it. Raises `ConfigError`.

    >>> parse_bytes("64MB", option="--max"), parse_bytes("1KiB", option="--max"), parse_bytes("7", option="--max")
    (64000000, 1024, 7)
    """
    from tokbench.errors import ConfigError

    match = _SIZE.fullmatch(text.strip().upper())
    if match is None or not int(match[1]):
        raise ConfigError(f"{option} {text!r} is no size", hint="write it as 64MB, 1GiB or 1000000")
    unit = 1024 if match[3] else 1000
    return int(match[1]) * int(unit ** _POWERS.get(match[2], 0))


TokenizerOption = Annotated[
    str,
    typer.Option(
        "-t",
        "--tokenizer",
        autocompletion=completion.tokenizers,
        metavar="NAME",
        help="A path, a name below ./tokenizers, `default`, `tiktoken:NAME` or `hf:ORG/MODEL`.",
    ),
]
TokenizersOption = Annotated[
    list[str] | None,
    typer.Option(
        "-t",
        "--tokenizer",
        autocompletion=completion.tokenizers,
        metavar="NAME",
        help="A tokenizer, by default `default`: a path, a name below ./tokenizers, `tiktoken:NAME` or "
        "`hf:ORG/MODEL`; several times for several.",
    ),
]
SpecialPolicyOption = Annotated[
    SpecialPolicy,
    typer.Option(
        help="How the text of a special token is encoded: as ordinary text, as its id, or with an error."
    ),
]
TextFieldOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="The field of a JSONL or Parquet record with the text, by default `text`; several are joined by a "
        "blank line.",
    ),
]
TEXT_FIELD = ("text",)
ErrorsOption = Annotated[ErrorPolicy, typer.Option(help="What to do about bytes that are not UTF-8.")]
MaxDocumentOption = Annotated[
    str,
    typer.Option(
        "--max-document-bytes",
        metavar="SIZE",
        help="How long a document may be, as 64MB or 1GiB: a longer one is an error, or left out by --errors skip.",
    ),
]
MAX_DOCUMENT = "256MiB"
TextOrFileFlag = Annotated[
    bool | None,
    typer.Option("--text/--file", help="Take every argument as the text itself, or as a file or folder."),
]
DropoutOption = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Segment at random: the probability with which BPE leaves a merge out, or the smoothing of Unigram.",
    ),
]
SeedOption = Annotated[int | None, typer.Option(help="Chooses the segmentation of --dropout; by default 0.")]
DecodeErrorsOption = Annotated[
    DecodeErrors, typer.Option(help="Bytes that are not whole characters: U+FFFD, or an error.")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
ColorOption = Annotated[
    ColorChoice, typer.Option(help="Colour: auto is on a terminal, unless NO_COLOR is set.")
]
ProgressOption = Annotated[
    ProgressChoice, typer.Option(help="Progress on stderr; a bar shows on a terminal only.")
]

__all__ = [
    "MAX_DOCUMENT",
    "TEXT_FIELD",
    "ColorChoice",
    "ColorOption",
    "DecodeErrors",
    "DecodeErrorsOption",
    "DropoutOption",
    "EngineChoice",
    "ErrorPolicy",
    "ErrorsOption",
    "JsonFlag",
    "MaxDocumentOption",
    "ProgressChoice",
    "ProgressOption",
    "SeedOption",
    "SpecialPolicyOption",
    "TextFieldOption",
    "TextOrFileFlag",
    "TokenizerOption",
    "TokenizersOption",
]

MetricsOption = Annotated[
    str | None,
    typer.Option(
        autocompletion=completion.metrics,
        metavar="NAME,…",
        help="The figures to show: `all` for all of them, `help` to have them explained.",
    ),
]
CsvFlag = Annotated[bool, typer.Option("--csv", help="Print CSV: a line for each figure and group.")]
MarkdownFlag = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]
LatexFlag = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")]
OutOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write what would be printed to a file, whole or not.")
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write a report besides: tables, charts, and the tokens of sample lines."
    ),
]
PlotOption = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Write a chart besides, as .svg or .png; several times."),
]
