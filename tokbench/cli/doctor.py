"""The command that checks the installation."""

from __future__ import annotations

import typer

from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ColorOption, JsonFlag
from tokbench.render.console import make_console, print_json
from tokbench.workbench.doctor import examine


@taking_groups
def doctor(*, json: JsonFlag = False, color: ColorOption = "auto") -> None:
    """Check the installation: libraries, kernel, backends and folders. Exit code 3 on failure."""
    from tokbench.render.listings import render_doctor

    result = examine()
    if json:
        print_json(result.to_json())
    else:
        render_doctor(result, console=make_console(color=color))
    if not result.passed:
        raise typer.Exit(3)
