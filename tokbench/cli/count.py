"""The command that counts tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import OutputChoices, ProgressOption
from tokbench.cli.text_options import TextChoices, TextsArgument
from tokbench.cli.tokenizer_options import OpeningChoices, SpecialPolicyOption, TokenizersOption
from tokbench.core.tokens import SpecialPolicy
from tokbench.render.progress import showing_progress
from tokbench.workbench.count import count_tokens


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
    reading: TextChoices,
    form: OutputChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Count tokens, bytes and characters of each text and file, and in total; several tokenizers have a column each."""
    from tokbench.render.count import count_forms, render_count

    output = form.output()
    opened = opening.open_all(tokenizer, progress=progress)
    with showing_progress(progress) as report:
        texts = reading.read(inputs, progress=report)
        results = count_tokens(opened, texts, special=special_policy, per_line=per_line)
    output.write(count_forms(results), lambda console: render_count(results, console=console))
