"""The results of `tokbench count-words` and `tokbench merge-words`, for the terminal."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.render.glyphs import visible
from tokbench.render.terminal import print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tokbench.workbench.count_words import CountWordsResult


def render_words(result: CountWordsResult, *, console: Console) -> None:
    """Print the counts, the folder and the next step."""
    print_rows(_rows(result), console=console)
    console.print()
    if result.index is None:
        console.print("after the last --part, the same command with --resume instead adds up all parts")
    else:
        console.print(
            Text.assemble("try: ", (f"tokbench train --counts {shlex.quote(result.folder)}", "bold"))
        )


def _rows(result: CountWordsResult) -> Iterator[tuple[str, Text]]:
    index = result.index
    if index is None:
        if result.counted is not None:
            done = result.counted.totals
            yield (
                "counted",
                Text(f"{counted(done.num_bytes, 'byte')} in {counted(done.documents or 0, 'document')}"),
            )
        yield "parts in", Text(visible(result.folder), style="bold")
        return
    totals = index.totals
    documents = "" if totals.documents is None else f" in {counted(totals.documents, 'document')}"
    yield "text", Text(f"{counted(totals.num_bytes, 'byte')}{documents}")
    yield "words", Text(f"{totals.words:,}, {index.distinct:,} distinct")
    if index.dropped is not None:
        share = index.dropped.words / max(totals.words, 1)
        yield (
            "left out",
            Text(
                f"{index.dropped.distinct:,} with a count below {index.dropped.min_count:,}, "
                f"{share * 100:.1f} % of the words",
                style="yellow",
            ),
        )
    finished_before = result.parts is not None and result.counted is None
    files = counted(len(index.files), "file") + (", finished before" if finished_before else "")
    yield "saved in", Text(f"{visible(result.folder)} ({files})", style="bold")
