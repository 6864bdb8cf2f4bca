"""Growth of the encoding time of hostile texts: `python tests/benchmarks/encoding_growth.py [--vocabulary RANKS]`

Texts of one kind (one letter, random letters without a space, one CJK character, alternating spaces, emoji …)
of 16 KB, 64 KB, 256 KB, 1 MB and 4 MB are encoded on one thread by a tokenizer that has seen none of them, best
of three. The exponent is the slope of log seconds against log bytes from 64 KB on: 1 is linear.

The vocabulary is a rank file of the pattern `--pattern`; without one, 8,192 entries are learned from the
bundled texts.
"""

from __future__ import annotations

import argparse
import gc
import random
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from speed_table import heading

import tokbench
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.core.time_and_memory import seconds_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench import Tokenizer

SIZES = tuple(1 << power for power in range(14, 23, 2))
RUNS = 3


def letters(alphabet: str, size: int) -> str:
    return "".join(random.Random(1).choices(alphabet, k=size))


KINDS: dict[str, Callable[[int], str]] = {
    "one letter": lambda size: "a" * size,
    "random letters": lambda size: letters("abcdefghijklmnopqrstuvwxyz", size),
    "random digits": lambda size: letters("0123456789", size),
    "one CJK character": lambda size: "亜" * (size // 3),
    "random CJK characters": lambda size: letters("亜文字語東京大阪日本", size // 3),
    "one emoji": lambda size: "🙂" * (size // 4),
    "joined emoji": lambda size: "👩‍👩‍👧" * (size // 18),
    "spaces": lambda size: " " * size,
    "alternating spaces": lambda size: "a " * (size // 2),
    "line ends": lambda size: "\n" * size,
    "combining marks": lambda size: "\u0301" * (size // 2),
    "punctuation": lambda size: letters("'.,!", size),
}


def seconds(load: Callable[[], Tokenizer], text: str) -> float:
    found = []
    for _ in range(RUNS):
        tokenizer = load()
        gc.collect()
        found.append(seconds_of(partial(tokenizer.encode_batch, [text], threads=1)))
    return min(found)


def row(load: Callable[[], Tokenizer], kind: str) -> str:
    texts = [KINDS[kind](size) for size in SIZES]
    sizes = [len(text.encode()) for text in texts]
    times = [seconds(load, text) for text in texts]
    slope = np.polyfit(np.log(sizes[1:]), np.log(times[1:]), 1)[0]
    costs = " | ".join(f"{taken / size * 1e9:.1f}" for taken, size in zip(times, sizes, strict=True))
    return f"| {kind} | {costs} | {slope:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabulary", type=Path, help="a rank file; by default one is learned")
    parser.add_argument("--pattern", default=None, help="of the rank file, where its content does not tell")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.vocabulary
        if path is None:
            path = Path(folder) / "learned"
            tokbench.train(tokbench.bundled_corpus(), backend="bpe", vocab_size=8192).save(path)
        print_table(lambda: tokbench.load(path, pattern=arguments.pattern))


def print_table(load: Callable[[], Tokenizer]) -> None:
    print(f"{heading()}, kernel {current_kernel().name}; ns a byte\n")
    print(f"| | {' | '.join(f'{size >> 10} KB' for size in SIZES)} | exponent |")
    print("|---|" + "---:|" * (len(SIZES) + 1))
    for kind in KINDS:
        print(row(load, kind), flush=True)


if __name__ == "__main__":
    main()
