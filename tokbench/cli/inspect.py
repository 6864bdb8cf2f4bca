"""The command that tells what a tokenizer is made of."""

from __future__ import annotations

from typing import Annotated

import typer

from tokbench.cli import completion
from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ColorOption, JsonFlag, ProgressOption
from tokbench.cli.tokenizer_options import OpeningChoices
from tokbench.errors import ConfigError
from tokbench.render.console import make_console, print_json
from tokbench.render.progress import showing_progress
from tokbench.workbench.inspect import inspect_tokenizer


@taking_groups
def inspect(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            autocompletion=completion.tokenizers,
            metavar="NAME",
            help="The tokenizer: a path, a name, tiktoken:… or hf:….",
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "-t",
            "--tokenizer",
            autocompletion=completion.tokenizers,
            metavar="NAME",
            help="The same as NAME.",
        ),
    ] = None,
    opening: OpeningChoices,
    json: JsonFlag = False,
    color: ColorOption = "auto",
    progress: ProgressOption = "bar",
) -> None:
    """Show a tokenizer's components and engine: format, model, pattern, special tokens, and why the engine runs it."""
    from tokbench.render.inspection import render_inspection

    if name is not None and tokenizer is not None:
        raise ConfigError("the tokenizer is named twice", hint="leave out NAME or -t")
    asked = opening.request()
    with showing_progress(progress) as report:
        result = inspect_tokenizer(
            name or tokenizer or "default",
            pattern=asked.pattern,
            special_tokens=asked.special_tokens,
            engine=asked.engine,
            progress=report,
        )
    if json:
        print_json(result.to_json())
    else:
        render_inspection(result, console=make_console(color=color))
