"""Encoding speed of any tokenizer: `python tests/benchmarks/encoding_speed.py --tokenizer FILE TEXT…`

Each text is cut into documents of about 20 KB. tokbench and each library that runs the tokenizer encode them on one
thread with empty caches ("first pass") and twice more ("third pass"), then in a batch on all threads with empty caches
("first batch") and twice more ("batch"). For passes the faster of two ways counts: one call for all documents, or a
call for each. The libraries, and how they open a tokenizer, are those of `tokbench bench --peers`.
All take turns in rounds, each with newly opened tokenizers; medians, in millions of bytes of text a second.
Ratios are medians over the rounds, relative to the fastest library in each column. Before each timing, memory is
written to and freed: a virtual machine gets memory from its host at the first touch, and returns it when it is
unused.

The ids are compared before anything is timed; documents that differ are counted. A library that caches little and
is slow encodes only the beginning of the text.

`--into docs/BENCHMARKS.md` writes the tables into a page, in place of those of the same tokenizer.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from speed_table import documents_of, heading, timed

import tokbench
from tokbench.bench.entrants import Subject, entrant_of, peer_of
from tokbench.bench.peers import PEERS, peers_named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.bench.entrants import Entrant
    from tokbench.bench.runner import Runner

THREADS = os.cpu_count() or 1
TOUCHED_BYTES = 1 << 29
COLUMNS = ("first pass", "third pass", "first batch", "batch")
OURS = "tokbench"
SLOW = {"tiktoken": 20.0, "tokenizers": 2.0, "sentencepiece": 4.0}
"""Megabytes of text that suffice to time a slow library."""
TRAINING_MEGABYTES = 10


class Row(NamedTuple):
    """The measurements of one library: the number of differing documents, and MB/s by column for each round."""

    name: str
    num_different: int
    rates: list[dict[str, float]]


def passes_of(entrant: Entrant) -> list[Callable[[list[str]], object]]:
    """Return the ways to encode documents on one thread, in one call and one by one, each with its own tokenizer."""
    runner, other = entrant.open(), entrant.open()
    ways: list[Callable[[list[str]], object]] = []
    if runner.encode_batch is not None and runner.can_batch(1, processors=THREADS):
        ways.append(partial(_batch, runner.encode_batch, 1))
    if entrant.peer is not None or not ways:
        ways.append(lambda texts: [other.encode(text) for text in texts])
    return ways


def _batch(encode_batch: Callable[[list[str], int], object], threads: int, texts: list[str]) -> object:
    return encode_batch(texts, threads)


def seconds(work: Callable[[], object]) -> float:
    np.ones(TOUCHED_BYTES, np.uint8)
    return timed(work)[0]


def rates_of(entrant: Entrant, texts: list[str]) -> dict[str, float]:
    """Return MB/s by column with newly opened tokenizers; for passes, that of the fastest way."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    for encode in passes_of(entrant):
        for name in ("first pass", "second pass", "third pass"):
            times[name].append(seconds(partial(encode, texts)))
    runner = entrant.open()
    if runner.encode_batch is not None and runner.can_batch(THREADS, processors=THREADS):
        for name in ("first batch", "second batch", "batch"):
            times[name].append(seconds(partial(_batch, runner.encode_batch, THREADS, texts)))
    size = sum(len(text.encode()) for text in texts) / 1e6
    return {name: size / min(taken) for name, taken in times.items() if name in COLUMNS}


def num_different(runner: Runner, expected: Sequence[Sequence[int]], texts: Sequence[str]) -> int:
    """Count the documents whose ids differ in one call or the other."""
    different = {
        number
        for number, (text, ids) in enumerate(zip(texts, expected, strict=True))
        if not np.array_equal(runner.encode(text), ids)
    }
    if runner.encode_batch is not None:
        batch = runner.batch_ids(runner.encode_batch(list(texts), THREADS))
        different |= {
            number
            for number, (found, ids) in enumerate(zip(batch, expected, strict=True))
            if not np.array_equal(found, ids)
        }
    return len(different)


def entrants_of(path: Path, pattern: str | None, folder: Path, peers: str) -> list[Entrant]:
    """Return tokbench and each library that runs the tokenizer; print why the others do not."""
    options = {"path": str(path)} | ({} if pattern is None else {"pattern": pattern})
    subject = Subject(OURS, options)
    ours, tokenizer = entrant_of(subject)
    found = [ours]
    for peer in peers_named(peers):
        opened = peer_of(subject, tokenizer, peer, folder / peer.name)
        if isinstance(opened, str):
            print(f"{peer.name} is left out: {opened}", file=sys.stderr)
        else:
            found.append(opened)
    return found


