"""Decoding speed: `python tests/benchmarks/decoding_speed.py --vocabulary RANKS [--pattern NAME] TEXT…`

tokbench, gigatoken and tiktoken decode the ids of a whole text in one call, in turns, five rounds; their results are
compared before a time counts. Medians, in millions of bytes of text a second.
"""

from __future__ import annotations

import argparse
import base64
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import gigatoken
from speed_table import documents_of, heading, speed_table, timed

import tokbench
from tokbench.backends.bpe.split_patterns import resolve_pattern
from tokbench.formats.tiktoken import to_encoding

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Decode = Callable[[NDArray[np.uint32]], bytes]

GIGATOKENS_NAMES = {"gpt2": "gpt2", "gpt4": "gpt4", "gpt4o": "o200k"}


def decoders(path: Path, pattern: str) -> tuple[tokbench.Tokenizer, dict[str, Decode]]:
    """Return tokbench's tokenizer of a rank file, and the decoding functions of tokbench and its peers."""
    tokenizer = tokbench.load(path, pattern=pattern)
    rows = map(bytes.split, path.read_bytes().splitlines())
    ranks = [(base64.b64decode(token), int(rank)) for token, rank in rows]
    regex = resolve_pattern(pattern).regex
    encoding = to_encoding("peer", pattern=regex, ranks=ranks, special_tokens={})
    peer = gigatoken.Tokenizer.from_tiktoken(path, GIGATOKENS_NAMES[pattern], {})
    return tokenizer, {
        "tokbench": tokenizer.decode_bytes,  # type: ignore[dict-item]
        "gigatoken": peer.decode,
        "tiktoken": lambda ids: encoding.decode_bytes(ids.tolist()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--vocabulary", type=Path, required=True, help="a rank file without special tokens")
    parser.add_argument("--pattern", default="gpt4", choices=GIGATOKENS_NAMES)
    parser.add_argument("--megabytes", type=float, default=0, help="of each text; by default all of it")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    tokenizer, decode = decoders(arguments.vocabulary, arguments.pattern)
    print(f"{heading('gigatoken', 'tiktoken')}\n")
    for path in arguments.texts:
        texts = documents_of(path, megabytes=arguments.megabytes)
        data = "".join(texts).encode()
        ids = tokenizer.encode_batch(texts).ids
        seconds: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
        for _ in range(arguments.rounds):
            for name, decoder in decode.items():
                taken, found = timed(partial(decoder, ids))
                if found != data:
                    raise SystemExit(f"{name} gives another text")
                seconds[name].append({"decoding": taken})
        title = f"{path.name}, {len(data) / 1e6:.0f} MB, MB/s"
        print(speed_table(title, ("decoding",), seconds, megabytes=len(data) / 1e6), flush=True)


if __name__ == "__main__":
    main()
