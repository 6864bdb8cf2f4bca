"""The command that tells why a text is cut where it is cut."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli.option_groups import taking_groups
from tokbench.cli.options import (
    ColorChoice,
    ColorOption,
    JsonFlag,
    ProgressChoice,
    ProgressOption,
    SpecialPolicyOption,
    TokenizerOption,
)
from tokbench.cli.text_options import TextChoices, TextsArgument
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices
from tokbench.core.tokens import SpecialPolicy

if TYPE_CHECKING:
    from tokbench.workbench.explain import ExplainResult


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
        typer.Option(metavar="TEXT", help="Say why this is one token, or is not; several times for several."),
    ] = None,
    play: Annotated[
        bool, typer.Option("--play", help="Step by step: Enter or space goes on, q ends it.")
    ] = False,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    reading: TextChoices,
    json: JsonFlag = False,
    color: ColorOption = ColorChoice.auto,
    progress: ProgressOption = ProgressChoice.bar,
) -> None:
    """Explain why a text is cut where it is cut: each step of the algorithm, and the cause of each boundary."""
    from tokbench.render.console import make_console, print_json
    from tokbench.render.explain import render_words
    from tokbench.workbench.explain import explain_text, explain_words

    opened = opening.open(tokenizer, progress=progress)
    if word:
        answers = explain_words(opened, word)
        if json:
            print_json(answers.to_json())
        else:
            render_words(answers, console=make_console(color=color.value))
        return
    for item in reading.read(inputs):
        result = explain_text(opened, item.text, special=special_policy, token=token)
        if json:
            print_json(result.to_json())
        else:
            _show(result, play=play, color=color)


def _show(result: ExplainResult, *, play: bool, color: ColorChoice) -> None:
    from tokbench.render.console import make_console
    from tokbench.render.explain import play_explanation, render_explanation

    console = make_console(color=color.value)
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
