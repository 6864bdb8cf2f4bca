"""How much slower evaluating is than bare encoding: `python tests/benchmarks/compare_speed.py TEXT…`

For each text (a file, read as paragraphs joined to documents of about 20 KB) it trains a byte-level BPE
of 32,768 entries on the first ten megabytes, encodes the whole text with `encode_batch`, and makes one pass
of `evaluate`, in turn, five times after a first one. Both on one thread, then on all.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import tokbench
from tokbench.corpus import Document
from tokbench.evaluation.counting_pass import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 5
DOCUMENT_CHARACTERS = 20_000
TRAINING_CHARACTERS = 10_000_000


def documents_of(path: Path) -> list[Document]:
    text = path.read_text(encoding="utf-8", errors="replace")
    documents, start = [], 0
    while start < len(text):
        stop = text.find("\n", start + DOCUMENT_CHARACTERS) + 1 or len(text)
        documents.append(Document(text[start:stop], "all", f"{path.name}:{len(documents)}"))
        start = stop
    return documents


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(path: Path, *, threads: int) -> str:
    documents = documents_of(path)
    texts = [document.text for document in documents]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    learned = texts[: max(1, TRAINING_CHARACTERS // DOCUMENT_CHARACTERS)]
    tokenizer = tokbench.train(learned, vocab_size=32_768)
    bare: list[float] = []
    evaluated: list[float] = []
    for _ in range(RUNS + 1):
        bare.append(seconds(lambda: tokenizer.encode_batch(texts, threads=threads)))
        evaluated.append(seconds(lambda: evaluate(tokenizer, documents, threads=threads)))
    encoding, evaluating = (megabytes / statistics.median(times[1:]) for times in (bare, evaluated))
    return (
        f"{path.name}, {megabytes:.0f} MB, {threads} thread(s): encoding {encoding:.0f} MB/s, "
        f"evaluating {evaluating:.0f} MB/s, {evaluating / encoding:.2f} of it"
    )


def main() -> None:
    print(
        f"tokbench {tokbench.__version__}, Python {platform.python_version()}, {os.cpu_count()} processors "
        f"({platform.machine()}), {datetime.now(UTC):%Y-%m-%d}"
    )
    for name in sys.argv[1:]:
        for threads in sorted({1, os.cpu_count() or 1}):
            print(measure(Path(name), threads=threads), flush=True)


if __name__ == "__main__":
    main()
