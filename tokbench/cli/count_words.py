"""The commands that count the words of a corpus for training, and merge counts."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from tokbench.cli import completion
from tokbench.cli.corpus_options import DocumentChoices, tell_problems
from tokbench.cli.engine_options import PartChoices, WorkEngineOption, refuse_beside_share, refuse_threads
from tokbench.cli.options import ThreadsOption, name_option, taking_groups
from tokbench.cli.output_options import ProgressOption, ResultChoices
from tokbench.distributed.corpus_plan import PART_BYTES
from tokbench.distributed.plan_folder import parse_share
from tokbench.errors import ConfigError
from tokbench.render.console import showing_progress
from tokbench.workbench.count_words import count_words, count_words_share
from tokbench.workbench.count_words import merge_words as merged
from tokbench.workbench.training_config import parsed_options

OutOption = Annotated[str, typer.Option(metavar="DIR", help="The folder to write, a path or a URL.")]
MinCountOption = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Leave out words that occur fewer times in all of the text, by default none. Changes what is learned.",
    ),
]
ForceFlag = Annotated[bool, typer.Option("--force", help="Replace the words in the folder.")]


@taking_groups
def count(
    *,
    documents: DocumentChoices,
    out: OutOption,
    backend: Annotated[
        str,
        name_option(
            completion.backends,
            help="The algorithm to train afterwards: bpe, wordpiece, unigram or sentencepiece.",
        ),
    ] = "bpe",
    pattern: Annotated[
        str | None,
        name_option(
            completion.patterns, help="The split pattern of bpe, as for `tokbench train`; by default gpt4."
        ),
    ] = None,
    special_token: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="A special token, at which texts are cut; repeatable."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Another option of the backend that changes its words, e.g. lowercase=false; repeatable.",
        ),
    ] = None,
    min_count: MinCountOption = 1,
    part: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Count only every N-th part, from the I-th on, without an engine: for job arrays. "
            "Afterwards, add up all parts with --resume.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a run that was interrupted, or was made with --part.")
    ] = False,
    force: ForceFlag = False,
    engine: WorkEngineOption = None,
    parts: PartChoices,
    threads: ThreadsOption = None,
    form: ResultChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Count the words of a corpus once, to train on them as often as you like.

    `tokbench train --counts DIR` learns the same from the folder as from the text.
    """
    from tokbench.render.count_words import render_words

    share = None if part is None else parse_share(part)
    works_elsewhere = (engine, parts.workers, parts.scheduler) != (None, None, None)
    if resume and force:
        raise ConfigError("--resume keeps what is there, and --force deletes it", hint="give one of them")
    if share is not None:
        others = {"--resume": resume, "--force": force, "--min-count": min_count > 1}
        refuse_beside_share({**others, "an engine": works_elsewhere})
    if works_elsewhere:
        refuse_threads(threads)
    chosen: dict[str, Any] = {"pattern": pattern, "special_tokens": special_token}
    with showing_progress(progress) as report:
        report("reading", 0, None, "files")
        corpus = documents.corpus(written=out)
        common: dict[str, Any] = {
            "out": out,
            "backend": backend,
            "options": {
                **parsed_options(option or [], backend=backend),
                **{key: value for key, value in chosen.items() if value not in (None, [])},
            },
            "part_bytes": parts.num_bytes(PART_BYTES),
            "progress": report,
        }
        if share is not None:
            result = count_words_share(corpus, share=share, threads=threads or os.cpu_count() or 1, **common)
        else:
            chosen_engine = engine or ("local" if works_elsewhere else None)
            with parts.open(chosen_engine, threads=threads) as running:
                result = count_words(
                    corpus, engine=running, min_count=min_count, resume=resume, overwrite=force, **common
                )
    corpus.problems = result.problems
    tell_problems(corpus)
    form.show(result, render_words)


@taking_groups
def merge(
    *,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS",
            help="Folders of `tokbench count-words`; Parquet files with the columns pretoken and count; or "
            "tab-separated files, a word and its count on each line.",
        ),
    ],
    out: OutOption,
    min_count: MinCountOption = 1,
    force: ForceFlag = False,
    form: ResultChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Merge word counts, as if their texts had been counted together."""
    from tokbench.render.count_words import render_words

    with showing_progress(progress) as report:
        result = merged(words, out=out, min_count=min_count, overwrite=force, progress=report)
    form.show(result, render_words)
