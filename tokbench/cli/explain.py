"""The command that explains why a text is split where it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli.corpus_options import DocumentChoices, TextChoices, TextsArgument, tell_problems
from tokbench.cli.options import refuse_combined, taking_groups
from tokbench.cli.output_options import ProgressOption, ResultChoices
from tokbench.cli.standard_input import STDIN
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices, SpecialPolicyOption, TokenizerOption
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError
from tokbench.files.garbage_collection import paused_garbage_collection
from tokbench.render.console import ColorChoice, ProgressChoice, make_console, print_json, showing_progress

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer
    from tokbench.workbench.explain import ExplainResult

_TOP = 20


@taking_groups
def explain(
    *,
    inputs: TextsArgument = None,
    tokenizer: TokenizerOption = DEFAULT,
    opening: OpeningChoices,
    token: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Show only the pre-token of this token, counted from 0."),
    ] = None,
    word: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Explain why this word is one token, or is not; repeatable."),
    ] = None,
    merge: Annotated[
        list[int] | None,
        typer.Option(
            metavar="RANK",
            min=0,
            help="Show the merge of a rank: its parts, its uses, and after `train --trace` what it displaced.",
        ),
    ] = None,
    find_split: Annotated[
        str | None,
        typer.Option(
            metavar="CUT",
            help="Show the most frequent words of files that are cut at a position (un|happy, |ing) or for a cause "
            "(earlier-merge, earlier-merge:RANK, no-merge, byte-fallback, inside-character, …).",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help=f"The number of words that --find-split shows, by default {_TOP}."
        ),
    ] = None,
    play: Annotated[
        bool, typer.Option("--play", help="Show one step at a time: Enter or space continues, q quits.")
    ] = False,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    reading: TextChoices,
    form: ResultChoices,
    progress: ProgressOption = "bar",
) -> None:
    """Explain why a text is split where it is: each step of the algorithm, and the cause of each boundary."""
    from tokbench.render.explain import render_merges, render_words
    from tokbench.workbench.encode import naming_place
    from tokbench.workbench.explain import explain_merges, explain_text, explain_words

    refuse_combined(
        {"--word": word, "--merge": merge, "--find-split": find_split},
        {"TEXT": inputs, "--token": token is not None, "--play": play},
        taken={"--find-split": ("TEXT",)},
    )
    if top is not None and find_split is None:
        raise ConfigError("--top limits the words of --find-split", hint="leave it out, or give --find-split")
    if form.json and play:
        raise ConfigError("--play shows steps, and --json is for programs", hint="give one of them")
    if tokenizer == DEFAULT:
        reading.refuse_tokenizer(inputs)
    opened = opening.open(tokenizer, progress=progress)
    if word:
        form.show(explain_words(opened, word), render_words)
        return
    if merge:
        form.show(explain_merges(opened, merge), render_merges)
        return
    if find_split is not None:
        _show_splits(
            opened, find_split, inputs, top=top or _TOP, reading=reading, form=form, progress=progress
        )
        return
    with paused_garbage_collection():  # steps are many small objects, without cycles
        for item in reading.read(inputs):
            with naming_place(item):
                result = explain_text(
                    opened, item.text, special=special_policy, token=token, as_read=not form.json
                )
            if form.json:
                print_json(result.json_parts())
            else:
                _show(result, play=play, color=form.color)


def _show_splits(
    tokenizer: Tokenizer,
    asked: str,
    paths: list[str] | None,
    *,
    top: int,
    reading: TextChoices,
    form: ResultChoices,
    progress: ProgressChoice,
) -> None:
    from tokbench.render.explain import render_splits
    from tokbench.workbench.explain import find_split_words

    documents = DocumentChoices(
        paths or [STDIN],  # as without --find-split
        text_field=reading.text_field,
        errors=reading.errors,
        max_document_bytes=reading.max_document_bytes,
    )
    corpus = documents.corpus()
    with showing_progress(progress) as report:
        result = find_split_words(tokenizer, corpus, asked, top=top, progress=report)
    tell_problems(corpus)
    form.show(result, render_splits)


def _show(result: ExplainResult, *, play: bool, color: ColorChoice) -> None:
    from tokbench.render.explain import play_explanation, render_explanation

    console = make_console(color=color)
    if play:
        is_watched = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
        play_explanation(result, console=console, wait=_key if is_watched else lambda: True)
    else:
        render_explanation(result, console=console)


def _key() -> bool:
    """Wait for a key; False for q, Escape and the end of the input."""
    try:
        import termios
        import tty
    except ImportError:  # no terminal of Unix: a line at a time
        return sys.stdin.readline().strip().lower() not in ("q", "")
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    try:
        tty.setcbreak(keyboard)
        return sys.stdin.read(1) not in ("q", "Q", "\x1b", "\x04", "")
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
