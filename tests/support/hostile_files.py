"""Good files of every kind that tokbench reads, to be damaged by tests."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import tokbench
from support import huggingface
from support.hostile_kinds import KINDS, TEXT, sum_folder
from tokbench.convert.conversion import Source
from tokbench.convert.targets.tokbin import make as make_tokbin

if TYPE_CHECKING:
    from pathlib import Path

_OPTIONS = {"vocab_size": 320, "special_tokens": ["<|end|>"]}


def make(folder: Path) -> list[str]:
    """Write a folder of good files for each kind, and return the kinds that are available here."""
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
    added = [huggingface.added("<unk>", 0)]
    for name, model, tokens, before in (
        ("Unigram document", unigram, added, space),
        ("WordLevel document", words, [], {"type": "Whitespace"}),
    ):
        fields = huggingface.document(
            model,
            added_tokens=tokens,
            normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
            pre_tokenizer=before,
            decoder=space if before is space else None,
        )
        (folder / name / "tokenizer.json").write_bytes(huggingface.dump(fields))


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
