"""The command that counts tokens."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tokbench.cli.opening import TextOpeningChoices
from tokbench.cli.option_groups import taking_groups
from tokbench.cli.options import (
    ColorChoice,
    ColorOption,
    JsonFlag,
    ProgressChoice,
    ProgressOption,
    SpecialOption,
    TokenizersOption,
)
from tokbench.cli.texts import TextChoices, TextsArgument
from tokbench.core.tokens import SpecialPolicy


@taking_groups
def count(
    *,
    inputs: TextsArgument = None,
    tokenizer: TokenizersOption = None,
    opening: TextOpeningChoices,
    special: SpecialOption = SpecialPolicy.TEXT,
    per_line: Annotated[
        bool, typer.Option("--per-line", help="Count each line of a text, and each record of a file.")
    ] = False,
    reading: TextChoices,
    json: JsonFlag = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV: a line for each text and tokenizer.")
    ] = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Count tokens, bytes and characters of each text and file, and in total; several tokenizers have a column each."""
    from tokbench.errors import ConfigError
    from tokbench.render.console import make_console, print_json
    from tokbench.render.count import count_csv, count_document, render_count
    from tokbench.render.progress import showing_progress
    from tokbench.workbench.count import count_tokens

    if json and csv:
        raise ConfigError("--json and --csv cannot both be meant", hint="give one of them, or neither")
    opened = opening.open_all(tokenizer, progress=progress)
    with showing_progress(progress.value) as report:
        texts = reading.read(inputs, progress=report)
        results = count_tokens(opened, texts, special=special, per_line=per_line)
    if json:
        print_json(count_document(results))
    elif csv:
        sys.stdout.write(count_csv(results))
    else:
        render_count(results, console=make_console(color=color.value))
