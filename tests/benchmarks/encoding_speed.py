"""How fast text is encoded and decoded: `python tests/benchmarks/encoding_speed.py [--vocabulary RANKS] TEXT…`

For each text (cut into documents of about 20 KB) tokbench and each peer that is installed encode all documents
on one thread with nothing remembered ("first pass"), twice more ("third pass"), then in one batch on all
threads ("batch"), and decode the batch; a new one encodes the batch with nothing remembered ("first batch").
Their ids are compared with tokbench's before a time counts. All take turns, five rounds, each with a new tokenizer;
medians, in millions of bytes of text a second. Before each time counts, memory is written to and given back:
a virtual machine gets it from its host at the first touch, and gives it up again when nobody uses it.

The vocabulary is a rank file of the pattern `--pattern`; without one, 32,768 entries are learned from the
first ten megabytes of the first text.
"""

from __future__ import annotations

import argparse
import base64
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from speed_table import documents_of, heading, speed_table, timed

import tokbench
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.split_patterns import resolve_pattern
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.formats.tiktoken import to_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

TRAINING_CHARACTERS = 10_000_000
THREADS = os.cpu_count() or 1
TOUCHED_BYTES = 1 << 29
COLUMNS = ("first pass", "third pass", "first batch", "batch", "decoding")


class Vocabulary(NamedTuple):
    """Tokens in the order of their ranks, the file they are in, and the pattern that splits before them."""

    tokens: list[bytes]
    path: Path
    pattern: str


class Runner(NamedTuple):
    """One tokenizer: how it encodes documents on one thread, how in a batch, how it decodes a batch.

    What encodes returns anything that `ids` makes an array of, outside the time that counts.
    """

    one_by_one: Callable[[Sequence[str]], Any]
    batch: Callable[[Sequence[str]], Any] | None
    ids: Callable[[Any], NDArray[np.uint32]]
    decode: Callable[[NDArray[np.uint32]], bytes] | None = None


def joined(parts: Iterable[Any]) -> NDArray[np.uint32]:
    return np.concatenate([np.asarray(part, dtype=np.uint32) for part in parts])


def tokbench_runner(vocabulary: Vocabulary) -> Runner:
    tokenizer = BpeTokenizer.from_ranks(
        vocabulary.tokens, pattern=resolve_pattern(vocabulary.pattern), kernel=current_kernel()
    )
    return Runner(
        lambda texts: tokenizer.encode_batch(texts, threads=1),
        lambda texts: tokenizer.encode_batch(texts, threads=THREADS),
        lambda encoded: encoded.ids,
        tokenizer.decode_bytes,  # type: ignore[arg-type]
    )


def tiktoken_runner(vocabulary: Vocabulary) -> Runner:
    encoding = to_encoding(
        "peer",
        pattern=resolve_pattern(vocabulary.pattern).regex,
        ranks=[(token, rank) for rank, token in enumerate(vocabulary.tokens)],
        special_tokens={},
    )
    return Runner(
        lambda texts: [encoding.encode_ordinary(text) for text in texts],
        lambda texts: encoding.encode_ordinary_batch(list(texts), num_threads=THREADS),
        joined,
        lambda ids: encoding.decode_bytes(ids.tolist()),
    )


def gigatoken_runner(vocabulary: Vocabulary) -> Runner:
    import gigatoken

    names = {"gpt2": "gpt2", "gpt4": "gpt4", "gpt4o": "o200k"}
    if vocabulary.pattern not in names:
        raise ValueError(f"it has no pattern {vocabulary.pattern}")
    peer = gigatoken.Tokenizer.from_tiktoken(vocabulary.path, pretokenizer=names[vocabulary.pattern])
    return Runner(
        lambda texts: [peer.encode(text) for text in texts],
        lambda texts: peer.encode_batch(list(texts)),
        joined,
        peer.decode,
    )


def fastokens_runner(vocabulary: Vocabulary) -> Runner:
    import fastokens

    peer = fastokens.Tokenizer.from_tiktoken(
        str(vocabulary.path), pattern=resolve_pattern(vocabulary.pattern).regex, special_tokens={}
    )
    return Runner(
        lambda texts: [peer.encode_ordinary(text) for text in texts],
        lambda texts: peer.encode_batch(list(texts)),
        lambda encodings: joined(encoding.ids for encoding in encodings),
    )


