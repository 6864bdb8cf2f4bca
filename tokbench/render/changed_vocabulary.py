"""What every change of a vocabulary tells, for the terminal: sizes, what was proved, what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.convert.proof import ProofResult
    from tokbench.surgery.contents import Algorithm
    from tokbench.surgery.proofs import SegmentationProof
    from tokbench.workbench.changed_vocabulary import ChangedVocabulary


def unit_of(algorithm: Algorithm) -> str:
    """What its proofs are of."""
    return "pre-token" if algorithm == "bpe" else "word"


def old_row(change: ChangedVocabulary) -> tuple[str, Text]:
    """The tokenizer as it was."""
    return "from", Text(f"{visible(change.old.name)} ({change.old.vocab_size:,} ids)")


def tokens_row(before: int, after: int) -> tuple[str, Text]:
    """The tokens of the text."""
    change = after / before - 1 if before else 0.0
    return "text", Text(f"{before:,} tokens before, {after:,} now: {change * 100:+.1f} %")


def segmentations_row(proof: SegmentationProof, *, algorithm: Algorithm, changed: str) -> tuple[str, Text]:
    """On how much text was compared, and what holds of what changed."""
    unchanged = counted(proof.unchanged, f"distinct {unit_of(algorithm)}")
    return (
        "proved",
        Text(f"{counted(proof.texts, 'part')} of text: {unchanged} as before, {proof.changed:,} {changed}"),
    )


def library_rows(proofs: Iterable[ProofResult]) -> Iterator[tuple[str, Text]]:
    """What was compared with libraries."""
    for proof in proofs:
        texts, characters = counted(proof.texts, "text"), counted(proof.characters, "character")
        yield "proved", Text(f"{visible(proof.second)} gives the same: {texts}, {characters}")


def written_rows(change: ChangedVocabulary) -> Iterator[tuple[str, Text]]:
    """The files, the embedding that they ask for, the folder and the time."""
    for name, size in change.files.items():
        yield "written", Text(f"{visible(name)}  {counted(size, 'byte')}")
    yield "model", Text(f"an embedding of {counted(change.embedding_rows, 'row')}")
    yield "in", Text(visible(str(change.out)), style="bold")
    yield "time", Text(", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in change.seconds.items()))
