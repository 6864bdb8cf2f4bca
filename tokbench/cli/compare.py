"""The command that compares tokenizers on text."""

from __future__ import annotations

from typing import Annotated

import typer

from tokbench.cli import completion
from tokbench.cli.corpus_options import DocumentChoices, GroupByOption, tell_problems
from tokbench.cli.engine_options import EvaluationChoices, PartedOpeningChoices, counts_share, reading_once
from tokbench.cli.metric_options import (
    MetricsOption,
    MixOption,
    ModelChoices,
    ReferenceOption,
    chosen_metrics,
    chosen_mix,
    tells_metrics,
)
from tokbench.cli.options import ThreadsOption, name_option, taking_groups, tokens_option
from tokbench.cli.output_options import OutputChoices, PictureChoices, ProgressOption, asked_for
from tokbench.metrics.metric import Aggregation
from tokbench.render.console import showing_progress


@taking_groups
def compare(
    command: typer.Context,
    *,
    tokenizer: Annotated[
        list[str] | None,
        name_option(
            completion.tokenizers,
            "--tokenizer",
            "-t",
            help="A tokenizer to compare; repeatable. Without it, four are trained and evaluated on a held-out tenth "
            "of each group.",
        ),
    ] = None,
    backend: Annotated[
        list[str] | None,
        name_option(completion.backends, help="An algorithm to train instead of the four; repeatable."),
    ] = None,
    vocab_size: Annotated[
        int | None,
        tokens_option(
            help="The vocabulary size of trained tokenizers, e.g. 32000 or 32k; by default fitted to the text."
        ),
    ] = None,
    metrics: MetricsOption = None,
    baseline: Annotated[
        str | None,
        name_option(
            completion.tokenizers,
            help="The tokenizer that the others are compared with; by default the first.",
        ),
    ] = None,
    reference: ReferenceOption = None,
    aggregate: Annotated[
        Aggregation,
        typer.Option(
            help="How to aggregate: a ratio of sums (pooled), or the mean over groups (macro) or over documents."
        ),
    ] = "pooled",
    described: ModelChoices,
    mix: MixOption = None,
    documents: DocumentChoices,
    group_by: GroupByOption = "auto",
    times: Annotated[
        bool,
        typer.Option(
            "--times/--no-times",
            help="Whether to measure encoding, loading and the peak memory of training.",
        ),
    ] = True,
    threads: ThreadsOption = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of the holdout and of the resamples.")] = 0,
    opening: PartedOpeningChoices,
    parts: EvaluationChoices,
    form: OutputChoices,
    drawn: PictureChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Compare tokenizers on text: compression, coverage, fidelity, fairness, with intervals and a summary."""
    from tokbench.render.comparison import comparison_forms, render_comparison
    from tokbench.workbench.compare import compare as compare_tokenizers

    if tells_metrics(metrics, form):
        return
    chosen = chosen_metrics(metrics)
    shares = chosen_mix(mix)
    output = form.output()
    drawn.check()
    with showing_progress(progress) as report:
        report("reading", 0, None, "files")
        corpus = documents.corpus(group_by=group_by, written=parts.parts)
        named = opening.named(tokenizer or [])
        opened = [opening.open(name, progress=progress) for name in tokenizer or []]
        with parts.work(opening.of_work, named, threads=threads) as work, reading_once(corpus, work):
            if counts_share(work, corpus, opened, means=aggregate == "per_document", progress=report):
                return
            comparison = compare_tokenizers(
                corpus,
                tokenizers=opened,
                backends=backend,
                vocab_size=vocab_size,
                baseline=baseline,
                reference_group=reference,
                aggregation=aggregate,
                model=described.model(),
                mix=shares,
                times=times,
                threads=threads,
                seed=seed,
                arguments=opening.without_work(asked_for(command)),
                work=work,
                progress=report,
            )
            report("drawing", 0, None, "charts")
            drawn.write(comparison, corpus, metrics=chosen)
    tell_problems(corpus)
    output.write(
        comparison_forms(comparison, metrics=chosen),
        lambda console: render_comparison(comparison, metrics=chosen, console=console),
    )
