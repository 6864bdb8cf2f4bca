"""Adapt a byte-level BPE to a text at the same size: frequent tokens come, and rare ones go for them."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.core.result_json import token_fields
from tokbench.errors import ConfigError
from tokbench.files.atomic_folder import write_folder
from tokbench.surgery.bpe_pruning import BpePruning
from tokbench.surgery.id_map import NONE, IdMap
from tokbench.surgery.initial_rows import InitialRows
from tokbench.surgery.model_files import config_patch, model_files
from tokbench.surgery.output_folder import INIT_NAME, MAP_NAME, check_place
from tokbench.surgery.pruned_tokenizer import document_of
from tokbench.surgery.token_usage import count_usage
from tokbench.workbench.extend import extend

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.core.interfaces import TokenizerInfo
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.opening.request import OpenRequest
    from tokbench.surgery.extended_tokenizer import ExtensionProofs
    from tokbench.surgery.pruned_tokenizer import PruningProofs
    from tokbench.workbench.extend import Additions

_PROVED_DOCUMENTS = 1024
_PROVED_CHARACTERS = 8192
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class SwapResult:
    """A vocabulary whose rare tokens have made room for others, proved and written.

    Attributes:
        old: the tokenizer.
        new: the one that was written.
        out: its folder.
        files: name → bytes.
        rows: of the embedding that the patch of config.json asks for.
        came: the bytes of the new tokens, in the order of their ids.
        went: those of the old tokens that are gone, the rarest first.
        old_tokens: of the text under the old tokenizer.
        new_tokens: of it under the new one.
        extension: what was proved while tokens came.
        pruning: what was proved while tokens went.
        notes: what its user has to know, a sentence each.
        seconds: phase → wall seconds.
    """

    old: TokenizerInfo
    new: TokenizerInfo
    out: Path
    files: Mapping[str, int]
    rows: int
    came: tuple[bytes, ...]
    went: tuple[bytes, ...]
    old_tokens: int
    new_tokens: int
    extension: ExtensionProofs
    pruning: PruningProofs
    notes: tuple[str, ...]
    seconds: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "schema": "tokbench.swap/1",
            "name": self.old.name,
            "out": str(self.out),
            "files": dict(self.files),
            "old_vocab_size": self.old.vocab_size,
            "new_vocab_size": self.new.vocab_size,
            "embedding_rows": self.rows,
            "swapped": len(self.came),
            "first_came": [token_fields(piece) for piece in self.came[:_SHOWN]],
            "first_went": [token_fields(piece) for piece in self.went[:_SHOWN]],
            "old_tokens": self.old_tokens,
            "new_tokens": self.new_tokens,
            "proofs": {"extension": self.extension.to_json(), "pruning": self.pruning.to_json()},
            "notes": list(self.notes),
            "seconds": dict(self.seconds),
        }


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
    """Let tokens come behind those of a byte-level BPE, and the rarest leaves go until the size is what it was.

    A token that came and is among the rarest goes again: as many are swapped as are worth it, and at most as many as
    were asked for.

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
        progress: told how far it is.

    Raises:
        ConfigError: no token would come.
        ConversionError: it is no byte-level BPE, or a proof does not hold.
        CorpusError, TextError: the corpus cannot be read or encoded.
        StoreError, ModelFormatError: the tokenizer cannot be opened, or the folder not written.
    """
    from tokbench.opening.open import open_path
    from tokbench.opening.request import OpenRequest
    from tokbench.workbench.open import find_and_open

    check_place(out, overwrite=overwrite)
    opened = find_and_open(name, request or OpenRequest(), progress=progress)
    with tempfile.TemporaryDirectory(prefix="tokbench-") as folder, corpus.in_memory():
        trial = Path(folder) / out.name
        grown = extend(
            name,
            trial,
            additions,
            corpus=corpus,
            request=request,
            pad_multiple=pad_multiple,
            threads=threads,
            seed=seed,
            progress=progress,
        )
        larger = open_path(trial, OpenRequest())
        came = _Grown.read(trial)
        started = time.perf_counter()
        # It is as good a rank file as the old one was, if that was one.
        document = document_of(larger)
        pruning = BpePruning(replace(larger, source=opened.source), document)
        usage = pruning.count(corpus, threads=threads)
        removal = pruning.choose(usage, selected=(), size=came.old_tokens, min_count=None)
        closed = IdMap.closing_up(removal.frequencies.keys(), size=larger.tokenizer.info.vocab_size)
        pruned = pruning.prune(closed, name=out.name, texts=_samples(corpus), seed=seed, progress=progress)
        old_count, new_count = (
            sum(count_usage(each, corpus, threads=threads).frequencies.values())
            for each in (opened.tokenizer, pruned.tokenizer)
        )
        went = tuple(larger.tokenizer.token_bytes(id) for id in removal.ids if came.is_old(id))
    id_map, rows = came.after(closed)
    new_ids = [id for id, old in enumerate(id_map.new_to_old) if old == NONE]
    arrived = tuple(pruned.tokenizer.token_bytes(id) for id in new_ids)
    if not arrived:
        raise ConfigError(
            "no token would come: each new one would be rarer on this text than those that it would replace",
            hint="the tokenizer suits the text; --tokens N adds tokens at a larger size",
        )
    patch = config_patch(opened, pruned.tokenizer, id_map, pad_multiple=pad_multiple)
    files = {**pruned.files, **model_files(id_map, rows, patch)}
    write_folder(out, files, replace=overwrite)
    return SwapResult(
        old=opened.tokenizer.info,
        new=pruned.tokenizer.info,
        out=out,
        files={name: len(data) for name, data in files.items()},
        rows=patch["vocab_size"],
        came=arrived,
        went=went,
        old_tokens=old_count,
        new_tokens=new_count,
        extension=grown.proofs,
        pruning=pruned.proofs,
        notes=(*_fewer(len(arrived), additions), *pruned.notes),
        seconds={**grown.seconds, "swapping": time.perf_counter() - started},
    )


def _fewer(num_came: int, additions: Additions) -> tuple[str, ...]:
    """Why fewer tokens came than were asked for, where they did."""
    wanted = (additions.num_tokens or 0) + len(additions.special_tokens)
    if num_came >= wanted:
        return ()
    return (f"{num_came:,} of {wanted:,} tokens: others are rarer on this text than what they would replace",)


@dataclass(frozen=True, slots=True)
class _Grown:
    """What `extend` wrote for a model: ids of the larger vocabulary.

    Attributes:
        to_old: for each id the old one, or `NONE`.
        old_size: how many old ids there are.
        rows: what each row begins from.
    """

    to_old: tuple[int, ...]
    old_size: int
    rows: InitialRows

    @classmethod
    def read(cls, folder: Path) -> _Grown:
        """The same of a folder that `extend` has just written."""
        ids = json.loads((folder / MAP_NAME).read_bytes())
        rows = json.loads((folder / INIT_NAME).read_bytes())
        begun = InitialRows(
            rows["old_size"], tuple(map(tuple, rows["ids"])), tuple(map(tuple, rows["weights"]))
        )
        return cls(tuple(ids["new_to_old"]), ids["old_size"], begun)

    @property
    def old_tokens(self) -> int:
        """How many tokens there were, without gaps."""
        return sum(old != NONE for old in self.to_old)

    def is_old(self, id: int) -> bool:
        """Whether an id was there before."""
        return self.to_old[id] != NONE

    def after(self, closed: IdMap) -> tuple[IdMap, InitialRows]:
        """From the old ids to what is left, and what its rows begin from."""
        kept = closed.new_to_old
        pairs = ((self.to_old[id], new) for new, id in enumerate(kept) if self.is_old(id))
        rows = InitialRows(
            self.old_size,
            tuple(self.rows.ids[id] for id in kept),
            tuple(self.rows.weights[id] for id in kept),
        )
        return IdMap.of_pairs(pairs, sizes=(self.old_size, len(kept))), rows


def _samples(corpus: Corpus) -> Iterator[str]:
    """The beginnings of some documents."""
    return (text[:_PROVED_CHARACTERS] for text in islice(corpus, _PROVED_DOCUMENTS))