def tokenizers_runner(vocabulary: Vocabulary) -> Runner:
    from transformers.convert_slow_tokenizer import TikTokenConverter

    peer = TikTokenConverter(
        vocab_file=str(vocabulary.path), pattern=resolve_pattern(vocabulary.pattern).oniguruma
    ).tokenizer()
    from tokenizers import Regex, pre_tokenizers

    splitting = pre_tokenizers.Split(Regex(resolve_pattern(vocabulary.pattern).oniguruma), "isolated")
    peer.pre_tokenizer = pre_tokenizers.Sequence(
        [splitting, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    return Runner(
        lambda texts: [peer.encode(text, add_special_tokens=False) for text in texts],
        lambda texts: peer.encode_batch_fast(list(texts), add_special_tokens=False),
        lambda encodings: joined(encoding.ids for encoding in encodings),
    )


def snaptokens_runner(vocabulary: Vocabulary) -> Runner:
    import snaptokens

    from tokbench.bench.peers.snaptokens import prepare
    from tokbench.convert.conversion import Source

    tokenizer = tokbench.load(vocabulary.path, pattern=vocabulary.pattern)
    folder = Path(tempfile.mkdtemp())
    prepare(Source(tokenizer=tokenizer, description=tokenizer.description()), folder)
    peer = snaptokens.Tokenizer.from_file(str(folder / "tokenizer.json"))
    return Runner(
        lambda texts: [peer.encode(text).ids for text in texts],
        lambda texts: peer.encode_batch_flat(list(texts)),
        joined,
    )


def quicktok_runner(vocabulary: Vocabulary) -> Runner:
    import quicktok

    if not hasattr(quicktok, "from_tiktoken"):
        raise ValueError("the installed package of this name opens no rank files")
    peer = quicktok.from_tiktoken(str(vocabulary.path))
    return Runner(lambda texts: [peer.encode(text) for text in texts], None, joined)


RUNNERS: dict[str, Callable[[Vocabulary], Runner]] = {
    "tokbench": tokbench_runner,
    "gigatoken": gigatoken_runner,
    "fastokens": fastokens_runner,
    "snaptokens": snaptokens_runner,
    "quicktok": quicktok_runner,
    "tiktoken": tiktoken_runner,
    "tokenizers": tokenizers_runner,
}


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    np.ones(TOUCHED_BYTES, np.uint8)
    return timed(work)


def measured(
    make: Callable[[], Runner], texts: list[str], expected: NDArray[np.uint32] | None
) -> dict[str, float]:
    """Seconds by column, of a tokenizer that is new; raises where its ids are others."""
    runner = make()
    times: dict[str, float] = {}
    for name in ("first pass", "second pass", "third pass"):
        times[name], encoded = seconds(lambda: runner.one_by_one(texts))
    ids = runner.ids(encoded)
    if expected is not None and not np.array_equal(ids, expected):
        raise ValueError("its ids are others")
    if runner.batch is not None:
        batch = runner.batch
        times["batch"], _ = seconds(lambda: batch(texts))
        new = make().batch
        if new is not None:
            times["first batch"], _ = seconds(lambda: new(texts))
    if runner.decode is not None:
        decode = runner.decode
        times["decoding"], data = seconds(lambda: decode(ids))
        if data != "".join(texts).encode():
            raise ValueError("it decodes to another text")
    return times


def table(path: Path, vocabulary: Vocabulary, names: list[str], *, megabytes: float, rounds: int) -> str:
    texts = documents_of(path, megabytes=megabytes)
    size = sum(len(text.encode()) for text in texts) / 1e6
    expected = tokbench_runner(vocabulary).one_by_one(texts).ids
    times: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for _ in range(rounds):
        for name in list(names):
            try:
                make = RUNNERS[name]
                times[name].append(measured(lambda make=make: make(vocabulary), texts, expected))  # type: ignore[misc]
            except (ImportError, ValueError, TypeError, AttributeError) as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
                names.remove(name)
                times.pop(name, None)
    title = f"{path.name}, {size:.0f} MB, {len(vocabulary.tokens):,} tokens, {vocabulary.pattern}, MB/s"
    return speed_table(title, COLUMNS, times, megabytes=size)


def vocabulary_of(path: Path | None, text: Path, pattern: str, folder: Path) -> Vocabulary:
    if path is not None:
        rows = [line.split() for line in path.read_bytes().splitlines()]
        return Vocabulary([base64.b64decode(token) for token, _ in rows], path, pattern)
    with text.open("rb") as file:
        learned = file.read(TRAINING_CHARACTERS).decode(errors="ignore")
    trained = tokbench.train([learned], vocab_size=32_768, pattern=pattern)
    tokens = [trained.token_bytes(id) for id in range(trained.info.vocab_size)]
    rows_to_write = [b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens)]
    (folder / "learned.tiktoken").write_bytes(b"".join(rows_to_write))
    return Vocabulary(tokens, folder / "learned.tiktoken", pattern)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--vocabulary", type=Path, help="a rank file; by default one is learned")
    parser.add_argument("--pattern", default="gpt4")
    parser.add_argument("--megabytes", type=float, default=0, help="of each text; by default all of it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=RUNNERS, default=list(RUNNERS))
    arguments = parser.parse_args()
    peers = [name for name in RUNNERS if name != "tokbench"]
    print(f"{heading(*peers)}; kernel {current_kernel().name}\n")
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = vocabulary_of(arguments.vocabulary, arguments.texts[0], arguments.pattern, Path(folder))
        for path in arguments.texts:
            names = [name for name in RUNNERS if name in arguments.only]
            print(
                table(path, vocabulary, names, megabytes=arguments.megabytes, rounds=arguments.rounds),
                flush=True,
            )


if __name__ == "__main__":
    main()
