"""The command that shows the tokens of a text."""

from __future__ import annotations

import os
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated

import typer

from tokbench.cli.corpus_options import TextChoices
from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ColorOption, JsonFlag, ProgressOption, refuse_folder
from tokbench.cli.tokenizer_options import (
    DropoutOption,
    OpeningChoices,
    SeedOption,
    SpecialPolicyOption,
    TokenizersOption,
    chosen_sampling,
)
from tokbench.core.tokens import SpecialPolicy
from tokbench.files.atomic import write_file
from tokbench.render.console import make_console, print_json
from tokbench.render.viz import Layout, ShownText
from tokbench.workbench.encode import naming_place
from tokbench.workbench.viz import visualise

_COLUMNS = 84


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
    steps: Annotated[
        bool,
        typer.Option("--steps", help="Show how each word became tokens: merges, matches, or costs."),
    ] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write an HTML page.")] = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"Also draw it as SVG, {_COLUMNS} columns wide or $COLUMNS."),
    ] = None,
    json: JsonFlag = False,
    color: ColorOption = "auto",
    progress: ProgressOption = "bar",
) -> None:
    """Show the tokens of a text in colour: boundaries, kinds, and characters cut in two."""
    from tokbench.render.viz import render_source, render_viz

    refuse_folder(html, option="--html")
    refuse_folder(svg, option="--svg")
    if tokenizer is None:
        reading.refuse_tokenizer(inputs)
    opened = opening.open_all(tokenizer, progress=progress)
    console = make_console(color=color)
    sampling = chosen_sampling(dropout, seed)
    several = False
    kept: list[ShownText] = []
    for item, following in pairwise(chain(reading.read_with_progress(inputs, progress=progress), [None])):
        assert item is not None
        with naming_place(item):
            result = visualise(
                opened, item.text, special=special_policy, sampling=sampling, steps=steps, as_read=not json
            )
        if html is not None or svg is not None:
            kept.append(ShownText(item.source, result))
        if json:
            print_json(result.to_json())
            continue
        if several := several or following is not None:
            render_source(item.source, console=console)
        render_viz(result, console=console, ids=ids, layout=layout)
        if following is not None:
            console.print()
    _write_files(kept, html=html, svg=svg, ids=ids, layout=layout)


def _write_files(
    shown: list[ShownText], *, html: Path | None, svg: Path | None, ids: bool, layout: Layout
) -> None:
    if html is not None:
        from tokbench.render.viz_files import viz_page

        write_file(html, viz_page(shown, ids=ids, beside=layout == "side-by-side"))
    if svg is not None:
        from tokbench.render.viz_files import viz_picture

        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() else _COLUMNS
        write_file(svg, viz_picture(shown, columns=width, ids=ids, layout=layout))
