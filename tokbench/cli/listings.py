"""The commands that list tokenizers, algorithms and presets, and the state of the installation."""

from __future__ import annotations

import typer

from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ResultChoices


@taking_groups
def list_(*, form: ResultChoices) -> None:
    """List the tokenizers that -t finds by name."""
    from tokbench.render.listings import render_list
    from tokbench.workbench.list import list_tokenizers

    form.show(list_tokenizers(), render_list)


@taking_groups
def backends(*, form: ResultChoices) -> None:
    """List the algorithms with their options, and the presets."""
    from tokbench.render.listings import render_backends
    from tokbench.workbench.backends import list_backends

    form.show(list_backends(), render_backends)


@taking_groups
def doctor(*, form: ResultChoices) -> None:
    """Check the installation: libraries, kernel, backends and folders. Exit code 3 on failure."""
    from tokbench.render.listings import render_doctor
    from tokbench.workbench.doctor import examine

    result = examine()
    form.show(result, render_doctor)
    if not result.passed:
        raise typer.Exit(3)
