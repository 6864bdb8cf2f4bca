"""Adapt a vocabulary to a text at the same size: frequent tokens replace rare ones."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.core.result_json import token_fields
from tokbench.errors import ConfigError
from tokbench.surgery.id_map import NONE, IdMap, InitialRows
from tokbench.surgery.model_files import check_place
from tokbench.surgery.pruning import pruning_of
from tokbench.workbench.changed_vocabulary import samples, write_changed
from tokbench.workbench.extend import count_tokens, grow

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.opening.request import OpenRequest
    from tokbench.surgery.contents import Algorithm
    from tokbench.surgery.extended_tokenizer import ExtendedTokenizer, ExtensionProofs
    from tokbench.surgery.pruned_tokenizer import PruningProofs
    from tokbench.workbench.changed_vocabulary import ChangedVocabulary
    from tokbench.workbench.extend import Additions

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class SwapResult:
    """A vocabulary whose rare tokens were replaced, proved and written.

    Attributes:
        change: the tokenizer before and after, and what was written.
        algorithm: what the tokenizer is, as `surgery.contents` calls it.
        came: the bytes of the new tokens, in the order of their ids.
        went: those of the old tokens that are gone, the rarest first.
        old_tokens: of the text under the old tokenizer.
        new_tokens: of it under the new one.
        extension: what was proved while tokens came.
        pruning: what was proved while tokens went.
    """

    change: ChangedVocabulary
    algorithm: Algorithm
    came: tuple[bytes, ...]
    went: tuple[bytes, ...]
    old_tokens: int
    new_tokens: int
    extension: ExtensionProofs
    pruning: PruningProofs

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return self.change.to_json(
            "tokbench.swap/1",
            algorithm=self.algorithm,
            swapped=len(self.came),
            first_came=[token_fields(piece) for piece in self.came[:_SHOWN]],
            first_went=[token_fields(piece) for piece in self.went[:_SHOWN]],
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
    """Append tokens to a vocabulary, and remove others as `prune` does, until the size is what it was.

    A token that came and is among those that are worth least goes again: as many are swapped as are worth it, and at
    most as many as were asked for.

    Args:
        name: what `-t` takes.
        out: the folder to write.
        additions: how many tokens come, and how they are learned.
        corpus: what they are learned from, and tokens are counted on.
        request: how the tokenizer is opened.
        pad_multiple: the embedding that is asked for has a multiple of this many rows.
        overwrite: whether to replace a folder that this wrote.
        threads: for counting and encoding; None takes every processor.
        seed: draws the generated texts of the proofs.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: no token would be added.
        ConversionError: nothing adds or removes its tokens, or a proof does not hold.
        CorpusError, TextError: the corpus cannot be read or encoded.
        StoreError, ModelFormatError: the tokenizer cannot be opened, or the folder not written.
    """
    from tokbench.opening.request import OpenRequest
    from tokbench.workbench.open import find_and_open

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
        )
        made, started = grown.made, time.perf_counter()
        larger = made.opened.tokenizer
        # It is as good a rank file, a model or a list of words as the old one was, if that was one.
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
    id_map, rows = _after(made, closed)
    came = tuple(pruned.tokenizer.token_bytes(id) for id, old in enumerate(id_map.new_to_old) if old == NONE)
    if not came:
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
        notes=(*_fewer(len(came), additions), *pruned.notes),
        seconds={**opening, **grown.seconds, "swapping": time.perf_counter() - started},
    )
    return SwapResult(
        change=change,
        algorithm=grown.algorithm,
        came=came,
        went=tuple(larger.token_bytes(id) for id in removal.ids if made.id_map.new_to_old[id] != NONE),
        old_tokens=old_tokens,
        new_tokens=new_tokens,
        extension=made.proofs,
        pruning=pruned.proofs,
    )


def _fewer(num_came: int, additions: Additions) -> tuple[str, ...]:
    """Why fewer tokens came than were asked for, where they did."""
    wanted = (additions.num_tokens or 0) + len(additions.special_tokens)
    if num_came >= wanted:
        return ()
    return (f"{num_came:,} of {wanted:,} tokens: others are rarer on this text than what they would replace",)


def _after(made: ExtendedTokenizer, closed: IdMap) -> tuple[IdMap, InitialRows]:
    """From the old ids to what is left of the larger vocabulary, and what its rows begin from."""
    kept, to_old = closed.new_to_old, made.id_map.new_to_old
    old_size = len(made.id_map.old_to_new)
    pairs = ((to_old[id], new) for new, id in enumerate(kept) if to_old[id] != NONE)
    rows = InitialRows(
        old_size,
        tuple(made.rows.ids[id] for id in kept),
        tuple(made.rows.weights[id] for id in kept),
    )
    return IdMap.of_pairs(pairs, sizes=(old_size, len(kept))), rows
