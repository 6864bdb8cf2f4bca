"""What pruning did, for the terminal: how many tokens went, what was proved, and what it costs on text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.metrics.catalogue import metrics_named
from tokbench.render.changed_vocabulary import library_rows, old_row, segmentations_row, written_rows
from tokbench.render.comparison.terminal import render_comparison
from tokbench.render.terminal import print_notes, print_rows
from tokbench.workbench.prune import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tokbench.surgery.contents import Algorithm
    from tokbench.workbench.prune import PruneResult


class Words(NamedTuple):
    """How proofs are told of an algorithm: why a token stays, what always does, what what is left is good for."""

    needed: str
    made: str
    always: str = "single characters, bytes, special and added tokens"
    changed: str = "with other tokens, and the same text"


_WORDS: dict[Algorithm, Words] = {
    "bpe": Words(
        needed="that merges still need",
        made="their merges",
        always="bytes and added tokens",
        changed="as the surviving merges say",
    ),
    "character_bpe": Words(needed="that merges still need", made="what they are merged of"),
    "wordpiece": Words(
        needed="without which words would become unknown",
        made="as pieces of words",
        always="single characters, special and added tokens",
    ),
    "unigram": Words(needed="that no others spell", made="their scores"),
}


def words_for(algorithm: Algorithm) -> Words:
    """How proofs are told of an algorithm."""
    return _WORDS[algorithm]


def render_prune(result: PruneResult, *, console: Console) -> None:
    """What went, what was proved, and the figures before and after."""
    print_rows(_rows(result), console=console)
    render_comparison(result.comparison, metrics=metrics_named(FIGURES), console=console)
    print_notes(result.change.notes, console=console)


def _rows(result: PruneResult) -> Iterator[tuple[str, Text]]:
    change, removal, proofs = result.change, result.removal, result.proofs
    words = words_for(result.algorithm)
    yield old_row(change)
    yield "to", Text(f"{change.new.vocab_size:,} ids: {len(removal.ids):,} went")
    yield "kept", Text(f"{result.kept:,} whatever the text: {words.always}")
    if removal.needed:
        yield "kept", Text(f"{counted(len(removal.needed), 'selected token')} {words.needed}")
    if removal.fixed:
        yield "kept", Text(f"{counted(len(removal.fixed), 'selected token')}: {words.always} stay")
    yield "proved", Text(f"{counted(proofs.tokens, 'token')} have their bytes, {proofs.made:,} {words.made}")
    yield segmentations_row(proofs.segmentations, algorithm=result.algorithm, changed=words.changed)
    yield from library_rows(proofs.encodings)
    yield from written_rows(change)