def rows_of(entrants: Sequence[Entrant], texts: list[str], *, rounds: int) -> list[Row]:
    """Compare the ids of all entrants with tokbench's, and time the entrants in turns."""
    expected = [entrants[0].runner.encode(text) for text in texts]
    parts: dict[str, list[str]] = {}
    differences: dict[str, int] = {}
    for entrant in entrants:
        megabytes = SLOW.get(entrant.peer or OURS)
        parts[entrant.name] = texts if megabytes is None else texts[: _num_documents(texts, megabytes)]
        part = parts[entrant.name]
        differences[entrant.name] = num_different(entrant.open(), expected[: len(part)], part)
    rates: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for _ in range(rounds):
        for entrant in entrants:
            rates[entrant.name].append(rates_of(entrant, parts[entrant.name]))
    return [Row(entrant.peer or OURS, differences[entrant.name], rates[entrant.name]) for entrant in entrants]


def _num_documents(texts: Sequence[str], megabytes: float) -> int:
    ends = np.cumsum([len(text.encode()) for text in texts])
    return int(np.searchsorted(ends, megabytes * 1e6)) + 1


def table_of(rows: Sequence[Row], title: str) -> str:
    """Return a Markdown table of medians, with the ratio to the fastest library in the last row."""
    lines = [f"| {title} | {' | '.join(COLUMNS)} |", "|---|" + "---:|" * len(COLUMNS)]
    for row in rows:
        differs = f" ({row.num_different} documents differ)" if row.num_different else ""
        lines.append(f"| {row.name}{differs} | {' | '.join(_cell(row, column) for column in COLUMNS)} |")
    if len(rows) > 1:
        ratios = " | ".join(_ratio(rows, column) for column in COLUMNS)
        lines.append(f"| {OURS} ÷ the fastest other | {ratios} |")
    return "\n".join(lines) + "\n"


def _cell(row: Row, column: str) -> str:
    found = [rates[column] for rates in row.rates if column in rates]
    if not found:
        return "–"
    median = statistics.median(found)
    return f"{median:,.0f}" if median >= 1000 else f"{median:.3g}"


def _ratio(rows: Sequence[Row], column: str) -> str:
    ratios = []
    for number, rates in enumerate(rows[0].rates):
        others = [row.rates[number][column] for row in rows[1:] if column in row.rates[number]]
        if others:
            ratios.append(rates[column] / max(others))
    return f"**{statistics.median(ratios):.2f}**" if ratios else "–"


def learned_tokenizer(text: Path, pattern: str | None, folder: Path) -> Path:
    """Train a byte-level BPE of 32,768 entries on the beginning of a text."""
    path = folder / "learned"
    documents = documents_of(text, megabytes=TRAINING_MEGABYTES)
    tokbench.train(documents, vocab_size=32_768, pattern=pattern or "gpt4").save(path)
    return path


def written_into(page: Path, name: str, block: str) -> None:
    """Replace the block of this name, which must exist, in a page."""
    text = page.read_text(encoding="utf-8")
    marked = re.compile(rf"(<!-- encoding: {re.escape(name)} -->\n).*?(<!-- end -->\n)", re.DOTALL)
    replaced, count = marked.subn(lambda found: f"{found[1]}{block}{found[2]}", text)
    if count != 1:
        raise SystemExit(f"{page} has {count} places that begin with <!-- encoding: {name} -->")
    page.write_text(replaced, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--tokenizer", type=Path, help="any file or folder; by default a BPE is learned")
    parser.add_argument("--name", help="what it is called; by default as its file")
    parser.add_argument("--pattern", help="of a rank file whose content does not tell, or of what is learned")
    parser.add_argument("--megabytes", type=float, default=0, help="of each text; by default all of it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default="installed", help="as of tokbench bench")
    parser.add_argument("--into", type=Path, help="a page to write the tables into")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path = arguments.tokenizer or learned_tokenizer(arguments.texts[0], arguments.pattern, folder)
        name = arguments.name or path.stem
        pattern = arguments.pattern if arguments.tokenizer else None
        entrants = entrants_of(path, pattern, folder, arguments.peers)
        peers = [entrant.peer for entrant in entrants if entrant.peer in PEERS]
        num_tokens = f"{entrants[0].vocab_size:,} tokens"
        tables = [
            f"{name}, {num_tokens}. {heading(*filter(None, peers))}; MB/s, {THREADS} threads in batches\n"
        ]
        for text in arguments.texts:
            texts = documents_of(text, megabytes=arguments.megabytes)
            size = sum(len(one.encode()) for one in texts) / 1e6
            rows = rows_of(entrants, texts, rounds=arguments.rounds)
            tables.append(table_of(rows, f"{text.name}, {size:.0f} MB"))
        block = "\n".join(tables)
    print(block, flush=True)
    if arguments.into is not None:
        written_into(arguments.into, name, block)


if __name__ == "__main__":
    main()
