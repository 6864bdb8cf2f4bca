"""The command that opens a session in the terminal."""

from __future__ import annotations

import os
import sys
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import typer

from tokbench.cli import completion
from tokbench.cli.chat import TemplateOption
from tokbench.cli.corpus_options import TextChoices
from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ColorOption, ProgressOption
from tokbench.cli.standard_input import STDIN
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices, SpecialPolicyOption, TokenizersOption
from tokbench.core.progress import no_progress
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import BackendUnavailableError, ConfigError
from tokbench.render.console import ColorChoice, ProgressChoice, make_console, showing_progress

Theme = Literal["auto", "dark", "light"]
_DUMB = {"dumb", "unknown"}
"""What TERM is where text can be written line after line only."""


@taking_groups
def play(
    *,
    begin: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT",
            help="The initial text, its file, or - for stdin, the default in a pipe.",
        ),
    ] = None,
    tokenizer: TokenizersOption = None,
    opening: OpeningChoices,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    reading: TextChoices,
    template: TemplateOption = "auto",
    theme: Annotated[
        Theme, typer.Option(help="The background; auto: that of the terminal, else dark. F8 changes it.")
    ] = "auto",
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a standalone page that encodes in any browser, instead of opening a session.",
        ),
    ] = None,
    color: ColorOption = "auto",
    progress: ProgressOption = "bar",
) -> None:
    """Try tokenizers in a full-screen session: tokens appear as you type, F1 lists the keys."""
    names = tokenizer or [DEFAULT]
    if html is not None:
        text = _one_text(begin, reading)
        _write_page(html, names, text, opening=opening, template=template, color=color, progress=progress)
        return
    _check_terminal()
    _check_columns(names)
    begun = _first_text(begin, reading)
    from tokbench.play.terminal import has_light_background

    dark = theme == "dark" or (theme == "auto" and not has_light_background())
    _open_session(
        names,
        begun,
        opening=opening,
        special=special_policy,
        template=template,
        dark=dark,
        progress=progress,
    )


def _open_session(
    names: list[str],
    begun: str,
    *,
    opening: OpeningChoices,
    special: SpecialPolicy,
    template: str,
    dark: bool,
    progress: ProgressChoice,
) -> None:
    from tokbench.opening.request import OpenRequest
    from tokbench.play.app import Names, PlayApp
    from tokbench.play.columns import OpenTokenizer
    from tokbench.play.ending import raise_again
    from tokbench.play.terminal import characters_in_place
    from tokbench.workbench.open import find_and_open

    request = opening.request()
    with showing_progress(progress) as report:
        opened = [OpenTokenizer(name, find_and_open(name, request, progress=report)) for name in names]

    def open_named(name: str) -> OpenTokenizer:
        try:
            return OpenTokenizer(name, find_and_open(name, request, progress=no_progress))
        except ConfigError:  # the options are those of another tokenizer
            plain = OpenRequest(engine=request.engine)
            return OpenTokenizer(name, find_and_open(name, plain, progress=no_progress))

    named = Names(open_named, completion.tokenizers)
    app = PlayApp(opened, begun, special=special, template=template, dark=dark, names=named)
    with characters_in_place(sys.stdout):
        app.run()
    raise_again(app.return_code)


def _write_page(
    out: Path,
    names: list[str],
    text: str,
    *,
    opening: OpeningChoices,
    template: str,
    color: ColorChoice,
    progress: ProgressChoice,
) -> None:
    from tokbench.render.play_page import render_play_page
    from tokbench.workbench.open import find_and_open
    from tokbench.workbench.play_page import write_play_page

    request = opening.request()
    with showing_progress(progress) as report:
        opened = [find_and_open(name, request, progress=report) for name in names]
        result = write_play_page(opened, out, text=text, template=template, progress=report)
    messages = make_console(color=color, stderr=True)
    render_play_page(result, console=make_console(color=color), messages=messages)


def _check_terminal() -> None:
    """Raise an error, before any work, if the terminal cannot show a session."""
    try:
        import textual  # noqa: F401
    except ImportError:
        raise BackendUnavailableError(
            "`tokbench play` needs the package textual", hint="pip install 'tokbench[play]'"
        ) from None
    if sys.stdout is None or not sys.stdout.isatty():
        raise ConfigError(
            "`tokbench play` needs a terminal", hint="`tokbench viz` prints the tokens of a text"
        )
    if (kind := os.environ.get("TERM", "")).lower() in _DUMB:
        raise ConfigError(
            f"`tokbench play` needs a full screen, but TERM is {kind}",
            hint="set TERM=xterm-256color if the terminal supports it; `tokbench viz` prints the tokens of a text",
        )


def _check_columns(names: list[str]) -> None:
    from tokbench.play.app import MOST_COLUMNS

    if len(names) > MOST_COLUMNS:
        raise ConfigError(
            f"{len(names)} tokenizers do not fit side by side", hint=f"name at most {MOST_COLUMNS} with -t"
        )


def _first_text(text: str | None, reading: TextChoices) -> str:
    """Return the initial text of the session; if stdin is a pipe, keys are read from the terminal device."""
    from tokbench.play.terminal import take_keyboard

    if sys.stdin is not None and sys.stdin.isatty():
        return _one_text(text, reading)
    begun = _one_text(STDIN if text is None else text, reading)
    take_keyboard()
    return begun


def _one_text(text: str | None, reading: TextChoices) -> str:
    if text is None:
        return ""
    found = list(islice(reading.read([text]), 2))
    if len(found) != 1:
        raise ConfigError(f"{text} has {'no text' if not found else 'several texts'}", hint="name one text")
    return found[0].text
