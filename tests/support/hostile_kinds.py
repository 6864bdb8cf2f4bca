"""The kinds of files that tests damage: how each is opened and used, and how its checksums are repaired."""

from __future__ import annotations

import hashlib
import json
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tokbench
from tokbench.errors import TokbenchError
from tokbench.formats.tokbin.layout import ENTRY, HEADER, LENGTH, filled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = "a text to train on, naïve: 東京 0123456789\n  and so on, and so on; x = [1, 2]\n" * 4
TEXTS = ["", "a text to train on", "naïve 東京 👍🏽 0123", " \n\t<|end|> [UNK] </s> \0x", "ab" * 300]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        file: the file to damage, relative to the folder of the kind.
        open: opens the folder or the file, and uses the result.
        is_json: whether its JSON values are damaged too.
        mend: recomputes the checksums of a damaged file, so that tests reach the code behind them.
        writes: whether opening changes other files of the folder.
    """

    file: str
    open: Callable[[Path, Path], object]
    is_json: bool = False
    mend: Callable[[Path], None] | None = None
    writes: bool = False


# --- recomputed checksums ---------------------------------------------------------------------


def sum_folder(path: Path) -> None:
    """Put the sha256 of a file into the manifest beside it, and remove the self-test."""
    manifest = path.with_name("tokbench.json")
    document = json.loads(manifest.read_bytes())
    document["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    document["self_test"] = []
    manifest.write_text(json.dumps(document), encoding="utf-8")


def sum_tokbin(path: Path) -> None:
    """Recompute the sizes and checksums of a tokbin file, as far as it has a header and a table."""
    data = bytearray(path.read_bytes())
    if len(data) < HEADER.size:
        return
    header = list(HEADER.unpack_from(data))
    header[8] = len(data)
    table = data[HEADER.size : HEADER.size + ENTRY.size * (header[7] % 64)]
    if len(table) % ENTRY.size:
        return
    for number, (kind, _, start, length) in enumerate(ENTRY.iter_unpack(bytes(table))):
        checksum = zlib.crc32(data[start : start + filled(length)])
        ENTRY.pack_into(table, number * ENTRY.size, kind, checksum, start, length)
    HEADER.pack_into(data, 0, *header)
    data[HEADER.size : HEADER.size + len(table)] = table
    header[-1] = zlib.crc32(table, zlib.crc32(data[: HEADER.size - LENGTH.size]))
    HEADER.pack_into(data, 0, *header)
    path.write_bytes(data)


# --- opening and using files ------------------------------------------------------------------


def use(tokenizer: Any) -> None:
    """Encode, decode and look up some tokens."""
    for text in TEXTS:
        for special in tokbench.SpecialPolicy:
            try:
                ids = tokenizer.encode(text, special=special)
            except TokbenchError:
                continue
            tokenizer.decode(ids)
        tokenizer.segment(text)
    tokenizer.encode_batch(TEXTS)
    for id in (0, 1, 97, tokenizer.info.vocab_size - 1, tokenizer.info.vocab_size):
        with suppress(TokbenchError):
            tokenizer.token_id(tokenizer.token_bytes(id))
            tokenizer.decode([id])


def of_folder(folder: Path, _: Path) -> None:
    use(tokbench.load(folder))


def of_pair(folder: Path, _: Path) -> None:
    use(tokbench.load(folder, pattern="gpt2"))


def of_file(_: Path, file: Path) -> None:
    use(tokbench.load(file))


def of_ranks(_: Path, file: Path) -> None:
    use(tokbench.load(file, pattern="gpt4", special_tokens={"<|end|>": None}))


def of_corpus(_: Path, file: Path) -> None:
    for options in ({"errors": "strict"}, {"errors": "skip", "documents": "lines"}, {"errors": "replace"}):
        corpus = tokbench.open_corpus(file, max_document_bytes=1 << 20, **options)
        with suppress(TokbenchError):
            assert sum(map(len, corpus)) < 1 << 28


def of_shards(folder: Path, _: Path) -> None:
    try:
        for ids in tokbench.open_shards(folder / "shards"):
            ids.sum()
    finally:
        tokbench.verify_shards(folder / "shards")


def of_journal(folder: Path, _: Path) -> None:
    corpus = tokbench.open_corpus(folder / "corpus.txt", documents="lines")
    tokenizer = tokbench.load(folder / "tokenizer")
    tokbench.write_shards(tokenizer, corpus, folder / "shards", shard_tokens=60, resume=True)


def of_ids(_: Path, file: Path) -> None:
    from tokbench.cli.decode import parse_ids

    ids = parse_ids(file.read_bytes().decode(errors="replace"))
    tokbench.train([TEXT], vocab_size=260).decode(ids)


def of_preset(_: Path, file: Path) -> None:
    from tokbench.config import load_preset
    from tokbench.workbench.training_config import parsed_options

    load_preset(str(file))
    parsed_options([], backend=None, preset=str(file))


def of_baseline(_: Path, file: Path) -> None:
    from tokbench.cli.check import _saved
    from tokbench.evaluation.baseline import parse_policy, read_saved

    list(read_saved(_saved(file)).thresholds(["mine"], parse_policy(tolerances=["1%"])))


KINDS = {
    "saved BPE": Kind("tokbench.json", of_folder, is_json=True),
    "ranks of a saved BPE": Kind("ranks.tiktoken", of_folder, mend=sum_folder),
    "document of a saved BPE": Kind("tokenizer.json", of_folder, is_json=True, mend=sum_folder),
    "saved WordPiece": Kind("tokenizer.json", of_folder, is_json=True, mend=sum_folder),
    "saved Unigram": Kind("tokenizer.model", of_folder, mend=sum_folder),
    "tokbin": Kind("mine.tokbin", of_file),
    "tokbin with its sums": Kind("mine.tokbin", of_file, mend=sum_tokbin),
    "tokbin of a library": Kind("mine.tokbin", of_file, mend=sum_tokbin),
    "rank file": Kind("ranks.tiktoken", of_ranks),
    "BPE document": Kind("tokenizer.json", of_file, is_json=True),
    "WordPiece document": Kind("tokenizer.json", of_file, is_json=True),
    "Unigram document": Kind("tokenizer.json", of_file, is_json=True),
    "WordLevel document": Kind("tokenizer.json", of_file, is_json=True),
    "SentencePiece BPE": Kind("tokenizer.model", of_file),
    "SentencePiece Unigram": Kind("tokenizer.model", of_file),
    "vocabulary beside merges": Kind("vocab.json", of_pair, is_json=True),
    "merges": Kind("merges.txt", of_pair),
    "word list": Kind("vocab.txt", of_file),
    "configuration of a word list": Kind("tokenizer_config.json", of_folder, is_json=True),
    "configuration of a saved WordPiece": Kind(
        "tokenizer_config.json", of_folder, is_json=True, mend=sum_folder
    ),
    "configuration of a BPE": Kind("tokenizer_config.json", of_folder, is_json=True),
    "map of special tokens": Kind("special_tokens_map.json", of_folder, is_json=True),
    "added tokens": Kind("added_tokens.json", of_folder, is_json=True),
    "configuration of generation": Kind("generation_config.json", of_folder, is_json=True),
    "GGUF of BPE": Kind("mine.gguf", of_file),
    "GGUF of SentencePiece": Kind("mine.gguf", of_file),
    "index of shards": Kind("shards/index.json", of_shards, is_json=True),
    "shard": Kind("shards/shard-00001.npy", of_shards),
    "offsets": Kind("shards/shard-00000.offsets.npy", of_shards),
    "journal": Kind("shards/journal.jsonl", of_journal, is_json=True, writes=True),
    "ids": Kind("ids.jsonl", of_ids, is_json=True),
    "JSON lines": Kind("a.jsonl", of_corpus, is_json=True),
    "gzip": Kind("a.txt.gz", of_corpus),
    "bzip2": Kind("a.txt.bz2", of_corpus),
    "xz": Kind("a.txt.xz", of_corpus),
    "Zstandard": Kind("a.txt.zst", of_corpus),
    "Parquet": Kind("a.parquet", of_corpus),
    "text": Kind("a.txt", of_corpus),
    "preset": Kind("mine.toml", of_preset),
    "baseline": Kind("saved.json", of_baseline, is_json=True),
}
