"""The command that shows the tokens of a text."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Annotated

import typer

from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ColorOption, JsonFlag, ProgressOption
from tokbench.cli.text_options import TextChoices
from tokbench.cli.tokenizer_options import (
    DropoutOption,
    OpeningChoices,
    SeedOption,
    SpecialPolicyOption,
    TokenizersOption,
    chosen_sampling,
)
from tokbench.core.tokens import SpecialPolicy
from tokbench.render.console import make_console, print_json
from tokbench.render.viz import Layout
from tokbench.workbench.viz import visualise


@taking_groups
def viz(
    *,
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="TEXT", help="Texts, files, folders, patterns, URLs, or - for stdin."),
    ],
    tokenizer: TokenizersOption = None,
    opening: OpeningChoices,
    layout: Annotated[Layout, typer.Option(help="How to arrange several tokenizers.")] = "stacked",
    ids: Annotated[bool, typer.Option("--ids", help="Show the ids under the tokens.")] = False,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    dropout: DropoutOption = None,
    seed: SeedOption = None,
    reading: TextChoices,
    json: JsonFlag = False,
    color: ColorOption = "auto",
    progress: ProgressOption = "bar",
) -> None:
    """Show the tokens of a text in colour: boundaries, kinds, and characters cut in two."""
    from tokbench.render.viz import render_source, render_viz

    opened = opening.open_all(tokenizer, progress=progress)
    console = make_console(color=color)
    sampling = chosen_sampling(dropout, seed)
    several = False
    for item, following in pairwise(chain(reading.read_with_progress(inputs, progress=progress), [None])):
        assert item is not None
        result = visualise(opened, item.text, special=special_policy, sampling=sampling)
        if json:
            print_json(result.to_json())
            continue
        if several := several or following is not None:
            render_source(item.source, console=console)
        render_viz(result, console=console, ids=ids, layout=layout)
        if following is not None:
            console.print()
