"""Terminal output for changed vocabularies: the added and removed tokens, the proofs, and the costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.metrics.catalogue import metrics_named
from tokbench.render.comparison import render_comparison
from tokbench.render.glyphs import spelled, text_of, visible
from tokbench.render.terminal import print_notes, print_rows
from tokbench.workbench.prune import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from tokbench.convert.proof import ProofResult
    from tokbench.surgery.contents import Algorithm
    from tokbench.surgery.proofs import SegmentationProof
    from tokbench.workbench.changed_vocabulary import ChangedVocabulary
    from tokbench.workbench.extend import ExtendResult
    from tokbench.workbench.prune import PruneResult
    from tokbench.workbench.swap import SwapResult

_CHANGED: dict[Algorithm, str] = {
    "bpe": "only joined",
    "character_bpe": "only joined",
    "unigram": "by new pieces, none less likely",
    "wordpiece": "by new pieces, none unknown",
}

_SHOWN = 12


def old_row(change: ChangedVocabulary) -> tuple[str, Text]:
    """Return the row of the old tokenizer."""
    return "from", Text(f"{visible(change.old.name)} ({change.old.vocab_size:,} ids)")


def tokens_row(before: int, after: int) -> tuple[str, Text]:
    """Return the row that compares the number of tokens of the text."""
    change = after / before - 1 if before else 0.0
    return "text", Text(f"{before:,} tokens before, {after:,} now: {change * 100:+.1f} %")


def segmentations_row(proof: SegmentationProof, *, algorithm: Algorithm, changed: str) -> tuple[str, Text]:
    """Return the row of a segmentation proof: how much text was compared, and what holds for the changed parts."""
    unit = "pre-token" if algorithm == "bpe" else "word"
    unchanged = counted(proof.unchanged, f"distinct {unit}")
    return (
        "proved",
        Text(f"{counted(proof.texts, 'part')} of text: {unchanged} as before, {proof.changed:,} {changed}"),
    )


def library_rows(proofs: Iterable[ProofResult]) -> Iterator[tuple[str, Text]]:
    """Yield the rows of the comparisons with libraries."""
    for proof in proofs:
        texts, characters = counted(proof.texts, "text"), counted(proof.characters, "character")
        yield "proved", Text(f"{visible(proof.second)} gives the same: {texts}, {characters}")


def written_rows(change: ChangedVocabulary) -> Iterator[tuple[str, Text]]:
    """Yield the rows of the files, the size of the embedding, the folder and the time."""
    for name, size in change.files.items():
        yield "written", Text(f"{visible(name)}  {counted(size, 'byte')}")
    yield "model", Text(f"an embedding of {counted(change.embedding_rows, 'row')}")
    yield "in", Text(visible(str(change.out)), style="bold")
    yield "time", Text(", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in change.seconds.items()))


def render_extend(result: ExtendResult, *, console: Console) -> None:
    """Print the added tokens, the proofs, and the tokens of the text before and after."""
    print_rows(_extension_rows(result), console=console)
    print_notes(result.change.notes, console=console)


def _extension_rows(result: ExtendResult) -> Iterator[tuple[str, Text]]:
    change, proofs = result.change, result.proofs
    special = change.new.vocab_size - change.old.vocab_size - result.words - result.learned
    came = [
        f"{number:,} {what}"
        for number, what in ((result.words, "for words"), (result.learned, "learned"), (special, "special"))
        if number
    ]
    yield old_row(change)
    yield "to", Text(f"{change.new.vocab_size:,} ids: {', '.join(came)}")
    if result.last_learned:
        yield "last", _pieces(result.last_learned)
    if result.old_tokens is not None and result.new_tokens is not None:
        yield tokens_row(result.old_tokens, result.new_tokens)
    yield "proved", Text(f"{counted(proofs.tokens, 'old id')} keep their bytes")
    yield segmentations_row(
        proofs.segmentations, algorithm=result.algorithm, changed=_CHANGED[result.algorithm]
    )
    yield from library_rows(proofs.encodings)
    yield from written_rows(change)


class Words(NamedTuple):
    """The wording of proofs of an algorithm: why tokens stay, which always stay, and what still spells the rest."""

    needed: str
    made: str
    always: str = "single characters, bytes, special and added tokens"
    changed: str = "with other tokens, and the same text"


_WORDS: dict[Algorithm, Words] = {
    "bpe": Words(
        needed="that merges still need",
        made="their merges",
        always="bytes and added tokens",
        changed="split by the remaining merges",
    ),
    "character_bpe": Words(needed="that merges still need", made="what they are merged of"),
    "wordpiece": Words(
        needed="without which words would become unknown",
        made="as pieces of words",
        always="single characters, special and added tokens",
    ),
    "unigram": Words(needed="that no others spell", made="their scores"),
}


def render_prune(result: PruneResult, *, console: Console) -> None:
    """Print the removed tokens, the proofs, and the figures before and after."""
    print_rows(_pruning_rows(result), console=console)
    render_comparison(result.comparison, metrics=metrics_named(FIGURES), console=console)
    print_notes(result.change.notes, console=console)


def _pruning_rows(result: PruneResult) -> Iterator[tuple[str, Text]]:
    change, removal, proofs = result.change, result.removal, result.proofs
    words = _WORDS[result.algorithm]
    yield old_row(change)
    yield "to", Text(f"{change.new.vocab_size:,} ids: {len(removal.ids):,} removed")
    yield "kept", Text(f"{result.kept:,} regardless of the text: {words.always}")
    if removal.needed:
        yield "kept", Text(f"{counted(len(removal.needed), 'selected token')} {words.needed}")
    if removal.fixed:
        yield "kept", Text(f"{counted(len(removal.fixed), 'selected token')}: {words.always} stay")
    yield (
        "proved",
        Text(f"{counted(proofs.tokens, 'token')} keep their bytes, {proofs.reproduced:,} {words.made}"),
    )
    yield segmentations_row(proofs.segmentations, algorithm=result.algorithm, changed=words.changed)
    yield from library_rows(proofs.encodings)
    yield from written_rows(change)


def render_swap(result: SwapResult, *, console: Console) -> None:
    """Print the added and removed tokens, the proofs, and the tokens of the text before and after."""
    print_rows(_swap_rows(result), console=console)
    print_notes(result.change.notes, console=console)


def _swap_rows(result: SwapResult) -> Iterator[tuple[str, Text]]:
    change, proofs = result.change, result.pruning
    yield old_row(change)
    yield (
        "to",
        Text(f"{change.new.vocab_size:,} ids: {len(result.added):,} added, {len(result.removed):,} removed"),
    )
    yield "added", _pieces(result.added)
    yield "removed", _pieces(result.removed)
    yield tokens_row(result.old_tokens, result.new_tokens)
    made = _WORDS[result.algorithm].made
    yield "proved", Text(f"{counted(proofs.tokens, 'token')} keep their bytes, {proofs.reproduced:,} {made}")
    yield from library_rows(proofs.encodings)
    yield from written_rows(change)


def _pieces(pieces: tuple[bytes, ...]) -> Text:
    return Text(" ".join(text_of(spelled(piece)) for piece in pieces[:_SHOWN]))
