"""Training speed of byte-level BPE, compared to peers: `python tests/benchmarks/training_speed.py TEXT…`

Every training runs in a process of its own, tokbench and the installed peers in turn, five times after a
first one. Only the call that trains is timed; the memory is the peak of the process minus its memory
before that call. A peer counts only if it learns the same tokens in the same order (gigabpe breaks ties
differently: 99 in 100 of its tokens must be tokbench's), and the split pattern is
gpt2's because every peer knows that one. Peers that take strings get documents of about 20 KB,
prepared beforehand and cut only between pre-tokens; the others, and tokbench, read the file.

With `--growth`, tokbench is also trained on the first text in sizes of 10, 30, 100 and 300 MB. A text that is too short
is repeated with its letters exchanged, so that the number of distinct words keeps growing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Training = Callable[[], "Trained"]

RUNS = 5
DOCUMENT_CHARACTERS = 20_000
GROWTH_MEGABYTES = [10, 30, 100, 300]
SMALL_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
SAFE_CUT = re.compile(r"(?<=[A-Za-z.,;:!?])\n(?=[A-Za-z])")


@dataclass(frozen=True, slots=True)
class Trained:
    """The learned tokens in order, and other details of the training."""

    tokens: list[bytes]
    details: dict[str, float]


# --- trainers: each prepares its input, and returns the call to be timed ------------------------


def tokbench_from_file(path: Path, vocab_size: int, threads: int) -> Training:
    from tokbench import open_corpus

    _train_tokbench(open_corpus(__file__), 300, 1)  # imports modules before the timing
    return lambda: _train_tokbench(open_corpus(path), vocab_size, threads)


def tokbench_from_strings(path: Path, vocab_size: int, threads: int) -> Training:
    _train_tokbench(["some text"], 300, 1)  # imports modules before the timing
    documents = list(documents_of(path))
    return lambda: _train_tokbench(iter(documents), vocab_size, threads)


def _train_tokbench(documents: Any, vocab_size: int, threads: int) -> Trained:
    from tokbench.backends.bpe import BpeBackend
    from tokbench.backends.bpe.config import BpeConfig
    from tokbench.backends.bpe.reference import vocabulary

    config = BpeConfig(vocab_size=vocab_size, pattern="gpt2", threads=threads)
    tokenizer = BpeBackend().train(documents, config)
    training = tokenizer.training
    details = {**training.seconds, "distinct": training.distinct_pretokens, "pretokens": training.pretokens}
    return Trained(vocabulary(tokenizer.merges), details)


def gigatoken(path: Path, vocab_size: int, threads: int) -> Training:
    import gigatoken as peer

    def train() -> Trained:
        source = peer.TextFileSource([str(path)])
        tokens, _ = peer.train_bpe(source, vocab_size, [], tie_breaking="raw_token_ids")
        return Trained([tokens[id] for id in range(len(tokens))], {})

    return train


def rustbpe(path: Path, vocab_size: int, threads: int) -> Training:
    import rustbpe as peer

    from tokbench.backends.bpe.split_patterns import resolve_pattern

    documents = list(documents_of(path))
    pattern = resolve_pattern("gpt2").regex

    def train() -> Trained:
        tokenizer = peer.Tokenizer()
        tokenizer.train_from_iterator(iter(documents), vocab_size, pattern=pattern)
        ranks = {rank: bytes(token) for token, rank in tokenizer.get_mergeable_ranks()}
        return Trained([ranks[id] for id in range(len(ranks))], {})

    return train


def gigabpe(path: Path, vocab_size: int, threads: int) -> Training:
    import gigabpe as peer

    from tokbench.formats.tokenizer_json import from_byte_level

    # gigabpe's vocabulary contains only the bytes of the text, tokbench's all 256.
    size = vocab_size - 256 + len(set(path.read_bytes()))

    def train() -> Trained:
        _, merges = peer.train_bpe(
            [str(path)], vocab_size=size, pretokenizer="bytelevel", special_tokens=[], threads=threads
        )
        tokens = [from_byte_level(left + right) for left, right in merges]
        return Trained([*(bytes([value]) for value in range(256)), *tokens], {})

    return train


def ffbpe(path: Path, vocab_size: int, threads: int) -> Training:
    import ffbpe as peer

    documents = list(documents_of(path))

    def train() -> Trained:
        counter = peer.PreTokenizer([]).word_counter()
        counter.add_source(iter(documents))
        trainer = peer.BpeTrainer([], unit="byte", initial_alphabet="raw", tie_break="smallest_pair_id")
        trainer.add_word_counter(counter)
        trainer.train(vocab_size)
        vocab = trainer.vocab
        return Trained(sorted(vocab, key=vocab.__getitem__), {})

    return train


def tokenizers(path: Path, vocab_size: int, threads: int) -> Training:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    from tokbench.formats.tokenizer_json import from_byte_level

    documents = list(documents_of(path))

    def train() -> Trained:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        )
        tokenizer.train_from_iterator(iter(documents), trainer)
        vocab = tokenizer.get_vocab()
        tokens = [from_byte_level(token) for token in sorted(vocab, key=vocab.__getitem__)]
        return Trained([*(bytes([value]) for value in range(256)), *tokens[256:]], {})

    return train


OURS = {"tokbench": tokbench_from_file, "tokbench, from strings": tokbench_from_strings}
PEERS = {
    "gigatoken": gigatoken,
    "rustbpe": rustbpe,
    "gigabpe": gigabpe,
    "ffbpe": ffbpe,
    "tokenizers": tokenizers,
}
TRAINERS = {**OURS, **PEERS}
OTHER_TIES = {"gigabpe"}
"""Trainers that merge another one of equally frequent pairs."""


def documents_of(path: Path) -> Iterator[str]:
    """Yield the text in documents that end between pre-tokens."""
    text = path.read_bytes().decode("utf-8", "replace")
    start = 0
    while start < len(text):
        cut = SAFE_CUT.search(text, start + DOCUMENT_CHARACTERS)
        stop = cut.end() if cut else len(text)
        yield text[start:stop]
        start = stop


# --- one training, in a process of its own ------------------------------------------------------


def start_peak() -> int:
    """Return the memory of this process, and reset its peak where the system allows."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return _status("VmRSS")
    except OSError:
        return peak_bytes()


