"""The command that lists algorithms and presets."""

from __future__ import annotations

from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ResultChoices
from tokbench.workbench.backends import list_backends


@taking_groups
def backends(*, form: ResultChoices) -> None:
    """List the algorithms with their options, and the presets."""
    from tokbench.render.listings import render_backends

    form.show(list_backends(), render_backends)
