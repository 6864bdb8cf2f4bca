"""A changed vocabulary that is written: what extending, pruning and migrating share."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokbench.files.atomic import write_folder
from tokbench.surgery.model_files import config_patch, model_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.opening.request import Opened
    from tokbench.surgery.id_map import IdMap, InitialRows

MOST_PARTS = 1024
_PROVED_CHARACTERS = 1 << 13
_PROVED_OF_EACH = 1 << 17


@dataclass(frozen=True, slots=True)
class ChangedVocabulary:
    """The tokenizer before and after, and the folder.

    Attributes:
        old: the tokenizer.
        new: the one that was written.
        out: its folder.
        files: name → bytes.
        embedding_rows: that the patch of config.json asks for.
        notes: what its user has to know, a sentence each.
        seconds: phase → wall seconds.
    """

    old: TokenizerInfo
    new: TokenizerInfo
    out: Path
    files: Mapping[str, int]
    embedding_rows: int
    notes: tuple[str, ...]
    seconds: Mapping[str, float]

    def to_json(self, schema: str, **others: Any) -> dict[str, Any]:
        """As `--json` prints it, with what else a command tells."""
        return {
            "schema": schema,
            "name": self.old.name,
            "out": str(self.out),
            "files": dict(self.files),
            "old_vocab_size": self.old.vocab_size,
            "new_vocab_size": self.new.vocab_size,
            "embedding_rows": self.embedding_rows,
            **others,
            "notes": list(self.notes),
            "seconds": dict(self.seconds),
        }


def write_changed(
    opened: Opened,
    tokenizer: Tokenizer,
    files: Mapping[str, bytes],
    id_map: IdMap,
    rows: InitialRows,
    *,
    out: Path,
    pad_multiple: int,
    overwrite: bool,
    notes: Iterable[str],
    seconds: Mapping[str, float],
) -> ChangedVocabulary:
    """Write a changed tokenizer with what its model needs.

    Args:
        opened: the old tokenizer.
        tokenizer: the new one.
        files: of it, by name.
        id_map: from the old ids to the new.
        rows: what the rows of the embedding begin from.
        out: the folder.
        pad_multiple: the embedding that is asked for has a multiple of this many rows.
        overwrite: whether to replace a folder that this wrote.
        notes: what its user has to know.
        seconds: phase → wall seconds.

    Raises:
        StoreError: the folder cannot be written.
    """
    patch = config_patch(opened, tokenizer, id_map, pad_multiple=pad_multiple)
    written = {**files, **model_files(id_map, rows, patch)}
    write_folder(out, written, replace=overwrite)
    return ChangedVocabulary(
        old=opened.tokenizer.info,
        new=tokenizer.info,
        out=out,
        files={name: len(data) for name, data in written.items()},
        embedding_rows=patch["vocab_size"],
        notes=tuple(notes),
        seconds=seconds,
    )


def samples(corpus: Iterable[str]) -> Iterator[str]:
    """Parts of some documents, on which proofs are made: the beginnings of all before anything else."""
    documents = [text[:_PROVED_OF_EACH] for text in islice(corpus, MOST_PARTS)]
    for start in range(0, _PROVED_OF_EACH, _PROVED_CHARACTERS):
        yield from filter(None, (text[start : start + _PROVED_CHARACTERS] for text in documents))


class Clock:
    """Wall seconds by phase."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, phase: str) -> None:
        """End a phase."""
        now = time.perf_counter()
        self.laps[phase], self._since = now - self._since, now
