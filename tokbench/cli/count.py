"""The command that counts tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from tokbench.cli.corpus_options import TextChoices, TextsArgument
from tokbench.cli.options import taking_groups, tokens_option
from tokbench.cli.output_options import OutputChoices, ProgressOption
from tokbench.cli.tokenizer_options import OpeningChoices, SpecialPolicyOption, TokenizersOption
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError
from tokbench.render.console import showing_progress
from tokbench.workbench.count import count_tokens

_OVER = 3


@taking_groups
def count(
    *,
    inputs: TextsArgument = None,
    tokenizer: TokenizersOption = None,
    opening: OpeningChoices,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    per_line: Annotated[
        bool, typer.Option("--per-line", help="Count each line of a text and each record of a file.")
    ] = False,
    limit: Annotated[
        int | None,
        tokens_option(
            "--limit",
            help="Check that each text has at most N tokens, reading no further than needed. Exit code 3 "
            "if one has more.",
        ),
    ] = None,
    reading: TextChoices,
    form: OutputChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Count tokens, bytes and characters of each text and file, and in total; one column for each tokenizer."""
    from tokbench.render.count import count_forms, limit_forms, render_count, render_limit

    output = form.output()
    if tokenizer is None:
        reading.refuse_tokenizer(inputs)
    if limit is not None and per_line:
        raise ConfigError("--per-line cannot be used with --limit", hint="leave it out")
    opened = opening.open_all(tokenizer, progress=progress)
    if limit is not None:
        from tokbench.workbench.limit import compare_with_limit

        blocks = reading.read_blocks(inputs)
        limited = compare_with_limit(opened, blocks, limit=limit, special=special_policy)
        output.write(limit_forms(limited), lambda console: render_limit(limited, console=console))
        if not limited.is_within:
            raise typer.Exit(_OVER)
        return
    with showing_progress(progress) as report:
        texts = reading.read(inputs, progress=report)
        results = count_tokens(opened, texts, special=special_policy, per_line=per_line)
    output.write(count_forms(results), lambda console: render_count(results, console=console))
