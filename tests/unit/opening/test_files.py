"""Tests for compressed files, damaged files beside whole ones, and files that were never downloaded."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from typing import TYPE_CHECKING

import pytest
from support import huggingface
from support.sentencepiece_models import variant
from support.small_files import BYTES, opened, rank_file

import tokbench
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.opening import files
from tokbench.opening.files import SUFFIXES
from tokbench.opening.recognition import Format
from tokbench.workbench.inspect import inspect_opened

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


RANKS = rank_file([*BYTES, b"lo", b"low"])
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 17210102\n" % (b"4d" * 32)


def zstd(data: bytes) -> bytes:
    packer = pytest.importorskip("zstandard")
    return packer.ZstdCompressor().compress(data)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}

# Compressed files


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_compressed_rank_file_opens(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"mine.tiktoken{suffix}"
    path.write_bytes(PACKERS[suffix](RANKS))
    model = opened(path, pattern="gpt4")
    assert model.source.format is Format.RANKS
    assert model.tokenizer.info.name == "mine"
    assert model.tokenizer.encode("low lo") == [257, 32, 256]
    assert opened(tmp_path, pattern="gpt4").tokenizer.encode("low") == [257]
    assert inspect_opened(model).files[0].num_bytes == path.stat().st_size


def test_other_compressed_vocabularies_open(tmp_path: Path) -> None:
    document = huggingface.byte_level()
    expected = tokbench.load(_written(tmp_path / "plain" / "tokenizer.json", document)).encode("the the")
    assert (
        tokbench.load(_written(tmp_path / "a" / "tokenizer.json.gz", gzip.compress(document))).encode(
            "the the"
        )
        == expected
    )
    words = _written(tmp_path / "b" / "vocab.txt.xz", lzma.compress(b"[UNK]\nlow\n##er\n"))
    assert tokbench.load(words).encode("lower") == [1, 2]
    model = variant("bpe").description().proto
    _written(tmp_path / "c" / "tokenizer.model.bz2", bz2.compress(model))
    assert tokbench.load(tmp_path / "c").encode("the") == variant("bpe").encode("the")
    vocab = json.loads(document)["model"]
    _written(tmp_path / "d" / "vocab.json.gz", gzip.compress(json.dumps(vocab["vocab"]).encode()))
    merges = "".join(" ".join(pair) + "\n" for pair in vocab["merges"])
    _written(tmp_path / "d" / "merges.txt.gz", gzip.compress(merges.encode()))
    assert tokbench.load(tmp_path / "d", pattern="gpt2").encode("the the") == expected


def test_plain_file_is_preferred_to_a_compressed_one(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes(b"[UNK]\nlow\n")
    (tmp_path / "vocab.txt.gz").write_bytes(gzip.compress(b"[UNK]\nother\nlow\n"))
    assert tokbench.load(tmp_path).encode("low") == [1]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_decompression_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tmp_path / f"bomb.tiktoken{suffix}"
    path.write_bytes(PACKERS[suffix](RANKS + b"\n" * 3_000_000))
    monkeypatch.setattr(files.read_file, "__kwdefaults__", {"limit": 2_000_000})
    with pytest.raises(
        ModelFormatError, match=r"at most 2,000,000 bytes of vocabulary, found more after unpacking"
    ):
        tokbench.load(path, pattern="gpt4")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_truncated_compressed_file_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"mine.tiktoken{suffix}"
    path.write_bytes(PACKERS[suffix](RANKS)[:-40])
    with pytest.raises(ModelFormatError, match=r"a compressed vocabulary, found its compressed data is"):
        tokbench.load(path, pattern="gpt4")


def test_word_list_that_begins_like_bzip2_opens(tmp_path: Path) -> None:
    assert tokbench.load(_written(tmp_path / "vocab.txt", b"BZh\n[UNK]\nlow\n")).encode("low") == [2]


def test_compressed_gguf_is_refused(tmp_path: Path) -> None:
    path = _written(tmp_path / "model.gguf.gz", gzip.compress(b"GGUF" + bytes(100)))
    with pytest.raises(
        ModelFormatError, match="an uncompressed GGUF file, found a compressed file"
    ) as refused:
        tokbench.load(path)
    assert "unpack it" in (refused.value.hint or "")


# Damaged files beside whole ones


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (huggingface.byte_level()[:5000], "JSON"),
        (b"", "an empty file"),
        (POINTER, "a Git LFS pointer"),
        (b"<!DOCTYPE html>\n<html><body>404</body></html>", "a page of HTML"),
        (huggingface.byte_level().replace(b'"merges"', b'"marges"'), "a list of merges"),
        (b"\x80\x04pickled", "a Python pickle"),
    ],
)
def test_folder_with_a_damaged_file_opens_the_whole_one_and_warns(
    tmp_path: Path, damage: bytes, why: str
) -> None:
    (tmp_path / "tokenizer.json").write_bytes(damage)
    (tmp_path / "tokenizer.model").write_bytes(variant("bpe").description().proto)
    model = opened(tmp_path)
    assert model.source.format is Format.SENTENCEPIECE
    assert model.tokenizer.encode("the") == variant("bpe").encode("the")
    warning = inspect_opened(model).warnings[0]
    assert warning.startswith("damaged and skipped: ")
    assert str(tmp_path / "tokenizer.json") in warning
    assert why in warning


def test_folder_of_damaged_files_names_each_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(b'{"model": {')
    (tmp_path / "tokenizer.model").write_bytes(variant("bpe").description().proto[:-30])
    (tmp_path / "vocab.txt").write_bytes(POINTER)
    with pytest.raises(ModelFormatError) as refused:
        tokbench.load(tmp_path)
    for name in ("tokenizer.json", "tokenizer.model", "vocab.txt"):
        assert str(tmp_path / name) in refused.value.message


def test_damaged_file_has_the_same_error_by_path_and_by_folder(tmp_path: Path) -> None:
    path = _written(tmp_path / "one" / "tokenizer.json", b'{"model": {')
    messages = []
    for named in (path, path.parent):
        with pytest.raises(ModelFormatError) as refused:
            tokbench.load(named)
        messages.append(refused.value.message)
    assert messages[0] == messages[1]


def test_missing_pattern_error_mentions_the_skipped_file(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(POINTER)
    (tmp_path / "mine.tiktoken").write_bytes(RANKS)
    with pytest.raises(ConfigError, match=r"does not define how to split text.*skipped: .*a Git LFS pointer"):
        tokbench.load(tmp_path)
    assert tokbench.load(tmp_path, pattern="gpt4").encode("low") == [257]


def test_invalid_option_does_not_skip_a_file_as_damaged(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(huggingface.byte_level())
    (tmp_path / "tokenizer.model").write_bytes(variant("bpe").description().proto)
    with pytest.raises(ConfigError, match="already defines what --pattern would set"):
        tokbench.load(tmp_path, pattern="gpt4")


# Files that were not downloaded


@pytest.mark.parametrize(
    "name", ["tokenizer.json", "merges.txt", "tokenizer.model", "vocab.txt", "mine.tiktoken"]
)
def test_git_lfs_pointer_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelFormatError, match="a Git LFS pointer to it: it was not downloaded") as refused:
        tokbench.load(_written(tmp_path / name, POINTER))
    assert "git lfs pull" in (refused.value.hint or "")


def test_git_lfs_pointer_among_two_needed_files_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "merges.txt").write_bytes(b"#version: 0.2\nl o\n")
    (tmp_path / "vocab.json").write_bytes(POINTER)
    with pytest.raises(ModelFormatError, match=r"vocab\.json.*a Git LFS pointer"):
        tokbench.load(tmp_path)


@pytest.mark.parametrize(
    "page", [b"<!doctype html><html>", b"\xef\xbb\xbf <HTML lang='en'>", b"<?xml version='1.0'?><Error/>"]
)
def test_html_or_xml_page_is_refused_by_name(tmp_path: Path, page: bytes) -> None:
    with pytest.raises(ModelFormatError, match="a page of HTML or XML"):
        tokbench.load(_written(tmp_path / "tokenizer.json", page))


def _written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
