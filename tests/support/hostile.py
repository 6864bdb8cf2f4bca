"""Files of every kind that tokbench reads, damaged one at a time, in a process with little memory.

As a program: `python hostile.py GOOD` makes good files in a folder, and `python hostile.py GOOD FOLDER SEED FIRST
CASES` damages copies of them in another, opens them, and prints a line of JSON for each case that ended neither
well nor in an error for the user.
"""

from __future__ import annotations

import bz2
import faulthandler
import gzip
import hashlib
import json
import lzma
import resource
import shutil
import struct
import sys
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).parents[1]))

import tokbench
from support.mutations import mutated, mutated_json
from tokbench.convert.conversion import Source
from tokbench.convert.targets.tokbin import make as make_tokbin
from tokbench.errors import TokbenchError
from tokbench.formats.tokbin.layout import ENTRY, HEADER, LENGTH, filled

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = "a text to train on, naïve: 東京 0123456789\n  and so on, and so on; x = [1, 2]\n" * 4
TEXTS = ["", "a text to train on", "naïve 東京 👍🏽 0123", " \n\t<|end|> [UNK] </s> \0x", "ab" * 300]
MEMORY = 2 << 30
"""Beside what libraries have reserved once each kind has been opened."""
SECONDS = 60
_OPTIONS = {"vocab_size": 320, "special_tokens": ["<|end|>"]}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        file: the one that is damaged, below the folder of the kind.
        open: opens the folder, or the file, and uses what it got.
        is_json: whether its values are changed, too.
        mend: makes checksums agree with what was damaged, so that more than they are tried.
    """

    file: str
    open: Callable[[Path, Path], object]
    is_json: bool = False
    mend: Callable[[Path], None] | None = None


# --- checksums that agree ---------------------------------------------------------------------


def sum_folder(path: Path) -> None:
    """The manifest beside a file says its sha256, and has no self-test."""
    manifest = path.with_name("tokbench.json")
    document = json.loads(manifest.read_bytes())
    document["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    document["self_test"] = []
    manifest.write_text(json.dumps(document), encoding="utf-8")


def sum_tokbin(path: Path) -> None:
    """Sizes and checksums of a tokbin file, as far as it has a header and a table."""
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


# --- what is done with them -------------------------------------------------------------------


def use(tokenizer: Any) -> None:
    """Encode and decode, and look some tokens up."""
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
    from tokbench.cli.id_lists import parse_ids

    ids = parse_ids(file.read_bytes().decode(errors="replace"))
    tokbench.train([TEXT], vocab_size=260).decode(ids)


def of_preset(_: Path, file: Path) -> None:
    from tokbench.config import load_preset
    from tokbench.workbench.train import parsed_options

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
    "journal": Kind("shards/journal.jsonl", of_journal, is_json=True),
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


# --- good files -------------------------------------------------------------------------------


def make(folder: Path) -> list[str]:
    """A folder for each kind with good files; the kinds that there are here."""
    for name in KINDS:
        (folder / name).mkdir()
    bpe = tokbench.train([TEXT], **_OPTIONS)
    pieces = tokbench.train([TEXT], backend="wordpiece", vocab_size=90)
    unigram = tokbench.train([TEXT], backend="unigram", vocab_size=300)
    merged = tokbench.train([TEXT], backend="sentencepiece", vocab_size=330)
    for name, tokenizer in (("saved BPE", bpe), ("saved WordPiece", pieces), ("saved Unigram", unigram)):
        tokenizer.save(folder / name / "it")
        _lift(folder / name)
    for name in ("ranks of a saved BPE", "document of a saved BPE"):
        shutil.copytree(folder / "saved BPE", folder / name, dirs_exist_ok=True)
    copy = folder / "configuration of a saved WordPiece"
    shutil.copytree(folder / "saved WordPiece", copy, dirs_exist_ok=True)
    (copy / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))
    sum_folder(copy / "tokenizer_config.json")
    for name, of, kind in (
        ("BPE document", "saved BPE", "tokenizer.json"),
        ("WordPiece document", "saved WordPiece", "tokenizer.json"),
        ("rank file", "saved BPE", "ranks.tiktoken"),
        ("SentencePiece Unigram", "saved Unigram", "tokenizer.model"),
        ("word list", "saved WordPiece", "vocab.txt"),
        ("configuration of a word list", "saved WordPiece", "vocab.txt"),
        *((name, "saved BPE", "tokenizer.json") for name in BESIDE),
    ):
        shutil.copy(folder / of / kind, folder / name / kind)
    merged.save(folder / "SentencePiece BPE" / "it")
    _lift(folder / "SentencePiece BPE", keep="tokenizer.model")
    for name in ("tokbin", "tokbin with its sums", "tokbin of a library"):
        tokenizer = unigram if name == "tokbin of a library" else bpe
        (folder / name / "mine.tokbin").write_bytes(
            make_tokbin(Source(tokenizer=tokenizer, description=tokenizer.description())).files[""]
        )
    _write_documents(folder)
    _write_gguf(folder)
    _write_shards(folder, bpe)
    return _write_texts(folder)


def _lift(folder: Path, *, keep: str | None = None) -> None:
    for path in (folder / "it").iterdir():
        if keep in (None, path.name):
            path.rename(folder / path.name)
    shutil.rmtree(folder / "it")


BESIDE = {
    "configuration of a BPE": {
        "added_tokens_decoder": {"300": {"content": "<|x|>", "special": True, "lstrip": False}},
        "eos_token": "<|end|>",
        "bos_token": {"content": "<|end|>", "lstrip": False},
        "tokenizer_class": "GPT2Tokenizer",
        "add_prefix_space": False,
        "chat_template": [{"name": "default", "template": "{{ messages }}"}],
    },
    "map of special tokens": {"eos_token": "<|end|>", "additional_special_tokens": ["<|y|>"]},
    "added tokens": {"<|z|>": 300},
    "configuration of generation": {"bos_token_id": 1, "eos_token_id": [2, 300], "pad_token_id": None},
}


def _write_documents(folder: Path) -> None:
    for name, document in BESIDE.items():
        (folder / name / KINDS[name].file).write_text(json.dumps(document))
    document = json.loads((folder / "BPE document" / "tokenizer.json").read_bytes())
    vocab, merges = document["model"]["vocab"], document["model"]["merges"]
    for name in ("vocabulary beside merges", "merges"):
        (folder / name / "vocab.json").write_text(json.dumps(vocab))
        lines = [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
        (folder / name / "merges.txt").write_text("\n".join(["#version: 0.2", *lines, ""]), encoding="utf-8")
    (folder / "configuration of a word list" / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    pieces = [["<unk>", 0.0], ["▁", -2.0], *([letter, -3.0] for letter in "atexonri"), ["▁text", -4.5]]
    space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}
    words = {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1, "text": 2, "to": 3}, "unk_token": "[UNK]"}
    added = [{"id": 0, "content": "<unk>", "special": True}]
    for name, model, tokens, before in (
        ("Unigram document", unigram, added, space),
        ("WordLevel document", words, [], {"type": "Whitespace"}),
    ):
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        made = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [{**flags, **token} for token in tokens],
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
            "pre_tokenizer": before,
            "post_processor": None,
            "decoder": space if before is space else None,
            "model": model,
        }
        (folder / name / "tokenizer.json").write_text(json.dumps(made), encoding="utf-8")


def _write_gguf(folder: Path) -> None:
    from tokbench.formats.tokenizer_json import to_byte_level

    letters = [to_byte_level(bytes([byte])) for byte in range(256)]
    bpe = {
        "model": "gpt2",
        "pre": "gpt-2",
        "tokens": [*letters, "ab", "abab", "<|end|>"],
        "token_type": [1] * 258 + [3],
        "merges": ["a b", "ab ab"],
    }
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "▁a"]
    pieces = {
        "model": "llama",
        "tokens": tokens,
        "scores": [0.0] * 259 + [-1.0, -2.0, -0.5],
        "token_type": [2, 3, 3] + [6] * 256 + [1] * 3,
    }
    for name, fields in (("GGUF of BPE", bpe), ("GGUF of SentencePiece", pieces)):
        entries = b"".join(_entry(f"tokenizer.ggml.{key}", value) for key, value in fields.items())
        head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields))
        (folder / name / "mine.gguf").write_bytes(head + entries)


def _entry(key: str, value: Any) -> bytes:
    if isinstance(value, str):
        return _string(key) + struct.pack("<I", 8) + _string(value)
    kind = {str: 8, int: 5, float: 6}[type(value[0])]
    packed = [_string(v) if kind == 8 else struct.pack("<i" if kind == 5 else "<f", v) for v in value]
    return _string(key) + struct.pack("<IIQ", 9, kind, len(value)) + b"".join(packed)


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _write_shards(folder: Path, tokenizer: Any) -> None:
    from tokbench.shards import writing

    for name in ("index of shards", "shard", "offsets", "journal"):
        place = folder / name
        (place / "corpus.txt").write_text(TEXT * 3, encoding="utf-8")
        corpus = tokbench.open_corpus(place / "corpus.txt", documents="lines")
        if name != "journal":
            tokbench.write_shards(tokenizer, corpus, place / "shards", shard_tokens=60)
            continue
        tokenizer.save(place / "tokenizer")
        write_file = writing.write_file

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        writing.write_file = killed
        with suppress(KeyboardInterrupt):
            tokbench.write_shards(tokenizer, corpus, place / "shards", shard_tokens=60)
        writing.write_file = write_file


def _write_texts(folder: Path) -> list[str]:
    kinds = set(KINDS)
    for name, pack in (
        ("text", bytes),
        ("gzip", gzip.compress),
        ("bzip2", bz2.compress),
        ("xz", lzma.compress),
    ):
        (folder / name / KINDS[name].file).write_bytes(pack(TEXT.encode()))
    try:
        import zstandard

        (folder / "Zstandard" / "a.txt.zst").write_bytes(zstandard.ZstdCompressor().compress(TEXT.encode()))
    except ImportError:
        kinds.remove("Zstandard")
    try:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(
            pyarrow.table({"text": TEXT.splitlines()}), folder / "Parquet" / "a.parquet"
        )
    except ImportError:
        kinds.remove("Parquet")
    lines = [json.dumps({"text": text, "n": 1}) for text in TEXT.splitlines()]
    (folder / "JSON lines" / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "ids" / "ids.jsonl").write_text('{"ids": [1, 2, 3]}\n{"ids": [258, 0]}\n')
    (folder / "preset" / "mine.toml").write_text(
        'backend = "bpe"\ndescription = "mine"\n[options]\nvocab_size = 300\nspecial_tokens = ["<a>"]\n'
    )
    figures = {"bytes_per_token": {"value": 3.5}, "unk_rate": {"value": 0.0}}
    corpus = {"fingerprint": "0" * 64}
    saved = {
        "schema": "tokbench.compare/1",
        "corpus": corpus,
        "aggregation": "macro",
        "tokenizers": [
            {
                "name": "mine",
                "metrics": figures,
                "groups": {"de": figures},
                "fairness": {"reference": "en", "premiums": {"de": 1.5}, "max_premium": 1.5, "gini": 0.1},
            }
        ],
    }
    (folder / "baseline" / "saved.json").write_text(json.dumps(saved))
    return sorted(kinds)


# --- one case ---------------------------------------------------------------------------------


def case(good: Path, place: Path, name: str, *, source: Random) -> None:
    """Damage the file of a kind, in a copy of its folder, and open it. Raises whatever is no error for the user."""
    kind = KINDS[name]
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(good / name, place)
    path = place / kind.file
    is_structural = kind.is_json and source.random() < 0.7
    data = (mutated_json if is_structural else mutated)(path.read_bytes(), source=source)
    path.write_bytes(data)
    if kind.mend is not None:
        kind.mend(path)
    try:
        kind.open(place, path)
    except TokbenchError as error:
        assert error.message


def main() -> None:
    """Make good files, or try cases, each kind in turn."""
    good = Path(sys.argv[1])
    if len(sys.argv) == 2:
        good.mkdir()
        (good / "kinds.json").write_text(json.dumps(make(good)))
        return
    folder, seed, first, cases = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    names = json.loads((good / "kinds.json").read_bytes())
    for name in names:  # what is not damaged opens
        shutil.copytree(good / name, folder / "case")
        KINDS[name].open(folder / "case", folder / "case" / KINDS[name].file)
        shutil.rmtree(folder / "case")
    reserved = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (reserved + MEMORY, reserved + MEMORY))
    for number in range(first, first + cases):
        name = names[number % len(names)]
        print(json.dumps({"begun": number, "kind": name}), flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            case(good, folder / "case", name, source=Random(f"{seed}:{number}"))
        except BaseException as error:  # a panic of a library is none of Exception
            print(
                json.dumps({"case": number, "kind": name, "error": f"{type(error).__name__}: {error}"[:300]}),
                flush=True,
            )
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
