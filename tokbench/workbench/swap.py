"""Adapt a vocabulary to a text at the same size: frequent tokens replace rare ones."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.core.result_json import token_fields
from tokbench.core.truncation import check_number
from tokbench.errors import ConfigError
from tokbench.opening.request import OpenRequest
from tokbench.surgery.id_map import NONE, IdMap, InitialRows
from tokbench.surgery.model_files import check_place
from tokbench.surgery.pruning import pruning_of
from tokbench.workbench.changed_vocabulary import samples, write_changed
from tokbench.workbench.extend import count_tokens, grow
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.surgery.contents import Algorithm
    from tokbench.surgery.extended_tokenizer import ExtendedTokenizer, ExtensionProofs
    from tokbench.surgery.pruning import PruningProofs
    from tokbench.workbench.changed_vocabulary import ChangedVocabulary
    from tokbench.workbench.extend import Additions

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class SwapResult:
    """A vocabulary whose rare tokens were replaced, after proof and writing.

    Attributes:
        change: the tokenizer before and after, and what was written.
        algorithm: the algorithm, as `surgery.contents` names it.
        added: the bytes of the new tokens, in the order of their ids.
        removed: the bytes of the removed tokens, the rarest first.
        old_tokens: tokens of the text under the old tokenizer.
        new_tokens: tokens of the text under the new tokenizer.
        extension: the proofs of adding tokens, without comparisons with libraries.
        pruning: the proofs of removing tokens, with those of the files that are written.
    """

    change: ChangedVocabulary
    algorithm: Algorithm
    added: tuple[bytes, ...]
    removed: tuple[bytes, ...]
    old_tokens: int
    new_tokens: int
    extension: ExtensionProofs
    pruning: PruningProofs

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return self.change.to_json(
            "tokbench.swap/1",
            algorithm=self.algorithm,
            swapped=len(self.added),
            first_added=[token_fields(piece) for piece in self.added[:_SHOWN]],
            first_removed=[token_fields(piece) for piece in self.removed[:_SHOWN]],
            old_tokens=self.old_tokens,
            new_tokens=self.new_tokens,
            proofs={"extension": self.extension.to_json(), "pruning": self.pruning.to_json()},
        )


def swap(
    name: str | Path,
    out: Path,
    additions: Additions,
    *,
    corpus: Corpus,
    request: OpenRequest | None = None,
    pad_multiple: int = 64,
    overwrite: bool = False,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> SwapResult:
    """Append tokens to a vocabulary and remove others as `prune` does, until the size is the same as before.

    A new token that is among the least useful ones is removed again, so only tokens that pay off are swapped, at most
    as many as requested.

    Args:
        name: the tokenizer, as `-t` takes it.
        out: the folder to write.
        additions: how many tokens to add, and how to learn them.
        corpus: the text to learn from and to count tokens on.
        request: how to open the tokenizer.
        pad_multiple: the number of embedding rows is rounded up to a multiple of this.
        overwrite: whether to replace a folder that an earlier run wrote.
        threads: threads for counting and encoding; None uses every processor.
        seed: seed of the generated texts of the proofs.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: no token would be added.
        ConversionError: the tokenizer cannot be extended or pruned, or a proof fails.
        CorpusError, TextError: the corpus cannot be read or encoded.
        StoreError, ModelFormatError: the tokenizer cannot be opened, or the folder cannot be written.
    """
    check_number("seed", seed, smallest=0, optional=False)
    check_place(out, overwrite=overwrite)
    started = time.perf_counter()
    opened = find_and_open(name, request or OpenRequest(), progress=progress)
    opening = {"opening": time.perf_counter() - started}
    with corpus.in_memory():
        grown = grow(
            opened,
            additions,
            corpus=corpus,
            name=out.name,
            threads=threads,
            seed=seed,
            progress=progress,
            is_final=False,
        )
        made, started = grown.extended, time.perf_counter()
        larger = made.opened.tokenizer
        # The larger tokenizer counts as a rank file, a model or a word list exactly if the old one was one.
        pruning = pruning_of(replace(made.opened, source=opened.source), made.contents)
        removal = pruning.choose(
            pruning.count(corpus, threads=threads),
            selected=(),
            size=sum(old != NONE for old in made.id_map.new_to_old),
            min_count=None,
        )
        closed = IdMap.closing_up(removal.frequencies.keys(), size=larger.info.vocab_size)
        pruned = pruning.prune(closed, name=out.name, texts=samples(corpus), seed=seed, progress=progress)
        old_tokens, new_tokens = count_tokens(corpus, opened.tokenizer, pruned.tokenizer, threads=threads)
    id_map, rows = _map_and_rows(made, closed)
    added = tuple(pruned.tokenizer.token_bytes(id) for id, old in enumerate(id_map.new_to_old) if old == NONE)
    if not added:
        raise ConfigError(
            "no token would be added: each would be rarer on this text than the tokens that it would replace",
            hint="the tokenizer suits the text; --tokens N adds tokens at a larger size",
        )
    change = write_changed(
        opened,
        pruned.tokenizer,
        pruned.files,
        id_map,
        rows,
        out=out,
        pad_multiple=pad_multiple,
        overwrite=overwrite,
        notes=(*_note_on_fewer(len(added), additions), *pruned.notes),
        seconds={**opening, **grown.seconds, "swapping": time.perf_counter() - started},
    )
    return SwapResult(
        change=change,
        algorithm=grown.algorithm,
        added=added,
        removed=tuple(larger.token_bytes(id) for id in removal.ids if made.id_map.new_to_old[id] != NONE),
        old_tokens=old_tokens,
        new_tokens=new_tokens,
        extension=made.proofs,
        pruning=pruned.proofs,
    )


def _note_on_fewer(num_came: int, additions: Additions) -> tuple[str, ...]:
    """Explain why fewer tokens were added than requested, if so."""
    wanted = (additions.num_tokens or 0) + len(additions.special_tokens)
    if num_came >= wanted:
        return ()
    return (f"{num_came:,} of {wanted:,} tokens: others are rarer on this text than what they would replace",)


def _map_and_rows(made: ExtendedTokenizer, closed: IdMap) -> tuple[IdMap, InitialRows]:
    """Return the map from old ids to the final ones, and the initial rows of the final vocabulary."""
    kept, to_old = closed.new_to_old, made.id_map.new_to_old
    old_size = len(made.id_map.old_to_new)
    pairs = ((to_old[id], new) for new, id in enumerate(kept) if to_old[id] != NONE)
    rows = InitialRows(
        old_size,
        tuple(made.rows.ids[id] for id in kept),
        tuple(made.rows.weights[id] for id in kept),
    )
    return IdMap.of_pairs(pairs, sizes=(old_size, len(kept))), rows
