"""The command that shows what a tokenizer consists of."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli import completion
from tokbench.cli.corpus_options import CountedText, tell_problems
from tokbench.cli.options import name_option, taking_groups, tokenizer_argument
from tokbench.cli.output_options import OutputChoices, ProgressOption
from tokbench.cli.tokenizer_options import OpeningChoices, RoleChoices
from tokbench.errors import ConfigError
from tokbench.render.console import ProgressChoice, showing_progress
from tokbench.workbench.inspect import inspect_opened
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from tokbench.cli.output_options import Output
    from tokbench.corpus import Corpus
    from tokbench.inspection.search import TokenQuery
    from tokbench.opening.request import OpenRequest

_MOST_NAMES = 2


@dataclass(frozen=True, slots=True)
class SearchChoices:
    """Which tokens of the vocabulary to show."""

    find: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Show tokens whose text matches the expression anywhere."),
    ] = None
    id: Annotated[
        list[int] | None,
        typer.Option(
            "--id",
            metavar="N",
            min=0,
            help="Show one token in depth: the merges that make it, and those that use it; repeatable.",
        ),
    ] = None
    bytes: Annotated[
        str | None,
        typer.Option("--bytes", metavar="HEX", help="Show tokens that contain these bytes, e.g. E282."),
    ] = None
    script: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Show tokens whose letters are of one script, e.g. Cyrillic or Han."
        ),
    ] = None
    rank: Annotated[
        str | None,
        typer.Option(metavar="FROM:TO", help="Show tokens made by merges of these ranks, TO excluded."),
    ] = None
    longest: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Show the N longest of these tokens.")
    ] = None
    top: Annotated[
        int, typer.Option(metavar="N", min=1, help="The number of tokens to show without --longest.")
    ] = 20

    def query(self) -> TokenQuery | None:
        """Return the query; None if no tokens are requested. Raises `ConfigError`."""
        from tokbench.inspection.search import TokenQuery, parse_bytes_of_token, parse_ranks

        asked = (self.find, self.id, self.bytes, self.script, self.rank)
        if all(each is None for each in (*asked, self.longest)):
            return None
        return TokenQuery(
            find=self.find,
            ids=None if self.id is None else frozenset(self.id),
            data=None if self.bytes is None else parse_bytes_of_token(self.bytes),
            script=self.script,
            ranks=None if self.rank is None else parse_ranks(self.rank),
        )


@taking_groups
def inspect(
    *,
    names: Annotated[
        list[str] | None,
        tokenizer_argument("NAME", help="A tokenizer, named as for -t; or two, to compare them."),
    ] = None,
    tokenizer: Annotated[
        str | None,
        name_option(completion.tokenizers, "-t", "--tokenizer", help="The same as NAME."),
    ] = None,
    opening: OpeningChoices,
    roles: RoleChoices,
    searching: SearchChoices,
    counting: CountedText,
    vocab_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write all tokens to a .tsv or .json file: id, bytes, text, score, rank, frequency.",
        ),
    ] = None,
    out: OutputChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Show what a tokenizer consists of: format, model, pattern, special tokens, and its engine with the reason.

    --find and the options after it show its tokens; two names show how two tokenizers differ.
    """
    if names and tokenizer is not None:
        raise ConfigError(
            f"two tokenizers are named, {tokenizer!r:.60} by -t and {names[0]!r:.60} without it",
            hint="leave out one of them, or leave out -t to compare both",
        )
    names = names or [tokenizer or "default"]
    output, query, corpus = out.output(), searching.query(), counting.open()
    if len(names) > _MOST_NAMES:
        raise ConfigError(
            f"{len(names)} tokenizers are named", hint="name one to show it, or two to compare them"
        )
    searches = query is not None or corpus is not None or vocab_out is not None
    if len(names) == _MOST_NAMES:
        if searches:
            raise ConfigError(
                "tokens are searched in one tokenizer, but two are named", hint="leave out one of the names"
            )
        _compare(names, opening.request(), output, top=searching.top, progress=progress)
    elif searches:
        _search(
            names[0],
            opening.request(),
            searching,
            corpus,
            vocab_out=vocab_out,
            output=output,
            progress=progress,
        )
    else:
        from tokbench.render.inspection import forms_of_inspection, render_inspection

        request = replace(opening.request(), roles=roles.roles())
        with showing_progress(progress) as report:
            result = inspect_opened(find_and_open(names[0], request, progress=report))
        output.write(forms_of_inspection(result), lambda console: render_inspection(result, console=console))


def _search(
    name: str,
    request: OpenRequest,
    searching: SearchChoices,
    corpus: Corpus | None,
    *,
    vocab_out: Path | None,
    output: Output,
    progress: ProgressChoice,
) -> None:
    from tokbench.inspection.contents import TokenizerContents
    from tokbench.inspection.search import TokenQuery
    from tokbench.inspection.vocabulary_tokens import VocabularyTokens
    from tokbench.lint.target import count_corpus
    from tokbench.render.inspection import forms_of_tokens, render_tokens
    from tokbench.workbench.search_vocabulary import (
        check_name,
        search_vocabulary,
        vocabulary_rows,
        write_vocabulary,
    )

    if vocab_out is not None:
        check_name(vocab_out)
    query = searching.query()
    with showing_progress(progress) as report:
        opened = find_and_open(name, request, progress=report)
        vocabulary = VocabularyTokens(TokenizerContents(opened))
        counts = None if corpus is None else count_corpus(opened.tokenizer, corpus)
    if corpus is not None:
        tell_problems(corpus)
    if vocab_out is not None:
        write_vocabulary(vocab_out, vocabulary, counts=counts)
        print(f"{len(vocabulary.tokens):,} tokens written to {vocab_out}", file=sys.stderr)
        if query is None:
            return
    top = searching.longest or (None if searching.id else searching.top)
    result = search_vocabulary(
        vocabulary, query or TokenQuery(), longest=searching.longest is not None, counts=counts, top=top
    )
    rows = list(vocabulary_rows(result.tokens, counts=counts)) if output.form == "csv" else []
    output.write(forms_of_tokens(result, rows), lambda console: render_tokens(result, console=console))


def _compare(
    names: list[str], request: OpenRequest, output: Output, *, top: int, progress: ProgressChoice
) -> None:
    from tokbench.render.vocabulary_comparison import forms_of_comparison, render_comparison_of_two
    from tokbench.workbench.compare_vocabularies import compare_vocabularies

    with showing_progress(progress) as report:
        first, second = (find_and_open(name, request, progress=report) for name in names)
    result = compare_vocabularies(first, second)
    output.write(
        forms_of_comparison(result, top=top),
        lambda console: render_comparison_of_two(result, top=top, console=console),
    )
