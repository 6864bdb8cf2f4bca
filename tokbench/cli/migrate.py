"""The command that assesses a model's change of tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tokbench.cli.corpus_options import ComparedText, tell_problems
from tokbench.cli.metric_options import ModelChoices
from tokbench.cli.options import PadOption, ThreadsOption, taking_groups, tokenizer_argument
from tokbench.cli.output_options import ProgressOption, ResultChoices
from tokbench.cli.tokenizer_options import OpeningChoices
from tokbench.render.console import showing_progress


@taking_groups
def migrate(
    *,
    old: Annotated[str, tokenizer_argument("OLD", help="The model's tokenizer, named as for -t.")],
    new: Annotated[str, tokenizer_argument("NEW", help="The tokenizer to change to, named likewise.")],
    compared: ComparedText,
    described: ModelChoices,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write what the model needs: maps of ids and rows, and a script."
        ),
    ] = None,
    pad_multiple: PadOption = 64,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder that migrate wrote.")] = False,
    threads: ThreadsOption = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of the resamples.")] = 0,
    opening: OpeningChoices,
    form: ResultChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Assess moving a model to another tokenizer: tokens kept, cost by group, texts that need more tokens.

    Without --corpus, the bundled texts are compared.
    """
    from tokbench.render.migrate import render_migrate
    from tokbench.workbench.migrate import migrate as compare_as_change

    corpus = compared.open_grouped()
    with showing_progress(progress) as report:
        result = compare_as_change(
            old,
            new,
            corpus=corpus,
            model=described.model(),
            request=opening.request(),
            out=out,
            pad_multiple=pad_multiple,
            overwrite=force,
            threads=threads,
            seed=seed,
            progress=report,
        )
    if corpus is not None:
        tell_problems(corpus)
    form.show(result, render_migrate)
