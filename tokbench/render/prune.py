"""What pruning did, for the terminal: how many tokens went, what was proved, and what it costs on text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.metrics.catalogue import metrics_named
from tokbench.render.comparison.terminal import render_comparison
from tokbench.render.glyphs import visible
from tokbench.render.terminal import print_notes, print_rows
from tokbench.workbench.prune import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tokbench.surgery.proofs import Algorithm
    from tokbench.workbench.prune import PruneResult


class _Words(NamedTuple):
    """How proofs are told of an algorithm."""

    needed: str
    always: str
    made: str
    unit: str
    changed: str


_WORDS: dict[Algorithm, _Words] = {
    "bpe": _Words(
        needed="that merges still need",
        always="bytes and added tokens",
        made="their merges",
        unit="pre-token",
        changed="as the surviving merges say",
    ),
    "character_bpe": _Words(
        needed="that merges still need",
        always="single characters, bytes, special and added tokens",
        made="what they are merged of",
        unit="word",
        changed="with other tokens, and the same text",
    ),
    "wordpiece": _Words(
        needed="without which words would become unknown",
        always="single characters, special and added tokens",
        made="as pieces of words",
        unit="word",
        changed="with other tokens, and the same text",
    ),
    "unigram": _Words(
        needed="that no others spell",
        always="single characters, bytes, special and added tokens",
        made="their scores",
        unit="word",
        changed="with other tokens, and the same text",
    ),
}


def render_prune(result: PruneResult, *, console: Console) -> None:
    """What went, what was proved, and the figures before and after."""
    print_rows(_rows(result), console=console)
    render_comparison(result.comparison, metrics=metrics_named(FIGURES), console=console)
    print_notes(result.notes, console=console)


def _rows(result: PruneResult) -> Iterator[tuple[str, Text]]:
    removal, proofs, words = result.removal, result.proofs, _WORDS[result.algorithm]
    yield "from", Text(f"{visible(result.old.name)} ({result.old.vocab_size:,} ids)")
    yield (
        "to",
        Text(
            f"{result.new.vocab_size:,} tokens: {len(removal.ids):,} went; {result.rows:,} rows for the model"
        ),
    )
    yield "kept", Text(f"{result.kept:,} whatever the text: {words.always}")
    if removal.needed:
        yield "kept", Text(f"{counted(len(removal.needed), 'selected token')} {words.needed}")
    if removal.fixed:
        yield "kept", Text(f"{counted(len(removal.fixed), 'selected token')}: {words.always} stay")
    yield "proved", Text(f"{counted(proofs.tokens, 'token')} have their bytes, {proofs.made:,} {words.made}")
    found = proofs.segmentations
    yield (
        "proved",
        Text(
            f"{counted(found.texts, 'part')} of the corpus: {counted(found.unchanged, f'distinct {words.unit}')} "
            f"as before, {found.changed:,} {words.changed}"
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
    yield "in", Text(visible(str(result.out)), style="bold")
    yield "time", Text(", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in result.seconds.items()))
