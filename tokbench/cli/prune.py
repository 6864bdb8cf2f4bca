"""The command that removes tokens from a vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli.corpus_options import ComparedText, tell_problems
from tokbench.cli.options import PadOption, ThreadsOption, taking_groups, tokenizer_argument, tokens_option
from tokbench.cli.output_options import ProgressOption, ResultChoices
from tokbench.cli.tokenizer_options import OpeningChoices
from tokbench.render.console import showing_progress

if TYPE_CHECKING:
    from tokbench.workbench.prune import Choice


@dataclass(frozen=True, slots=True)
class RemovalChoices:
    """Which tokens to remove."""

    size: Annotated[
        int | None,
        tokens_option(help="Remove the least frequent tokens until N are left, e.g. 32000 or 32k."),
    ] = None
    min_count: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Remove tokens that occur fewer than N times."),
    ] = None
    script: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,…", help="Remove tokens with a letter of these scripts, e.g. Thai; repeatable."
        ),
    ] = None
    keep_script: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME,…", help="Remove tokens with a letter of any other script; repeatable."),
    ] = None
    list_: Annotated[
        Path | None,
        typer.Option(
            "--list", metavar="FILE", help="Remove these tokens: a file with an id at the start of each line."
        ),
    ] = None

    def choice(self) -> Choice:
        """Convert to the workbench's type. Raises `ConfigError`."""
        from tokbench.surgery.selection import parse_scripts, read_ids
        from tokbench.workbench.prune import Choice

        return Choice(
            size=self.size,
            min_count=self.min_count,
            drop_scripts=parse_scripts(self.script) if self.script else (),
            keep_scripts=parse_scripts(self.keep_script) if self.keep_script else None,
            ids=() if self.list_ is None else read_ids(self.list_),
        )


@taking_groups
def prune(
    *,
    name: Annotated[str, tokenizer_argument("TOKENIZER", help="The tokenizer to prune, named as for -t.")],
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="The folder to write: the tokenizer, and what its model needs."),
    ],
    removed: RemovalChoices,
    counted: ComparedText,
    pad_multiple: PadOption = 64,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder that prune wrote.")] = False,
    threads: ThreadsOption = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="The seed of the resamples and of the proof's generated texts.")
    ] = 0,
    opening: OpeningChoices,
    form: ResultChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Remove tokens from a vocabulary, prove what is left, and write it with a map of the ids.

    BPE loses the least frequent tokens first, and none that a remaining merge needs; Unigram the pieces whose
    removal costs the text least likelihood; WordPiece those whose removal adds the fewest tokens. Bytes,
    single-character pieces and special tokens are always kept.
    """
    from tokbench.render.changed_vocabulary import render_prune
    from tokbench.workbench.prune import prune as prune_tokens

    choice, corpus = removed.choice(), counted.open_grouped()
    with showing_progress(progress) as report:
        result = prune_tokens(
            name,
            out,
            choice,
            corpus=corpus,
            request=opening.request(),
            pad_multiple=pad_multiple,
            overwrite=force,
            threads=threads,
            seed=seed,
            progress=report,
        )
    if corpus is not None:
        tell_problems(corpus)
    form.show(result, render_prune)
