"""The command that reports on one tokenizer in depth."""

from __future__ import annotations

from typing import Annotated

import typer

from tokbench.cli.corpora import DocumentsOption, DocumentUnit, GroupByOption, PathsArgument, chosen_corpus
from tokbench.cli.opening import AddedSpecialOption, EngineOption, PatternOption, open_tokenizer
from tokbench.cli.options import (
    ColorChoice,
    ColorOption,
    CsvFlag,
    EngineChoice,
    ErrorPolicy,
    ErrorsOption,
    HtmlOption,
    JsonFlag,
    LatexFlag,
    MarkdownFlag,
    OutOption,
    PlotOption,
    ProgressChoice,
    ProgressOption,
    TextFieldOption,
    TokenizerOption,
)
from tokbench.cli.texts import tell_problems

_MODEL = "The model's costs"


def report(
    command: typer.Context,
    paths: PathsArgument = None,
    *,
    tokenizer: TokenizerOption = "default",
    reference: Annotated[
        str | None,
        typer.Option(metavar="GROUP", help="The language that premiums are taken over; by default English."),
    ] = None,
    model_dim: Annotated[int | None, typer.Option(metavar="N", min=1, help="The model's width.")] = None,
    layers: Annotated[int | None, typer.Option(metavar="N", min=1, help="Its attention layers.")] = None,
    kv_heads: Annotated[int | None, typer.Option(metavar="N", min=1, help="Key-value heads of each.")] = None,
    head_dim: Annotated[int | None, typer.Option(metavar="N", min=1, help="The width of a head.")] = None,
    context: Annotated[int | None, typer.Option(metavar="N", min=1, help="Tokens of its context.")] = None,
    parameter_bytes: Annotated[
        float, typer.Option(metavar="N", min=0.125, help="Bytes of a parameter and of a cached value.")
    ] = 2.0,
    price: Annotated[
        float | None, typer.Option(metavar="N", min=0, help="The price of a thousand tokens.")
    ] = None,
    group_by: GroupByOption = "auto",
    documents: DocumentsOption = DocumentUnit.file,
    text_field: TextFieldOption = "text",
    errors: ErrorsOption = ErrorPolicy.strict,
    threads: Annotated[int | None, typer.Option(metavar="N", min=1, help="Threads. By default all.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Draws the resamples and the typos.")] = 0,
    pattern: PatternOption = None,
    special_token: AddedSpecialOption = None,
    engine: EngineOption = EngineChoice.auto,
    json: JsonFlag = False,
    csv: CsvFlag = False,
    markdown: MarkdownFlag = False,
    latex: LatexFlag = False,
    out: OutOption = None,
    html: HtmlOption = None,
    plot: PlotOption = None,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Report on a tokenizer in depth: by language and code, its vocabulary, numbers, losses, costs."""
    from tokbench import judging
    from tokbench.cli.output import Output, Pictures, asked_for, comparison_forms
    from tokbench.metrics.cost import Model
    from tokbench.render.progress import showing_progress
    from tokbench.render.report import render_report, report_json

    output = Output.chosen(json=json, csv=csv, markdown=markdown, latex=latex, out=out, color=color.value)
    pictures = Pictures.chosen(html=html, plots=plot or ())
    model = Model(
        dim=model_dim,
        layers=layers,
        kv_heads=kv_heads,
        head_dim=head_dim,
        context=context,
        bytes_per_parameter=parameter_bytes,
        price=price,
    )
    with showing_progress(progress.value) as told:
        told("reading", 0, None, "files")
        corpus = chosen_corpus(
            paths, documents=documents, text_field=text_field, errors=errors, group_by=group_by
        )
        result = judging.report(
            corpus,
            tokenizer=open_tokenizer(
                tokenizer, progress=progress, pattern=pattern, special_token=special_token, engine=engine
            ),
            model=model,
            reference_group=reference,
            threads=threads,
            seed=seed,
            arguments=asked_for(command),
            progress=told,
        )
        told("drawing", 0, None, "charts")
        pictures.write(result.comparison, corpus)
    tell_problems(corpus)
    output.write(
        {**comparison_forms(result.comparison), "json": lambda: report_json(result)},
        lambda console: render_report(result, console=console),
    )
