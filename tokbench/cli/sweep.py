"""The command that shows what a vocabulary size is worth."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tokbench.cli.corpora import DocumentsOption, DocumentUnit, GroupByOption, PathsArgument, chosen_corpus
from tokbench.cli.options import (
    ColorChoice,
    ColorOption,
    CsvFlag,
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
)
from tokbench.cli.texts import tell_problems


def sweep(
    paths: PathsArgument = None,
    *,
    sizes: Annotated[
        str, typer.Option(metavar="SIZES", help="From:to, doubling, as 1k:64k; or a list, as 1k,8k,32k.")
    ] = "1k:64k",
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="bpe is trained once; any other once for each size.")
    ] = "bpe",
    pattern: Annotated[
        str | None, typer.Option(metavar="NAME", help="How text is split, as `tokbench train` takes it.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="Any other option of the backend; can be given several times."
        ),
    ] = None,
    model_dim: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="The model's width: shows the parameters of the embedding."),
    ] = None,
    group_by: GroupByOption = "auto",
    documents: DocumentsOption = DocumentUnit.file,
    text_field: TextFieldOption = "text",
    errors: ErrorsOption = ErrorPolicy.strict,
    threads: Annotated[int | None, typer.Option(metavar="N", min=1, help="Threads. By default all.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Chooses what is held out.")] = 0,
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
    """Show compression against vocabulary size on held-out text, and the size that is worth it."""
    from tokbench import judging, workbench
    from tokbench.cli.output import Output, Pictures
    from tokbench.render.progress import showing_progress
    from tokbench.render.sweep import render_sweep, sweep_forms

    output = Output.chosen(json=json, csv=csv, markdown=markdown, latex=latex, out=out, color=color.value)
    pictures = Pictures.chosen(html=html, plots=plot or ())
    wanted = judging.parse_sizes(sizes)
    options: dict[str, Any] = workbench.parsed_options(option or [], backend=backend)
    if pattern is not None:
        options["pattern"] = pattern
    with showing_progress(progress.value) as report:
        report("reading", 0, None, "files")
        corpus = chosen_corpus(
            paths, documents=documents, text_field=text_field, errors=errors, group_by=group_by
        )
        result = judging.sweep(
            corpus,
            sizes=wanted,
            backend=backend,
            options=options,
            threads=threads,
            seed=seed,
            progress=report,
        )
        report("drawing", 0, None, "charts")
        pictures.write_sweep(result, corpus, seed=seed)
    tell_problems(corpus)
    output.write(
        sweep_forms(result, model_dim=model_dim),
        lambda console: render_sweep(result, model_dim=model_dim, console=console),
    )
