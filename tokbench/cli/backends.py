"""The command that lists algorithms and presets."""

from __future__ import annotations

from tokbench.cli.options import (
    ColorChoice,
    ColorOption,
    JsonFlag,
)


def backends(*, json: JsonFlag = False, color: ColorOption = ColorChoice.auto) -> None:
    """List the algorithms with their options, and the presets."""
    from tokbench.render.console import make_console, print_json
    from tokbench.render.listings import render_backends
    from tokbench.workbench.backends import list_backends

    result = list_backends()
    if json:
        print_json(result.to_json())
    else:
        render_backends(result, console=make_console(color=color.value))
