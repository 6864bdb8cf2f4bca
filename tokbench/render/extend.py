"""What an extension did, for the terminal: which tokens came, what was proved, what that saves on its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.render.glyphs import spelled, text_of, visible
from tokbench.render.terminal import print_notes, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tokbench.workbench.extend import ExtendResult


def render_extend(result: ExtendResult, *, console: Console) -> None:
    """What came, what was proved, and the tokens of the text before and after."""
    print_rows(_rows(result), console=console)
    print_notes(result.notes, console=console)


def _rows(result: ExtendResult) -> Iterator[tuple[str, Text]]:
    special = result.new.vocab_size - result.old.vocab_size - result.words - result.learned
    yield "from", Text(f"{visible(result.old.name)} ({result.old.vocab_size:,} ids)")
    came = [
        f"{number:,} {what}"
        for number, what in ((result.words, "of words"), (result.learned, "learned"), (special, "special"))
        if number
    ]
    yield "to", Text(f"{result.new.vocab_size:,} ids: {', '.join(came) or 'none new'}")
    if result.last_learned:
        yield "last", Text(" ".join(text_of(spelled(piece)) for piece in result.last_learned))
    if (growth := result.growth) is not None and growth.old_count:
        saved = 1 - growth.new_count / growth.old_count
        yield "text", Text(f"{growth.old_count:,} tokens before, {growth.new_count:,} now: {-saved:+.1%}")
    proofs = result.proofs
    yield "proved", Text(f"{counted(proofs.tokens, 'old id')} have their bytes")
    if result.pretokens:
        yield (
            "proved",
            Text(
                f"{counted(result.pretokens, 'distinct pre-token')} and {counted(proofs.texts, 'text')} "
                "of the corpus only became coarser"
            ),
        )
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
