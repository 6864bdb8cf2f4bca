"""The command that lists saved tokenizers."""

from __future__ import annotations

from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import ResultChoices
from tokbench.workbench.list import list_tokenizers


@taking_groups
def list_(*, form: ResultChoices) -> None:
    """List the tokenizers that -t finds by name."""
    from tokbench.render.listings import render_list

    form.show(list_tokenizers(), render_list)
