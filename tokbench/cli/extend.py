"""The command that adds tokens to a vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokbench.cli.corpus_options import DocumentChoices, tell_problems
from tokbench.cli.options import PadOption, ThreadsOption, taking_groups, tokenizer_argument, tokens_option
from tokbench.cli.output_options import ProgressOption, ResultChoices
from tokbench.cli.tokenizer_options import OpeningChoices, special_tokens
from tokbench.errors import ConfigError
from tokbench.render.console import showing_progress

if TYPE_CHECKING:
    from tokbench.corpus import Corpus
    from tokbench.opening.request import OpenRequest
    from tokbench.workbench.extend import Additions, ExtendResult
    from tokbench.workbench.swap import SwapResult


@dataclass(frozen=True, slots=True)
class AdditionChoices:
    """Which tokens to add."""

    tokens: Annotated[int | None, tokens_option(help="Learn N tokens from the text, e.g. 8000 or 8k.")] = None
    size: Annotated[
        int | None,
        tokens_option(
            help="Learn tokens until there are N ids, those of --words and --special-token included."
        ),
    ] = None
    budget: Annotated[
        int | None,
        tokens_option(
            help="Replace up to N rarely used tokens by frequent ones of the text, keeping the size."
        ),
    ] = None
    words: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Add each line as a token, with the space before it as in running text.",
        ),
    ] = None
    min_frequency: Annotated[
        int, typer.Option(metavar="N", min=1, help="The minimum frequency of a new token.")
    ] = 2
    max_token_length: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The maximum length of a token, in bytes.")
    ] = None

    def additions(self, special_tokens: tuple[str, ...]) -> Additions:
        """Convert to the workbench's type, with these special tokens. Raises `ConfigError`."""
        from tokbench.workbench.extend import Additions

        if self.budget is not None and (self.tokens or self.size or self.words):
            raise ConfigError(
                "--budget keeps the size, but --tokens, --size and --words add to it",
                hint="leave them out",
            )
        return Additions(
            num_tokens=self.budget or self.tokens,
            size=self.size,
            words=() if self.words is None else _words_of(self.words),
            special_tokens=special_tokens,
            min_frequency=self.min_frequency,
            max_token_length=self.max_token_length,
        )


@dataclass(frozen=True, slots=True)
class ExtendedTokenizer(OpeningChoices):
    """How to open the tokenizer, and the special tokens to add to it."""

    special_token: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT[=ID]",
            help="Add a special token, after all other tokens; with an id, one that the tokenizer's file does not "
            "define. Repeatable.",
        ),
    ] = None

    def request(self) -> OpenRequest:
        """Convert to a request for opening, with the special tokens that have an id. Raises `ConfigError`."""
        request = OpeningChoices.request(self)
        defined = {text: id for text, id in request.special_tokens.items() if id is not None}
        return replace(request, special_tokens=defined)

    def new_special_tokens(self) -> tuple[str, ...]:
        """Return the special tokens without an id, which are added. Raises `ConfigError`."""
        given = special_tokens(self.special_token or [])
        return tuple(text for text, id in given.items() if id is None)


@dataclass(frozen=True, slots=True)
class LearnedText(DocumentChoices):
    """The text that tokens are learned from."""

    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Files, folders, patterns, URLs; they are read more than once."),
    ] = None

    def open(self) -> Corpus | None:
        """Open the corpus; return None if none is given. Raises `CorpusError`, `ConfigError`."""
        return self.corpus() if self.paths else None


@taking_groups
def extend(
    *,
    name: Annotated[str, tokenizer_argument("TOKENIZER", help="The tokenizer to extend, named as for -t.")],
    text: LearnedText,
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="The folder to write: the tokenizer, and what its model needs."),
    ],
    added: AdditionChoices,
    pad_multiple: PadOption = 64,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder that extend wrote.")] = False,
    threads: ThreadsOption = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of the proof's generated texts.")] = 0,
    opening: ExtendedTokenizer,
    form: ResultChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Append tokens to a vocabulary: learned from text, listed in a file, or special.

    Existing ids, merges and scores do not change. New BPE merges come last, so they only join tokens that a text
    already has; with Unigram and WordPiece, a text without a new piece keeps its tokens. --budget removes the least
    useful tokens to make room, and renumbers the rest without gaps.
    """
    from tokbench.render.changed_vocabulary import render_extend, render_swap
    from tokbench.workbench.extend import extend as extend_tokens
    from tokbench.workbench.swap import swap as swap_tokens

    additions, corpus = added.additions(opening.new_special_tokens()), text.open()
    if corpus is not None and not additions.learns:
        raise ConfigError("text is named, but nothing is learned from it", hint="add --tokens N")
    with showing_progress(progress) as report:
        options: dict[str, Any] = {
            "request": opening.request(),
            "pad_multiple": pad_multiple,
            "overwrite": force,
            "threads": threads,
            "seed": seed,
            "progress": report,
        }
        result: ExtendResult | SwapResult
        if added.budget is None:
            result = extend_tokens(name, out, additions, corpus=corpus, **options)
        elif corpus is None:
            raise ConfigError("--budget needs text to count tokens on", hint="name files after the tokenizer")
        else:
            result = swap_tokens(name, out, additions, corpus=corpus, **options)
    if corpus is not None:
        tell_problems(corpus)
    form.show(result, render_extend if added.budget is None else render_swap)


def _words_of(path: Path) -> tuple[str, ...]:
    """Return the non-empty lines of a file. Raises `ConfigError`."""
    from tokbench.opening.files import read_file

    try:
        lines = read_file(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8, at byte {error.start}", hint="--words takes a file of UTF-8 text"
        ) from None
    words = tuple(line for line in lines if line)
    if not words:
        raise ConfigError(f"{path} has no words", hint="write a word on each line")
    return words
