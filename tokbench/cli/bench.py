"""The command that times tokenizers, beside the same tokenizers in other libraries."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from tokbench.bench.entrants import subjects_of
from tokbench.bench.measurements import sample_of
from tokbench.bench.peers import peers_named
from tokbench.bench.results import PARTS
from tokbench.cli import completion
from tokbench.cli.corpus_options import DocumentChoices, tell_problems
from tokbench.cli.options import name_option, taking_groups
from tokbench.cli.output_options import OutputChoices, ProgressOption
from tokbench.cli.tokenizer_options import OpeningChoices
from tokbench.core.argument_types import MAX_THREADS
from tokbench.core.wording import meant
from tokbench.errors import ConfigError
from tokbench.render.console import showing_progress


@taking_groups
def bench(
    *,
    tokenizer: Annotated[
        list[str] | None,
        name_option(
            completion.tokenizers,
            "--tokenizer",
            "-t",
            help="A tokenizer to time, by default `default`; repeatable. Ratios are relative to the first.",
        ),
    ] = None,
    peers: Annotated[
        str,
        typer.Option(
            autocompletion=completion.peers,
            metavar="NAME,…",
            help="Libraries that run the same tokenizer: tiktoken, tokenizers, gigatoken, fastokens, "
            "snaptokens, nanotoken, quicktok, rustbpe, gigabpe, sentencepiece; or installed, all, none. Each must "
            "give the same ids before it is timed.",
        ),
    ] = "installed",
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            "--metrics",
            autocompletion=completion.measurements,
            metavar="NAME,…",
            help="What to measure: encode, batch, latency, lookup, load, memory. By default all.",
        ),
    ] = None,
    megabytes: Annotated[
        float,
        typer.Option(
            metavar="N", min=0.001, max=100_000, help="Use at most the first N megabytes of the text."
        ),
    ] = 4.0,
    seconds: Annotated[
        float,
        typer.Option(
            metavar="N",
            min=0.0,
            help="The time limit of a measurement in seconds; at least one round is run.",
        ),
    ] = 5.0,
    runs: Annotated[int, typer.Option(metavar="N", min=1, help="The maximum number of rounds.")] = 5,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=MAX_THREADS, help="The number of threads of a batch, by default all."
        ),
    ] = None,
    documents: DocumentChoices,
    opening: OpeningChoices,
    form: OutputChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Time tokenizers on text: encoding cold and warm, in batches, short prompts, lookups, loading, memory.

    Entrants take turns in rounds, so machine noise affects all equally; a peer whose ids differ is listed but not
    timed.
    """
    from tokbench.bench.benchmark import run_bench
    from tokbench.render.bench import bench_forms, render_bench

    chosen, parts = peers_named(peers), _parts(only)
    output = form.output()
    with showing_progress(progress) as report:
        report("reading", 0, None, "files")
        corpus = documents.corpus()
        found = run_bench(
            subjects_of(tokenizer or ["default"], **asdict(opening.request())),
            sample_of(corpus.documents(), max_bytes=round(megabytes * 1e6)),
            peers=chosen,
            parts=parts,
            runs=runs,
            seconds=seconds,
            threads=threads,
            progress=report,
        )
    tell_problems(corpus)
    output.write(bench_forms(found), lambda console: render_bench(found, console=console))


def _parts(names: str | None) -> tuple[str, ...]:
    """Return the parts of `--only`. Raises `ConfigError` with the closest names."""
    wanted = [name.strip() for name in (names or "").split(",") if name.strip()]
    for name in wanted:
        if name not in PARTS:
            raise ConfigError(f"there is no measurement {name!r}", hint=meant(name, PARTS))
    return tuple(wanted) or PARTS
