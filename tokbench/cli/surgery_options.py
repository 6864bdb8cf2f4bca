"""Options shared by commands that change a vocabulary: the corpus, and the size of the embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli.corpus_options import CountedText, GroupByOption

if TYPE_CHECKING:
    from tokbench.corpus import Corpus

PadOption = Annotated[
    int,
    typer.Option(metavar="N", min=1, help="Round the number of embedding rows up to a multiple of N."),
]


@dataclass(frozen=True, slots=True)
class ComparedText(CountedText):
    """The text on which tokens are counted, and two tokenizers compared by group."""

    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="The text to count tokens and compare tokenizers on: a file, a folder or a pattern; repeatable.",
        ),
    ] = None
    group_by: GroupByOption = "auto"

    def open_grouped(self) -> Corpus | None:
        """Open the corpus in groups; return None if none is given. Raises `CorpusError`, `ConfigError`."""
        return self.open(group_by=self.group_by)
