"""The command that counts tokens."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tokbench.cli.opening import EngineOption, PatternOption, SpecialTokenOption, open_tokenizer
from tokbench.cli.options import (
    MAX_DOCUMENT,
    ColorChoice,
    ColorOption,
    EngineChoice,
    ErrorPolicy,
    ErrorsOption,
    FileFlag,
    JsonFlag,
    MaxDocumentOption,
    ProgressChoice,
    ProgressOption,
    SpecialOption,
    TextFieldOption,
    TextFlag,
)
from tokbench.cli.texts import TextsArgument, read_texts
from tokbench.tokens import SpecialPolicy


def count(
    inputs: TextsArgument = None,
    *,
    tokenizer: Annotated[
        list[str] | None,
        typer.Option(
            "-t",
            "--tokenizer",
            metavar="NAME",
            help="A tokenizer, by default `default`; several have a column each.",
        ),
    ] = None,
    pattern: PatternOption = None,
    special_token: SpecialTokenOption = None,
    engine: EngineOption = EngineChoice.auto,
    special: SpecialOption = SpecialPolicy.TEXT,
    per_line: Annotated[
        bool, typer.Option("--per-line", help="Count each line of a text, and each record of a file.")
    ] = False,
    text: TextFlag = False,
    file: FileFlag = False,
    text_field: TextFieldOption = "text",
    errors: ErrorsOption = ErrorPolicy.STRICT,
    max_document_bytes: MaxDocumentOption = MAX_DOCUMENT,
    json: JsonFlag = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV: a line for each text and tokenizer.")
    ] = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Count tokens, bytes and characters of each text and file, and in total."""
    from tokbench import workbench
    from tokbench.errors import ConfigError
    from tokbench.render.console import make_console, print_json
    from tokbench.render.count import count_csv, count_document, render_count

    if json and csv:
        raise ConfigError("--json and --csv cannot both be meant", hint="give one of them, or neither")
    opened = [
        open_tokenizer(name, pattern=pattern, special_token=special_token, engine=engine, progress=progress)
        for name in tokenizer or ["default"]
    ]
    texts = read_texts(
        inputs,
        text=text,
        file=file,
        text_field=text_field,
        errors=errors,
        max_document_bytes=max_document_bytes,
    )
    results = workbench.count(opened, texts, special=special, per_line=per_line)
    if json:
        print_json(count_document(results))
    elif csv:
        sys.stdout.write(count_csv(results))
    else:
        render_count(results, console=make_console(color=color.value))
