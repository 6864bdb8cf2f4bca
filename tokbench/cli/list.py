"""The command that lists saved tokenizers."""

from __future__ import annotations

from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ColorOption, JsonFlag
from tokbench.render.console import make_console, print_json
from tokbench.workbench.list import list_tokenizers


@taking_groups
def list_(*, json: JsonFlag = False, color: ColorOption = "auto") -> None:
    """List the tokenizers that -t finds by name."""
    from tokbench.render.listings import render_list

    result = list_tokenizers()
    if json:
        print_json(result.to_json())
    else:
        render_list(result, console=make_console(color=color))
