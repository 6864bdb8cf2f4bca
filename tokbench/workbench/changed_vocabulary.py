"""Writing a changed vocabulary: the code that extending, pruning and migrating share."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokbench.files.atomic import write_folder
from tokbench.surgery.model_config import config_patch, embedding_rows
from tokbench.surgery.model_files import model_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.opening.request import Opened
    from tokbench.surgery.id_map import IdMap, InitialRows

MOST_PARTS = 1024
_EXCERPT_CHARACTERS = 1 << 13
_MOST_CHARACTERS_PER_DOCUMENT = 1 << 17


@dataclass(frozen=True, slots=True)
class ChangedVocabulary:
    """The old and the new tokenizer, and the folder that was written.

    Attributes:
        old: the original tokenizer.
        new: the tokenizer that was written.
        out: the folder.
        files: file name → size in bytes.
        embedding_rows: number of embedding rows that the patch of config.json sets.
        notes: what users of the new tokenizer have to know, a sentence each.
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
        """Return the JSON document that `--json` prints, with the fields that a command adds."""
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
    """Write a changed tokenizer with the files that its model needs.

    Args:
        opened: the old tokenizer.
        tokenizer: the new tokenizer.
        files: file name → contents of the new tokenizer's files.
        id_map: map from the old ids to the new ones.
        rows: how each new row of the embedding is initialized.
        out: the folder to write.
        pad_multiple: the number of embedding rows is rounded up to a multiple of this.
        overwrite: whether to replace a folder that an earlier run wrote.
        notes: what users of the new tokenizer have to know.
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
        embedding_rows=embedding_rows(patch),
        notes=tuple(notes),
        seconds=seconds,
    )


def samples(corpus: Iterable[str]) -> Iterator[str]:
    """Yield excerpts of documents to prove a change on: the beginning of each document, then their next parts."""
    documents = [text[:_MOST_CHARACTERS_PER_DOCUMENT] for text in islice(corpus, MOST_PARTS)]
    for start in range(0, _MOST_CHARACTERS_PER_DOCUMENT, _EXCERPT_CHARACTERS):
        yield from filter(None, (text[start : start + _EXCERPT_CHARACTERS] for text in documents))


class Clock:
    """A stopwatch that records the wall seconds of each phase."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, phase: str) -> None:
        """End a phase and record its duration."""
        now = time.perf_counter()
        self.laps[phase], self._since = now - self._since, now
