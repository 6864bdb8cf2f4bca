"""Training speed of SentencePiece's BPE, compared to the library.

    python tests/benchmarks/sentencepiece_bpe_training.py TEXT…

Both train on the same lines with the same options, each in a process of its own, in turns. The table has the wall time
of the call that trains, and the peak memory of the process. Their pieces must be the same; lines are split at ▅,
because the library skips lines that contain it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

_TRAIN = """
import json, resource, sys, time
trainer, text, model, size, threads = sys.argv[1:4] + [int(each) for each in sys.argv[4:]]
if trainer == "tokbench":
    import tokbench
    call = lambda: open(model, "wb").write(
        tokbench.train(tokbench.open_corpus(text), backend="sentencepiece", vocab_size=size, threads=threads).proto)
else:
    import sentencepiece
    call = lambda: sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=open(text, "rb"), model_writer=open(model, "wb"), model_type="bpe", vocab_size=size,
        character_coverage=0.9995, byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, allow_whitespace_only_pieces=True, hard_vocab_limit=False,
        num_threads=threads, max_sentence_length=1 << 16, minloglevel=2)
started = time.perf_counter()
call()
print(json.dumps([time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def trained(trainer: str, text: Path, *, size: int, threads: int) -> tuple[float, float, list[str]]:
    """Return the seconds, the megabytes and the pieces of one training."""
    from tokbench.formats.sentencepiece.model import parse_model

    with tempfile.TemporaryDirectory() as folder:
        model, lines = Path(folder, "model"), Path(folder, "lines.txt")
        lines.write_bytes(text.read_bytes().replace("\u2585".encode(), b"\n"))
        arguments = [trainer, str(lines), str(model), str(size), str(threads)]
        answer = subprocess.run(
            [sys.executable, "-c", _TRAIN, *arguments], check=True, capture_output=True, text=True
        )
        pieces = [piece.text for piece in parse_model(model.read_bytes()).pieces]
    seconds, megabytes = json.loads(answer.stdout.splitlines()[-1])
    return seconds, megabytes, pieces


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    print(
        "| text | tokbench, s | MB | sentencepiece, s | MB | times | pieces |\n|---|---:|---:|---:|---:|---:|---|"
    )
    for text in arguments.texts:
        runs = [
            [
                trained(trainer, text, size=arguments.vocab_size, threads=arguments.threads)
                for trainer in ("tokbench", "sentencepiece")
            ]
            for _ in range(arguments.rounds)
        ]
        (ours, our_memory), (theirs, their_memory) = (
            [statistics.median(run[which][what] for run in runs) for what in (0, 1)] for which in (0, 1)
        )
        ratio = statistics.median(library[0] / own[0] for own, library in runs)
        are_same = all(own[2] == library[2] for own, library in runs)
        print(
            f"| {text.name} | {ours:.2f} | {our_memory:.0f} | {theirs:.1f} | {their_memory:.0f} | {ratio:.1f} | "
            f"{'the same' if are_same else 'others'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
