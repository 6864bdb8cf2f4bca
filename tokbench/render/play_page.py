"""What is told of a page that `tokbench play --html` has written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from rich.console import Console

    from tokbench.workbench.play_page import PlayPageResult


def render_play_page(result: PlayPageResult, *, console: Console) -> None:
    """Print where the page is, how large, and what its encoders were tried on."""
    console.print(Text(f"{visible(str(result.out))}  {result.num_bytes / 1e6:.2f} MB"), soft_wrap=True)
    for name, check in result.checks:
        told = f"{visible(name)}: the same ids on {check.texts:,} texts, {check.characters:,} characters"
        console.print(Text(told), soft_wrap=True)
