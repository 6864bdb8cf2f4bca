"""The command that lists algorithms and presets."""

from __future__ import annotations

from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ColorOption, JsonFlag
from tokbench.render.console import make_console, print_json
from tokbench.workbench.backends import list_backends


@taking_groups
def backends(*, json: JsonFlag = False, color: ColorOption = "auto") -> None:
    """List the algorithms with their options, and the presets."""
    from tokbench.render.listings import render_backends

    result = list_backends()
    if json:
        print_json(result.to_json())
    else:
        render_backends(result, console=make_console(color=color))
