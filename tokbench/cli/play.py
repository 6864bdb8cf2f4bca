"""The command that opens a session in the terminal."""

from __future__ import annotations

import os
import sys
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import typer

from tokbench.cli import completion
from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ColorOption, ProgressOption
from tokbench.cli.text_options import TextChoices
from tokbench.cli.tokenizer_options import DEFAULT, OpeningChoices, SpecialPolicyOption, TokenizersOption
from tokbench.core.progress import no_progress
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import BackendUnavailableError, ConfigError
from tokbench.render.console import ColorChoice, make_console
from tokbench.render.progress import ProgressChoice, showing_progress

Theme = Literal["auto", "dark", "light"]

_LIGHT_GROUNDS = {"7", "15"}
"""What COLORFGBG ends with in a terminal whose background is light."""


@taking_groups
def play(
    *,
    begin: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="The text to begin with, a file of it, or - for stdin."),
    ] = None,
    tokenizer: TokenizersOption = None,
    opening: OpeningChoices,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    reading: TextChoices,
    theme: Annotated[
        Theme, typer.Option(help="The background; auto: as COLORFGBG says, else dark. F8 changes it.")
    ] = "auto",
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a page that encodes by itself in any browser, and open no session."
        ),
    ] = None,
    color: ColorOption = "auto",
    progress: ProgressOption = "bar",
) -> None:
    """Try tokenizers in a full-screen session: tokens appear as you type, F1 lists the keys."""
    names = tokenizer or [DEFAULT]
    if html is not None:
        _write_page(html, names, begin, opening=opening, reading=reading, color=color, progress=progress)
        return
    _check_terminal()
    _check_columns(names)
    begun = _first_text(begin, reading)
    _open_session(
        names, begun, opening=opening, special=special_policy, dark=_is_dark(theme), progress=progress
    )


def _open_session(
    names: list[str],
    begun: str,
    *,
    opening: OpeningChoices,
    special: SpecialPolicy,
    dark: bool,
    progress: ProgressChoice,
) -> None:
    from tokbench.opening.request import OpenRequest
    from tokbench.play.app import Names, PlayApp
    from tokbench.play.columns import OpenTokenizer
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
    PlayApp(opened, begun, special=special, dark=dark, names=named).run()


def _write_page(
    out: Path,
    names: list[str],
    begin: str | None,
    *,
    opening: OpeningChoices,
    reading: TextChoices,
    color: ColorChoice,
    progress: ProgressChoice,
) -> None:
    from tokbench.render.play_page import render_play_page
    from tokbench.workbench.open import find_and_open
    from tokbench.workbench.play_page import write_play_page

    text = _one_text(begin, reading)
    request = opening.request()
    with showing_progress(progress) as report:
        opened = [find_and_open(name, request, progress=report) for name in names]
        result = write_play_page(opened, out, text=text, progress=report)
    render_play_page(result, console=make_console(color=color))


def _check_terminal() -> None:
    """Raise an error, before any work, where no session can be shown."""
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


def _check_columns(names: list[str]) -> None:
    from tokbench.play.app import MOST_COLUMNS

    if len(names) > MOST_COLUMNS:
        raise ConfigError(
            f"{len(names)} tokenizers do not fit side by side", hint=f"name at most {MOST_COLUMNS} with -t"
        )


def _first_text(text: str | None, reading: TextChoices) -> str:
    """The text that the session begins with; after one from stdin the keyboard is that of the terminal."""
    begun = _one_text(text, reading)
    if text is not None and not sys.stdin.isatty():
        terminal = os.open(os.ctermid(), os.O_RDWR)
        os.dup2(terminal, 0)
        os.close(terminal)
    return begun


def _one_text(text: str | None, reading: TextChoices) -> str:
    if text is None:
        return ""
    found = list(islice(reading.read([text]), 2))
    if len(found) != 1:
        raise ConfigError(f"{text} has {'no text' if not found else 'several texts'}", hint="name one text")
    return found[0].text


def _is_dark(theme: Theme) -> bool:
    if theme == "auto":
        return os.environ.get("COLORFGBG", "").rpartition(";")[2] not in _LIGHT_GROUNDS
    return theme == "dark"
