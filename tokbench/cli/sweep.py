"""The command that plots compression against vocabulary size."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tokbench.cli import completion
from tokbench.cli.corpus_options import DocumentChoices, GroupByOption, tell_problems
from tokbench.cli.metric_options import MixOption, ModelChoices, chosen_mix
from tokbench.cli.options import ThreadsOption, first_given, name_option, taking_groups, tokens_option
from tokbench.cli.output_options import OutputChoices, PictureChoices, ProgressOption
from tokbench.errors import ConfigError
from tokbench.render.console import showing_progress
from tokbench.workbench.training_config import parsed_options


@taking_groups
def sweep(
    *,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="The vocabulary sizes: a range of doublings, e.g. 1k:64k (the default), or a list, e.g. 1k,8k,32k.",
        ),
    ] = None,
    superwords: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="Sweep instead the number of tokens after which merges may cross words: a list, a range, "
            "or auto for shares of --vocab-size (bpe).",
        ),
    ] = None,
    vocab_size: Annotated[
        int | None, tokens_option(help="The vocabulary size with --superwords, e.g. 8k.")
    ] = None,
    backend: Annotated[
        str,
        name_option(
            completion.backends, help="The algorithm: bpe is trained once, any other once for each size."
        ),
    ] = "bpe",
    pattern: Annotated[
        str | None,
        name_option(completion.patterns, help="The split pattern, as in `tokbench train`."),
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
    tokens against a larger output matrix); if every doubling pays, the largest. None is recommended if the text is
    too short to fill the vocabulary or does not decode to itself.

    With --superwords the vocabulary size is fixed, and gains are relative to plain BPE, which is always the last
    point.
    """
    from tokbench.render.superword_sweep import render_superword_sweep, superword_sweep_forms
    from tokbench.render.sweep import render_sweep, sweep_forms
    from tokbench.workbench.sweep import parse_sizes, sweep_superwords
    from tokbench.workbench.sweep import sweep as sweep_sizes

    other = first_given({"--sizes": sizes, "--mix": mix, "--html": drawn.html})
    if superwords is not None and other:
        raise ConfigError(
            f"{other} is for a sweep of vocabulary sizes", hint=f"leave out {other} or --superwords"
        )
    shares = chosen_mix(mix)
    output = form.output()
    drawn.check()
    options: dict[str, Any] = parsed_options(option or [], backend=backend)
    if pattern is not None:
        options["pattern"] = pattern
    common: dict[str, Any] = {
        "backend": backend,
        "options": options,
        "model": described.model(),
        "threads": threads,
        "seed": seed,
    }
    if superwords is not None:
        if vocab_size is None:
            raise ConfigError("--superwords needs a vocabulary size", hint="add --vocab-size 8k")
        beginnings = None if superwords == "auto" else parse_sizes(superwords, option="--superwords")
        with showing_progress(progress) as report:
            report("reading", 0, None, "files")
            corpus = documents.corpus(group_by=group_by)
            across = sweep_superwords(
                corpus, vocab_size=vocab_size, superwords=beginnings, progress=report, **common
            )
            drawn.write_superword_sweep(across)
        tell_problems(corpus)
        forms = superword_sweep_forms(across)
        output.write(forms, lambda console: render_superword_sweep(across, console=console))
        return
    if vocab_size is not None:
        raise ConfigError("--vocab-size is for --superwords", hint="give the sizes with --sizes")
    wanted = parse_sizes(sizes or "1k:64k")
    with showing_progress(progress) as report:
        report("reading", 0, None, "files")
        corpus = documents.corpus(group_by=group_by)
        with corpus.in_memory():  # what is drawn reads it, too
            result = sweep_sizes(corpus, sizes=wanted, mix=shares, progress=report, **common)
            report("drawing", 0, None, "charts")
            drawn.write_sweep(result, corpus, seed=seed)
    tell_problems(corpus)
    output.write(sweep_forms(result), lambda console: render_sweep(result, console=console))
