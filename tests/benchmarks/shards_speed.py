"""Speed of writing files as shards, compared to encoding alone: `python tests/benchmarks/shards_speed.py TEXT…`

Each text is cut into documents of about 20 KB, which are written to one file of each kind: lines of JSON, and the same
compressed with zstd and with gzip. In turns, three rounds, each with a newly opened tokenizer: the documents are read
and discarded ("reading"), encoded in one batch on all threads from memory ("encoding"), and written as shards, with
offsets and checksums ("shards"). Their ids are compared before a time counts; medians, in millions of bytes of text
a second. No run can be faster than the slower of reading and encoding, and if both keep all processors busy, none
reaches it.

The tokenizer has 32,768 entries, learned from the first ten megabytes of the first text.
"""

from __future__ import annotations

import argparse
import gzip
import os
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import orjson
import zstandard
from speed_table import documents_of, heading, speed_table, timed

import tokbench

if TYPE_CHECKING:
    from collections.abc import Callable

TRAINING_CHARACTERS = 10_000_000
VOCAB_SIZE = 32_768
ROUNDS = 3
THREADS = os.cpu_count() or 1
COLUMNS = ("reading", "encoding", "shards")
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "jsonl": bytes,
    "jsonl.zst": zstandard.ZstdCompressor().compress,
    "jsonl.gz": lambda data: gzip.compress(data, 6),
}


def measured(model: Path, file: Path, texts: list[str], shards: Path) -> dict[str, float]:
    """Return seconds by column; raise ValueError if the shards have different ids."""
    seconds = {}
    seconds["reading"], _ = timed(lambda: sum(1 for _ in tokbench.open_corpus(file)))
    tokenizer = tokbench.load(model)
    seconds["encoding"], expected = timed(lambda: tokenizer.encode_batch(texts, threads=THREADS))
    tokenizer = tokbench.load(model)
    seconds["shards"], written = timed(
        lambda: tokbench.write_shards(tokenizer, tokbench.open_corpus(file), shards, overwrite=True)
    )
    if not np.array_equal(np.concatenate(list(written.arrays())), expected.ids):
        raise ValueError(f"{file.name}: the ids are others")
    return seconds


def table(path: Path, folder: Path, model: Path) -> str:
    texts = documents_of(path)
    size = sum(len(text.encode()) for text in texts) / 1e6
    lines = b"".join(orjson.dumps({"text": text}) + b"\n" for text in texts)
    files = {kind: folder / f"{path.stem}.{kind}" for kind in PACKED}
    for kind, file in files.items():
        file.write_bytes(PACKED[kind](lines))
    seconds: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for _ in range(ROUNDS):
        for kind, file in files.items():
            seconds[kind].append(measured(model, file, texts, folder / "shards"))
    title = f"{path.name}, {size:.0f} MB, MB/s, {THREADS} threads"
    return speed_table(title, COLUMNS, seconds, megabytes=size)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    arguments = parser.parse_args()
    print(f"{heading('zstandard')}\n")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model")
        with arguments.texts[0].open(encoding="utf-8", errors="ignore") as file:
            start = file.read(TRAINING_CHARACTERS)
        tokbench.train([start], backend="bpe", vocab_size=VOCAB_SIZE, pattern="gpt4").save(model)
        for path in arguments.texts:
            print(table(path, Path(folder), model), flush=True)


if __name__ == "__main__":
    main()
