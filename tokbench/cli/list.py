"""The command that lists saved tokenizers."""

from __future__ import annotations

from tokbench.cli.options import (
    ColorChoice,
    ColorOption,
    JsonFlag,
)


def list_(*, json: JsonFlag = False, color: ColorOption = ColorChoice.auto) -> None:
    """List the tokenizers that -t finds by name."""
    from tokbench.render.console import make_console, print_json
    from tokbench.render.listings import render_list
    from tokbench.workbench.list import list_tokenizers

    result = list_tokenizers()
    if json:
        print_json(result.to_json())
    else:
        render_list(result, console=make_console(color=color.value))
