"""Runs that write shards in parts."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tokbench
from support.engines import HereEngine
from support.folders import files_of
from support.sharded import TEXTS
from tokbench.opening.request import OpenRequest
from tokbench.workbench.open import NamedTokenizer
from tokbench.workbench.shard_parts import write_shard_parts

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.distributed.tasks import Engine


@dataclass
class Case:
    """A corpus of several files, a saved tokenizer, and a folder to write to."""

    folder: Path
    named: NamedTokenizer

    @property
    def files(self) -> list[Path]:
        return sorted((self.folder / "corpus").iterdir())

    def corpus(self) -> tokbench.Corpus:
        return tokbench.open_corpus(self.folder / "corpus", documents="lines")

    def write(
        self, out: str | Path = "out", *, engine: Engine | None = None, part_bytes: int = 1, **options: Any
    ) -> Any:
        place = out if isinstance(out, str) and "://" in out else self.folder / out
        return write_shard_parts(
            self.named,
            tokbench.load(self.named.name),
            self.corpus(),
            place,
            engine=engine or HereEngine(),
            part_bytes=part_bytes,
            **options,
        )

    def bytes_of(self, out: str) -> dict[str, bytes]:
        return files_of(self.folder / out)


def put(path: Path, data: bytes) -> None:
    """Write a compressed file, which is never split into parts."""
    path.write_bytes(gzip.compress(data, mtime=0))


def case_in(folder: Path, saved: str) -> Case:
    """Create a corpus of six files, one of them without text; use the tokenizer saved in a folder."""
    (folder / "corpus").mkdir()
    for number in range(5):
        text = "\n".join(f"{line} {number}" for line in TEXTS[number:]) + "\n"
        put(folder / "corpus" / f"{number}.txt.gz", text.encode())
    put(folder / "corpus" / "2-blank.txt.gz", b"\n\n")
    return Case(folder, NamedTokenizer(saved, OpenRequest()))
