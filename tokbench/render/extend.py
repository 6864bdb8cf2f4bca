"""What an extension did, for the terminal: which tokens came, what was proved, what that saves on its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.render.changed_vocabulary import (
    library_rows,
    old_row,
    segmentations_row,
    tokens_row,
    written_rows,
)
from tokbench.render.glyphs import spelled, text_of
from tokbench.render.terminal import print_notes, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tokbench.surgery.contents import Algorithm
    from tokbench.workbench.extend import ExtendResult

_CHANGED: dict[Algorithm, str] = {
    "bpe": "only joined",
    "character_bpe": "only joined",
    "unigram": "by new pieces, none less likely",
    "wordpiece": "by new pieces, none unknown",
}


def render_extend(result: ExtendResult, *, console: Console) -> None:
    """What came, what was proved, and the tokens of the text before and after."""
    print_rows(_rows(result), console=console)
    print_notes(result.change.notes, console=console)


def _rows(result: ExtendResult) -> Iterator[tuple[str, Text]]:
    change, proofs = result.change, result.proofs
    special = change.new.vocab_size - change.old.vocab_size - result.words - result.learned
    came = [
        f"{number:,} {what}"
        for number, what in ((result.words, "of words"), (result.learned, "learned"), (special, "special"))
        if number
    ]
    yield old_row(change)
    yield "to", Text(f"{change.new.vocab_size:,} ids: {', '.join(came)}")
    if result.last_learned:
        yield "last", Text(" ".join(text_of(spelled(piece)) for piece in result.last_learned))
    if result.old_tokens is not None and result.new_tokens is not None:
        yield tokens_row(result.old_tokens, result.new_tokens)
    yield "proved", Text(f"{counted(proofs.tokens, 'old id')} have their bytes")
    yield segmentations_row(
        proofs.segmentations, algorithm=result.algorithm, changed=_CHANGED[result.algorithm]
    )
    yield from library_rows(proofs.encodings)
    yield from written_rows(change)
