"""The report on a page written by `tokbench play --html`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from rich.console import Console

    from tokbench.workbench.play_page import PlayPageResult


def render_play_page(result: PlayPageResult, *, console: Console, messages: Console) -> None:
    """Print the path and size of the page, and the checks of its encoders.

    Args:
        result: the page.
        console: stdout.
        messages: stderr, which reports tokenizers without conversations.
    """
    console.print(Text(f"{visible(str(result.out))}  {result.num_bytes / 1e6:.2f} MB"), soft_wrap=True)
    for check in result.checks:
        name = visible(check.name)
        line = f"{name}: the same ids on {check.texts:,} texts, {check.characters:,} different characters"
        if check.conversations is not None:
            line += f"; the same tokens and masks on {check.conversations:,} conversations"
        console.print(Text(line), soft_wrap=True)
        if check.without_chat is not None:
            note = f"note: the page shows no conversations for {name}: {visible(check.without_chat)}"
            messages.print(Text(note), soft_wrap=True)
