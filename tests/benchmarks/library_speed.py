"""How fast what runs on a library is encoded, against the library: `python tests/benchmarks/library_speed.py TEXT…`

WordPiece, SentencePiece BPE and Unigram of 8,000 entries are trained on the first two megabytes of each text.
Then documents of about 20 KB are encoded in a batch on all threads: by the library itself, by tokbench with
nothing remembered ("first pass"), and twice more ("third pass"), in turns, five rounds, each with tokenizers
that are opened anew. The ids are compared before a time counts; medians, in millions of bytes a second.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from speed_table import DOCUMENT_CHARACTERS, documents_of, heading, speed_table, timed

import tokbench

if TYPE_CHECKING:
    from collections.abc import Callable

    Encode = Callable[[list[str]], Any]

TRAINING_DOCUMENTS = 2_000_000 // DOCUMENT_CHARACTERS
VOCAB_SIZE = 8_000
ROUNDS = 5
THREADS = os.cpu_count() or 1
COLUMNS = ("library", "first pass", "third pass")


def wordpiece_library(folder: Path) -> Encode:
    from tokenizers import Tokenizer

    peer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    peer.encode_special_tokens = True  # the text of one is text, as for tokbench
    return lambda texts: [
        encoding.ids for encoding in peer.encode_batch_fast(texts, add_special_tokens=False)
    ]


def sentencepiece_library(folder: Path) -> Encode:
    from sentencepiece import SentencePieceProcessor

    peer = SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    return lambda texts: peer.encode(texts, num_threads=THREADS)


LIBRARIES: dict[str, Callable[[Path], Encode]] = {
    "wordpiece": wordpiece_library,
    "sentencepiece": sentencepiece_library,
    "unigram": sentencepiece_library,
}


def measured(folder: Path, library: Encode, texts: list[str]) -> dict[str, float]:
    """Seconds by column; raises where the ids are others."""
    tokenizer = tokbench.load(folder)
    seconds = {"library": 0.0}
    seconds["library"], expected = timed(lambda: library(texts))
    for name in ("first pass", "second pass", "third pass"):
        seconds[name], encoded = timed(lambda: tokenizer.encode_batch(texts, threads=THREADS))
    if not np.array_equal(encoded.ids, np.concatenate([np.asarray(ids, np.uint32) for ids in expected])):
        raise ValueError(f"{folder.name}: the ids are others")
    return seconds


def table(path: Path, folder: Path, *, megabytes: float) -> str:
    texts = documents_of(path, megabytes=megabytes)
    size = sum(len(text.encode()) for text in texts) / 1e6
    for backend in LIBRARIES:
        trained = tokbench.train(texts[:TRAINING_DOCUMENTS], backend=backend, vocab_size=VOCAB_SIZE)
        trained.save(folder / backend, overwrite=True)
    seconds: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for _ in range(ROUNDS):
        for backend, make in LIBRARIES.items():
            seconds[backend].append(measured(folder / backend, make(folder / backend), texts))
    title = f"{path.name}, {size:.0f} MB, {VOCAB_SIZE:,} tokens, MB/s on {THREADS} threads"
    return speed_table(title, COLUMNS, seconds, megabytes=size, digits=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--megabytes", type=float, default=5, help="of each text")
    arguments = parser.parse_args()
    print(f"{heading('tokenizers', 'sentencepiece')}\n")
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.texts:
            print(table(path, Path(folder), megabytes=arguments.megabytes), flush=True)


if __name__ == "__main__":
    main()
