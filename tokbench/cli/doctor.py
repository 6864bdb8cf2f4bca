"""The command that checks the installation."""

from __future__ import annotations

import typer

from tokbench.cli.options import (
    ColorChoice,
    ColorOption,
    JsonFlag,
)


def doctor(*, json: JsonFlag = False, color: ColorOption = ColorChoice.auto) -> None:
    """Tell what is installed and which kernel runs, and check that it does what it should."""
    from tokbench.render.console import make_console, print_json
    from tokbench.render.listings import render_doctor
    from tokbench.workbench.doctor import examine

    result = examine()
    if json:
        print_json(result.to_json())
    else:
        render_doctor(result, console=make_console(color=color.value))
    if not result.passed:
        raise typer.Exit(3)
