"""The command that checks the installation."""

from __future__ import annotations

import typer

from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ResultChoices
from tokbench.workbench.doctor import examine


@taking_groups
def doctor(*, form: ResultChoices) -> None:
    """Check the installation: libraries, kernel, backends and folders. Exit code 3 on failure."""
    from tokbench.render.listings import render_doctor

    result = examine()
    form.show(result, render_doctor)
    if not result.passed:
        raise typer.Exit(3)
