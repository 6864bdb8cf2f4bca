"""What a swap of tokens did, for the terminal: which came, which went, what was proved, what that saves on its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.render.glyphs import spelled, text_of, visible
from tokbench.render.terminal import print_notes, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tokbench.workbench.swap import SwapResult

_SHOWN = 12


def render_swap(result: SwapResult, *, console: Console) -> None:
    """What came and went, what was proved, and the tokens of the text before and after."""
    print_rows(_rows(result), console=console)
    print_notes(result.notes, console=console)


def _rows(result: SwapResult) -> Iterator[tuple[str, Text]]:
    yield "from", Text(f"{visible(result.old.name)} ({result.old.vocab_size:,} ids)")
    yield "to", Text(f"{result.new.vocab_size:,} ids: {len(result.came):,} came, {len(result.went):,} went")
    yield "came", _pieces(result.came)
    yield "went", _pieces(result.went)
    change = result.new_tokens / result.old_tokens - 1 if result.old_tokens else 0.0
    yield (
        "text",
        Text(f"{result.old_tokens:,} tokens before, {result.new_tokens:,} now: {change:+.1%}"),
    )
    proofs = result.pruning
    yield "proved", Text(f"{counted(proofs.tokens, 'token')} have their bytes, {proofs.made:,} their merges")
    for proof in proofs.encodings:
        yield (
            "proved",
            Text(
                f"{visible(proof.second)} gives the same: {counted(proof.texts, 'text')}, "
                f"{counted(proof.characters, 'character')}"
            ),
        )
    for name, size in result.files.items():
        yield "written", Text(f"{visible(name)}  {counted(size, 'byte')}")
    yield "model", Text(f"an embedding of {counted(result.rows, 'row')}")
    yield "in", Text(visible(str(result.out)), style="bold")
    yield "time", Text(", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in result.seconds.items()))


def _pieces(pieces: tuple[bytes, ...]) -> Text:
    return Text(" ".join(text_of(spelled(piece)) for piece in pieces[:_SHOWN]))