def peak_bytes() -> int:
    """Return the peak memory of this process; ru_maxrss may include that of the parent process."""
    try:
        return _status("VmHWM")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _status(key: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split(f"{key}:")[1].split()[0]) * 1024


def run_here(name: str, path: Path, *, vocab_size: int, threads: int) -> None:
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    train = TRAINERS[name](path, vocab_size, threads)
    before = start_peak()
    started, started_cpu = time.perf_counter(), time.process_time()
    trained = train()
    seconds, cpu = time.perf_counter() - started, time.process_time() - started_cpu
    peak = peak_bytes() - before
    digest = hashlib.sha256(b"".join(len(token).to_bytes(4) + token for token in trained.tokens)).hexdigest()
    print()
    learned = [token.hex() for token in trained.tokens] if name in {"tokbench", *OTHER_TIES} else []
    told = {"seconds": seconds, "cpu": cpu, "peak": peak, "tokens": digest, "learned": learned}
    print(json.dumps(told | trained.details))


def run(name: str, path: Path, *, vocab_size: int, threads: int) -> dict[str, Any]:
    """Return the results of one training, or {"failure": why}."""
    options = ["--one", name, "--vocab-size", str(vocab_size), "--threads", str(threads)]
    command = [sys.executable, __file__, *options, str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        return {"failure": (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]}
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


# --- tables -------------------------------------------------------------------------------------


def print_comparison(path: Path, names: Sequence[str], *, vocab_size: int, threads: int, runs: int) -> None:
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for round_number in range(runs + 1):
        for name in list(results):
            result = run(name, path, vocab_size=vocab_size, threads=threads)
            wanted = results["tokbench"][0] if results["tokbench"] else result
            if reason := _why_not(name, result, wanted):
                print(f"{name} does not count on {path.name}: {reason}\n", flush=True)
                del results[name]
            elif round_number > 0 or name == "tokbench":
                results[name].append(result)
    results["tokbench"] = results["tokbench"][1:]
    megabytes = path.stat().st_size / 1e6
    print(f"{path.name}, {megabytes:.0f} MB, {vocab_size:,} tokens, {threads} thread(s), median of {runs}\n")
    print(
        "| trainer | seconds | from … to | times tokbench's | CPU, s | times tokbench's | peak memory, MB |"
    )
    print("|---|---|---|---|---|---|---|")
    ours, ours_cpu = (_median(results["tokbench"], key) for key in ("seconds", "cpu"))
    for name, found in results.items():
        times = sorted(result["seconds"] for result in found)
        middle, cpu = statistics.median(times), _median(found, "cpu")
        print(
            f"| {_with_version(name)} | {middle:.2f} | {times[0]:.2f} … {times[-1]:.2f} | {middle / ours:.2f} "
            f"| {cpu:.2f} | {cpu / ours_cpu:.2f} | {_median(found, 'peak') / 1e6:.0f} |"
        )
    phases = " s, ".join(
        f"{phase} {_median(results['tokbench'], phase):.2f}" for phase in ("counting", "merging")
    )
    print(f"\ntokbench: {phases} s\n", flush=True)


def _why_not(name: str, result: dict[str, Any], wanted: dict[str, Any]) -> str | None:
    if "failure" in result:
        return str(result["failure"])
    if name in OTHER_TIES:
        others = set(result["learned"]) - set(wanted["learned"])
        return None if len(others) * 100 < len(wanted["learned"]) else f"it learns {len(others)} other tokens"
    return None if result["tokens"] == wanted["tokens"] else "it learns other tokens"


def _median(results: Sequence[dict[str, Any]], key: str) -> float:
    return statistics.median(result[key] for result in results)


def _with_version(name: str) -> str:
    package, _, rest = name.partition(",")
    try:
        return f"{package} {version(package)}{',' if rest else ''}{rest}"
    except PackageNotFoundError:
        return name


def print_growth(path: Path, *, vocab_size: int, threads: int, runs: int) -> None:
    print(f"Growth of {path.name}, median of {runs}\n")
    print(
        "| MB | distinct pre-tokens | counting, s | ns a byte | merging, s | µs a distinct pre-token "
        "| CPU, s | ns a byte | peak, MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in GROWTH_MEGABYTES:
            grown = Path(folder) / "text"
            write_grown(path, grown, size=megabytes * 1_000_000)
            found = [run("tokbench", grown, vocab_size=vocab_size, threads=threads) for _ in range(runs)]
            counting, merging = _median(found, "counting"), _median(found, "merging")
            distinct, cpu = found[0]["distinct"], _median(found, "cpu")
            print(
                f"| {megabytes} | {distinct:,} | {counting:.3f} | {counting * 1e3 / megabytes:.2f} "
                f"| {merging:.3f} | {merging * 1e6 / distinct:.2f} "
                f"| {cpu:.2f} | {cpu * 1e3 / megabytes:.1f} | {_median(found, 'peak') / 1e6:.0f} |",
                flush=True,
            )


def write_grown(path: Path, grown: Path, *, size: int) -> None:
    """Write about `size` bytes by repeating the text, each time with its small letters shifted further."""
    left, turn = size, 0
    with grown.open("wb") as file:
        while left > 0:
            shifted = SMALL_LETTERS[turn:] + SMALL_LETTERS[:turn]
            text = path.read_bytes()[:left].translate(bytes.maketrans(SMALL_LETTERS, shifted))
            text = text.decode("utf-8", "ignore").encode()
            file.write(text)
            left -= max(len(text), 4)
            turn += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path, metavar="TEXT")
    parser.add_argument("--vocab-size", type=int, default=32_768)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--peers", default=",".join(PEERS), help="which to compare with, with commas")
    parser.add_argument("--growth", action="store_true", help="the first text in growing sizes, too")
    parser.add_argument("--one", choices=list(TRAINERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = {"vocab_size": options.vocab_size, "threads": options.threads}
    if options.one:
        run_here(options.one, options.texts[0], **sizes)
        return
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} processors ({platform.machine()}), "
        f"Python {platform.python_version()}\n"
    )
    names = [*OURS, *(name for name in options.peers.split(",") if name)]
    for path in options.texts:
        print_comparison(path, names, **sizes, runs=options.runs)
    if options.growth:
        print_growth(options.texts[0], **sizes, runs=options.runs)


if __name__ == "__main__":
    main()
