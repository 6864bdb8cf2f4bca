"""Shards on the terminal: a summary of what was written, and the problems that verifying finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.render.console import rate
from tokbench.render.glyphs import visible
from tokbench.render.terminal import print_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from tokbench.shards.results import ShardsResult, VerifyResult


def render_shards(result: ShardsResult, *, console: Console) -> None:
    """Print what was written, how fast, and the next step."""
    index = result.index
    total, eos = index["total"], index["eos"]
    ending = f", {visible(eos['text'])} after each document" if eos else ""
    rows = {
        "documents": f"{total['documents']:,}, {counted(total['text_bytes'], 'byte')}",
        "tokens": f"{total['tokens']:,}{ending}",
        **_chat_rows(index),
        "shards": f"{total['shards']:,} of {index['dtype']}, .{index['format']}",
        "time": ", ".join(
            filter(None, (f"{result.seconds:.2f} s", rate(total["text_bytes"], result.seconds)))
        ),
        "written to": str(result.folder),
    }
    print_rows(((label, Text(value)) for label, value in rows.items()), console=console)


def _chat_rows(index: Mapping[str, Any]) -> dict[str, str]:
    """Return the rows about conversations in the index."""
    chat = index["options"].get("chat")
    if chat is None:
        return {}
    rows = "" if chat["pack"] is None else f", in rows of {chat['pack']:,} ids"
    return {"template": f"{visible(chat['template'])}, learns {visible(', '.join(chat['train_on']))}{rows}"}


def render_verify(result: VerifyResult, *, console: Console) -> None:
    """Print each problem, and a summary."""
    for problem in result.problems:
        console.print(Text.assemble(("wrong: ", "bold red"), visible(problem)), soft_wrap=True)
    compared = f", {result.compared:,} of them re-encoded" if result.compared else ""
    count = len(result.problems)
    found = "good" if result.passed else counted(count, "problem")
    console.print(
        Text(
            f"{visible(str(result.folder))}: {found} ({counted(result.shards, 'shard')}, "
            f"{counted(result.documents, 'document')}{compared}, {counted(result.tokens, 'token')})"
        ),
        soft_wrap=True,
    )
