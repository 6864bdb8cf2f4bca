"""The command that plots compression against vocabulary size."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tokbench.cli import completion
from tokbench.cli.corpus_options import DocumentChoices, GroupByOption, tell_problems
from tokbench.cli.metric_options import MixOption, ModelChoices, chosen_mix
from tokbench.cli.options import ThreadsOption, taking_groups
from tokbench.cli.output_options import OutputChoices, PictureChoices, ProgressOption
from tokbench.render.progress import showing_progress
from tokbench.workbench.train import parsed_options


@taking_groups
def sweep(
    *,
    sizes: Annotated[
        str,
        typer.Option(
            metavar="SIZES",
            help="The vocabulary sizes: a range of doublings, e.g. 1k:64k, or a list, e.g. 1k,8k,32k.",
        ),
    ] = "1k:64k",
    backend: Annotated[
        str,
        typer.Option(
            autocompletion=completion.backends,
            metavar="NAME",
            help="The algorithm: bpe is trained once, any other once for each size.",
        ),
    ] = "bpe",
    pattern: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion.patterns,
            metavar="NAME",
            help="The split pattern, as in `tokbench train`.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Another option of the backend; repeatable."),
    ] = None,
    described: ModelChoices,
    mix: MixOption = None,
    documents: DocumentChoices,
    group_by: GroupByOption = "auto",
    threads: ThreadsOption = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of the holdout and of the resamples.")] = 0,
    form: OutputChoices,
    drawn: PictureChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Plot compression against vocabulary size on held-out text, and recommend a size.

    The knee is the first size whose doubling adds less than 5 % bytes per token. The recommended size is the
    smallest whose doubling adds less than 2 % or, with --model-dim, does not lower the compute per byte (fewer
    tokens against a larger output matrix). None is recommended if the text is too short to fill the vocabulary
    or does not decode to itself.
    """
    from tokbench.render.sweep import render_sweep, sweep_forms
    from tokbench.workbench.sweep import parse_sizes
    from tokbench.workbench.sweep import sweep as sweep_sizes

    shares = chosen_mix(mix)
    output = form.output()
    pictures = drawn.pictures()
    wanted = parse_sizes(sizes)
    options: dict[str, Any] = parsed_options(option or [], backend=backend)
    if pattern is not None:
        options["pattern"] = pattern
    with showing_progress(progress) as report:
        report("reading", 0, None, "files")
        corpus = documents.corpus(group_by=group_by)
        with corpus.in_memory():  # what is drawn reads it, too
            result = sweep_sizes(
                corpus,
                sizes=wanted,
                backend=backend,
                options=options,
                model=described.model(),
                mix=shares,
                threads=threads,
                seed=seed,
                progress=report,
            )
            report("drawing", 0, None, "charts")
            pictures.write_sweep(result, corpus, seed=seed)
    tell_problems(corpus)
    output.write(sweep_forms(result), lambda console: render_sweep(result, console=console))
