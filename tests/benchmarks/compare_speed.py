"""Slowdown of evaluation compared to bare encoding: `python tests/benchmarks/compare_speed.py TEXT…`

For each text (a file, cut into documents of about 20 KB) it trains a byte-level BPE of 32,768 tokens on the first ten
megabytes, encodes the whole text with `encode_batch`, and makes one pass of `evaluate`, in turns, five rounds after
a first one, on one thread and then on all threads. Medians, in millions of bytes a second.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from speed_table import DOCUMENT_CHARACTERS, documents_of, heading, speed_table, timed

import tokbench
from tokbench.corpus import Document
from tokbench.distributed.engines.open import usable_processors
from tokbench.evaluation.counting_pass import evaluate

ROUNDS = 5
TRAINING_DOCUMENTS = 10_000_000 // DOCUMENT_CHARACTERS
VOCAB_SIZE = 32_768


def table(path: Path, *, megabytes: float) -> str:
    texts = documents_of(path, megabytes=megabytes)
    documents = [Document(text, "all", f"{path.name}:{number}") for number, text in enumerate(texts)]
    size = sum(len(text.encode()) for text in texts) / 1e6
    tokenizer = tokbench.train(texts[:TRAINING_DOCUMENTS], vocab_size=VOCAB_SIZE)
    rows: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for number in range(ROUNDS + 1):
        for threads in sorted({1, usable_processors()}):
            encoding, _ = timed(lambda threads=threads: tokenizer.encode_batch(texts, threads=threads))  # type: ignore[misc]
            evaluating, _ = timed(lambda threads=threads: evaluate(tokenizer, documents, threads=threads))  # type: ignore[misc]
            if number:
                seconds = {"encoding": encoding, "evaluating": evaluating}
                rows[f"{threads} thread{'s' * (threads > 1)}"].append(seconds)
    title = f"{path.name}, {size:.0f} MB, {VOCAB_SIZE:,} tokens, MB/s"
    return speed_table(title, ("encoding", "evaluating"), rows, megabytes=size)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--megabytes", type=float, default=0, help="of each text; by default all of it")
    arguments = parser.parse_args()
    print(f"{heading()}\n")
    for path in arguments.texts:
        print(table(path, megabytes=arguments.megabytes), flush=True)


if __name__ == "__main__":
    main()
