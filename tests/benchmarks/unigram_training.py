"""Training speed and quality of Unigram, compared to SentencePiece.

    python tests/benchmarks/unigram_training.py TEXT…

A text is a file, or a folder whose files are read one after another. It is cut into documents of about 20 KB, every
tenth of which is held out. Both trainers train on the same lines with the same options, each in a process of its own;
reported are the wall and processor time of the call that trains, and the peak memory of the process.

A model is judged by the bits per byte of the held-out text, summed over all segmentations; a character without a
piece costs the same under both models. The interval of their ratio is a bootstrap over documents.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

DOCUMENT_BYTES = 20_000
HELD_OUT = 10
MOST_JUDGED = 150
UNKNOWN = -25.0
LONGEST = 16
RESAMPLES = 2000

_TRAIN = """
import json, resource, sys, time
trainer, text, model, size, threads = sys.argv[1:4] + [int(each) for each in sys.argv[4:]]
if trainer == "tokbench":
    import tokbench
    from tokbench.backends.unigram import UnigramBackend
    from tokbench.libraries.sentencepiece.config import UnigramConfig
    config = UnigramConfig(vocab_size=size, threads=threads, round_scores=False)
    call = lambda: open(model, "wb").write(UnigramBackend().train(tokbench.open_corpus(text), config).proto)
else:
    import sentencepiece
    call = lambda: sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=open(text, "rb"), model_writer=open(model, "wb"), model_type="unigram", vocab_size=size,
        character_coverage=0.9995, byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, allow_whitespace_only_pieces=True, hard_vocab_limit=False,
        num_threads=threads, max_sentence_length=1 << 16, minloglevel=2)
started, used = time.perf_counter(), time.process_time()
call()
print(json.dumps([time.perf_counter() - started, time.process_time() - used,
                  resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One training: wall seconds, processor seconds, megabytes, and the pieces with their scores."""

    seconds: float
    processor_seconds: float
    megabytes: float
    scores: dict[str, float]


def documents_of(path: Path, megabytes: float) -> list[bytes]:
    """Return documents of whole lines, up to `megabytes` in total."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    share = int(megabytes * 1e6 / len(files))
    found = []
    for file in files:
        with file.open("rb") as source:
            text = source.read(share)
        start = 0
        while start < len(text):
            end = text.find(b"\n", start + DOCUMENT_BYTES) + 1 or len(text)
            found.append(text[start:end])
            start = end
        found[-1] = found[-1][: found[-1].rfind(b"\n") + 1]
    return [document for document in found if document]


def trained(trainer: str, text: Path, *, size: int, threads: int) -> Run:
    """Train a model with one of the trainers in a process of its own."""
    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model")
        arguments = [trainer, str(text), str(model), str(size), str(threads)]
        answer = subprocess.run(
            [sys.executable, "-c", _TRAIN, *arguments], check=True, capture_output=True, text=True
        )
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.read_bytes())
    ids = [
        id
        for id in range(len(processor))
        if not (processor.is_control(id) or processor.is_unknown(id) or processor.is_byte(id))
    ]
    scores = {processor.id_to_piece(id): processor.get_score(id) for id in ids}
    return Run(*json.loads(answer.stdout.splitlines()[-1]), scores)


# --- held-out text ----------------------------------------------------------------------------


def words_of(document: str) -> Iterator[str]:
    """Yield the words, whose boundaries no piece crosses."""
    for line in document.split("\n"):
        if line:
            yield from re.findall("▁*[^▁]+|▁+", "▁" + line.replace(" ", "▁"))


def log_probability(word: str, weights: Mapping[str, float]) -> tuple[float, int]:
    """Return the log-probability of a word over all segmentations, and the number of pieces of the best one."""
    sums, best, pieces = [0.0] * (len(word) + 1), [-math.inf] * (len(word) + 1), [0] * (len(word) + 1)
    sums[0], best[0], shift = 1.0, 0.0, 0.0
    for i in range(len(word)):
        if 0 < sums[i] < 1e-200:
            sums, shift = [total * 1e200 for total in sums], shift + 200 * math.log(10)
        for j in range(i + 1, min(i + LONGEST, len(word)) + 1):
            weight = weights.get(word[i:j], math.exp(UNKNOWN) if j == i + 1 else 0.0)
            if weight:
                sums[j] += sums[i] * weight
                if best[i] + math.log(weight) > best[j]:
                    best[j], pieces[j] = best[i] + math.log(weight), pieces[i] + 1
    return math.log(sums[-1]) - shift, pieces[-1]


def evaluated(run: Run, held_out: list[Counter[str]]) -> NDArray[np.float64]:
    """Return the bits and the number of tokens of each document."""
    import numpy as np

    weights = {piece: math.exp(score) for piece, score in run.scores.items()}
    known = {word: log_probability(word, weights) for word in set().union(*held_out)}
    rows = [[sum(n * known[word][k] for word, n in words.items()) for k in (0, 1)] for words in held_out]
    return np.array(rows) * [-1 / math.log(2), 1.0]


def interval(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> str:
    """Return the ratio of two sums over documents, with its 95 % interval."""
    import numpy as np

    draws = np.random.default_rng(0).integers(0, len(ours), (RESAMPLES, len(ours)))
    ratios = ours[draws].sum(axis=1) / theirs[draws].sum(axis=1)
    low, high = np.percentile(ratios, [2.5, 97.5])
    return f"{ours.sum() / theirs.sum():.4f} ({low:.4f}…{high:.4f})"


def row(ours: Run, theirs: Run, held_out: list[Counter[str]], num_bytes: int) -> str:
    """Return the results of one pair of trainings."""
    mine, other = evaluated(ours, held_out), evaluated(theirs, held_out)
    bits, peer_bits = mine[:, 0].sum() / num_bytes, other[:, 0].sum() / num_bytes
    processor = theirs.processor_seconds / ours.processor_seconds
    return (
        f"{ours.seconds:.1f} s to {theirs.seconds:.1f} s ({theirs.seconds / ours.seconds:.1f}×; processor "
        f"{ours.processor_seconds:.1f} to {theirs.processor_seconds:.1f}, {processor:.1f}×), "
        f"{ours.megabytes:.0f} to {theirs.megabytes:.0f} MB; bits a byte {bits:.4f} to {peer_bits:.4f}, "
        f"ratio {interval(mine[:, 0], other[:, 0])}; tokens {interval(mine[:, 1], other[:, 1])}; "
        f"pieces {len(ours.scores):,}, {len(theirs.scores):,}"
    )


def main() -> None:
    """Print a row for each text and size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--sizes", default="8000,16000,32000")
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    print(
        f"{os.cpu_count()} processors, {chosen.threads} threads, {chosen.megabytes:g} MB of each text",
        flush=True,
    )
    for path in chosen.texts:
        documents = documents_of(path, chosen.megabytes)
        kept = [document for i, document in enumerate(documents) if i % HELD_OUT]
        held_out = documents[::HELD_OUT]
        held_out = held_out[:: -(-len(held_out) // MOST_JUDGED)]
        words = [Counter(words_of(document.decode())) for document in held_out]
        num_bytes = sum(map(len, held_out))
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder, "text.txt")
            text.write_bytes(b"".join(kept))
            for size in map(int, chosen.sizes.split(",")):
                ours, theirs = (
                    trained(trainer, text, size=size, threads=chosen.threads)
                    for trainer in ("tokbench", "sentencepiece")
                )
                print(f"{path.stem} {size:,}: {row(ours, theirs, words, num_bytes)}", flush=True)


if __name__ == "__main__":
    main()
