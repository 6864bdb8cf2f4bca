"""The command that reports on one tokenizer in depth."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from tokbench.cli.corpus_options import DocumentChoices, GroupByOption, tell_problems
from tokbench.cli.engine_options import EvaluationChoices, PartedOpeningChoices, counts_share, reading_once
from tokbench.cli.metric_options import (
    MetricsOption,
    ModelChoices,
    ReferenceOption,
    chosen_metrics,
    tells_metrics,
)
from tokbench.cli.options import ThreadsOption, taking_groups
from tokbench.cli.output_options import OutputChoices, PictureChoices, ProgressOption, asked_for
from tokbench.cli.tokenizer_options import DEFAULT, TokenizersOption
from tokbench.render.console import showing_progress


@taking_groups
def report(
    command: typer.Context,
    *,
    tokenizer: TokenizersOption = None,
    metrics: MetricsOption = None,
    reference: ReferenceOption = None,
    described: ModelChoices,
    documents: DocumentChoices,
    group_by: GroupByOption = "auto",
    threads: ThreadsOption = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of the resamples and of the typos.")] = 0,
    opening: PartedOpeningChoices,
    parts: EvaluationChoices,
    form: OutputChoices,
    drawn: PictureChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Report on a tokenizer in depth: compression by language, vocabulary, numbers, lost text, cost.

    Several tokenizers get a report each; `tokbench compare` compares them.
    """
    from tokbench.render.report import render_reports, reports_forms
    from tokbench.workbench.report import report as report_on

    if tells_metrics(metrics, form):
        return
    chosen = chosen_metrics(metrics)
    output = form.output()
    drawn.check()
    if len(tokenizer or []) > 1:
        drawn.refuse_several()
        parts.refuse_several()
    with showing_progress(progress) as report_progress:
        report_progress("reading", 0, None, "files")
        corpus = documents.corpus(group_by=group_by, written=parts.parts)
        names = tokenizer or [DEFAULT]
        opened = opening.open_all(names, progress=progress)
        named = opening.named(names)
        with parts.work(opening.of_work, named, threads=threads) as work, reading_once(corpus, work):
            if counts_share(work, corpus, opened, means=False, progress=report_progress):
                return
            results = [
                report_on(
                    corpus,
                    tokenizer=one,
                    model=described.model(),
                    reference_group=reference,
                    threads=threads,
                    seed=seed,
                    arguments=opening.without_work(asked_for(command)),
                    work=None if work is None else replace(work, named=(named[number],)),
                    progress=report_progress,
                )
                for number, one in enumerate(opened)
            ]
            report_progress("drawing", 0, None, "charts")
            drawn.write(results[0].comparison, corpus, metrics=chosen, report=results[0])
    tell_problems(corpus)
    output.write(
        reports_forms(results, metrics=chosen),
        lambda console: render_reports(results, metrics=chosen, console=console),
    )
