"""Training speed of WordPiece, compared to `tokenizers`: `python tests/benchmarks/wordpiece_training_speed.py TEXT…`

Only the calls that train are timed, in turns, after a first training on a few words. `tokenizers` gets documents of
about 20 KB that were read beforehand, tokbench the file. `tokenizers` breaks ties differently in each run, because the
ids of its characters follow the order of a hash table: 95 in 100 of its pieces must be tokbench's.
"""

from __future__ import annotations

import argparse
import json
import statistics
from functools import partial
from pathlib import Path

import tokenizers
from speed_table import documents_of, timed
from tokenizers import models, normalizers, pre_tokenizers, trainers

import tokbench

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def library_pieces(documents: list[str], vocab_size: int) -> set[str]:
    library = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        limit_alphabet=1000,
        special_tokens=SPECIALS,
        show_progress=False,
    )
    library.train_from_iterator(documents, trainer)
    return set(library.get_vocab())


def our_pieces(path: Path, vocab_size: int, objective: str) -> set[str]:
    tokenizer = tokbench.train(
        tokbench.open_corpus(path), backend="wordpiece", vocab_size=vocab_size, objective=objective
    )
    return set(json.loads(tokenizer.document)["model"]["vocab"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--vocab-size", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    tokbench.train(["a text of few words"], backend="wordpiece")
    print(
        "| text | tokbench, s | by likelihood, s | tokenizers, s | times tokbench's |\n|---|---:|---:|---:|---:|"
    )
    for path in arguments.texts:
        documents = list(documents_of(path))
        times: dict[str, list[float]] = {"frequency": [], "likelihood": [], "library": []}
        for _ in range(arguments.rounds):
            for objective in ("frequency", "likelihood"):
                seconds, pieces = timed(partial(our_pieces, path, arguments.vocab_size, objective))
                times[objective].append(seconds)
                if objective == "frequency":
                    ours = pieces
            seconds, theirs = timed(partial(library_pieces, documents, arguments.vocab_size))
            times["library"].append(seconds)
            if len(theirs - ours) * 20 > len(ours):
                raise SystemExit(f"{len(theirs - ours)} of the pieces are others")
        ratio = statistics.median(b / a for a, b in zip(times["frequency"], times["library"], strict=True))
        one, two, library = (statistics.median(found) for found in times.values())
        print(f"| {path.name} | {one:.2f} | {two:.2f} | {library:.1f} | {ratio:.0f} |", flush=True)


if __name__ == "__main__":
    main()
