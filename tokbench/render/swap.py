"""What a swap of tokens did, for the terminal: which came, which went, what was proved, what that saves on its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.render.changed_vocabulary import library_rows, old_row, tokens_row, written_rows
from tokbench.render.glyphs import spelled, text_of
from tokbench.render.prune import words_for
from tokbench.render.terminal import print_notes, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tokbench.workbench.swap import SwapResult

_SHOWN = 12


def render_swap(result: SwapResult, *, console: Console) -> None:
    """What came and went, what was proved, and the tokens of the text before and after."""
    print_rows(_rows(result), console=console)
    print_notes(result.change.notes, console=console)


def _rows(result: SwapResult) -> Iterator[tuple[str, Text]]:
    change, proofs = result.change, result.pruning
    yield old_row(change)
    yield "to", Text(f"{change.new.vocab_size:,} ids: {len(result.came):,} came, {len(result.went):,} went")
    yield "came", _pieces(result.came)
    yield "went", _pieces(result.went)
    yield tokens_row(result.old_tokens, result.new_tokens)
    made = words_for(result.algorithm).made
    yield "proved", Text(f"{counted(proofs.tokens, 'token')} have their bytes, {proofs.made:,} {made}")
    yield from library_rows(proofs.encodings)
    yield from written_rows(change)


def _pieces(pieces: tuple[bytes, ...]) -> Text:
    return Text(" ".join(text_of(spelled(piece)) for piece in pieces[:_SHOWN]))
