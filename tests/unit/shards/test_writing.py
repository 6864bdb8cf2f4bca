"""Tests for writing shards: numpy can map them, the index describes them, and bad requests are refused."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pytest
from support.folders import files_of
from support.sharded import EOS, TEXTS, tokenizer

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError, CorpusError, SpecialTokenError, StoreError
from tokbench.formats.tokenizer_config.roles import with_roles
from tokbench.shards.layout import npy_header
from tokbench.shards.plan import chosen_dtype, chosen_eos

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokbench.shards.reading import Shards


# Written shards


@pytest.mark.parametrize("shard_tokens", [1, 5, 20, 10**9])
@pytest.mark.parametrize("eos", [None, True, "<pad>"])
@pytest.mark.parametrize("format", ["npy", "bin"])
def test_every_document_is_written_in_order(
    write: Callable[..., Shards], format: str, eos: str | None, shard_tokens: int
) -> None:
    shards = write(format=format, eos=eos, shard_tokens=shard_tokens)
    special = tokenizer().info.special_tokens
    end = [] if eos is None else [special[EOS if eos is True else eos]]
    wanted = [tokenizer().encode(text) + end for text in TEXTS]
    assert [ids.tolist() for ids in shards] == wanted
    assert len(shards) == len(TEXTS)
    assert shards[-1].tolist() == wanted[-1]
    assert shards.tokens == sum(map(len, wanted))
    assert [shards.text(i, tokenizer()) for i in range(len(shards))] == TEXTS
    sizes = [len(array) for array in shards.arrays()]
    assert sum(sizes) == shards.tokens
    for entry, size in zip(shards.index.shards, sizes, strict=True):
        assert size <= shard_tokens or entry.documents == 1
        assert size == entry.tokens
    for one, following in zip(sizes, shards.index.shards[1:], strict=False):
        first = sum(entry.documents for entry in shards.index.shards[: shards.index.shards.index(following)])
        assert one + len(shards[first]) > shard_tokens  # a shard ends only if the next does not fit
    with pytest.raises(IndexError):
        shards[len(TEXTS)]


@pytest.mark.parametrize("document", [slice(0, 1), "0", None, 0.0])
def test_documents_have_whole_numbers(write: Callable[..., Shards], document: Any) -> None:
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        write()[document]


def test_numpy_can_map_a_shard(write: Callable[..., Shards]) -> None:
    shards = write()
    array = np.load(shards.folder / "shard-00000.npy", mmap_mode="r")
    assert isinstance(array, np.memmap)
    assert (array.dtype, array.shape) == (np.dtype("<u2"), (shards.tokens,))
    offsets = np.load(shards.folder / "shard-00000.offsets.npy", mmap_mode="r")
    assert offsets.dtype == np.dtype("<i8")
    assert array[offsets[1] : offsets[2]].tolist() == tokenizer().encode(TEXTS[1])
    bare = write(format="bin", dtype="uint32", overwrite=True)
    mapped = np.memmap(bare.folder / "shard-00000.bin", dtype="<u4", mode="r")
    assert mapped.tolist() == array.tolist()
    assert (bare.folder / "shard-00000.bin").stat().st_size == 4 * shards.tokens
    assert sorted(path.name for path in bare.folder.iterdir()) == [
        "index.json",
        "shard-00000.bin",
        "shard-00000.offsets.npy",
    ]


def test_index_describes_the_shards(write: Callable[..., Shards]) -> None:
    shards = write(eos=True, shard_tokens=20)
    index = json.loads((shards.folder / "index.json").read_bytes())
    assert index["schema"] == "tokbench.shards/1"
    assert (index["format"], index["dtype"]) == ("npy", "uint16")
    assert index["eos"] == {"text": EOS, "id": tokenizer().info.special_tokens[EOS]}
    assert index["tokenizer"]["vocab_size"] == tokenizer().info.vocab_size
    assert [file["documents"] for file in index["files"]] == [3, 3, 2]
    for entry in index["shards"]:
        data = (shards.folder / entry["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["sha256"]
    assert index["total"] == {
        "shards": len(index["shards"]),
        "documents": len(TEXTS),
        "tokens": shards.tokens,
        "text_bytes": sum(len(text.encode()) for text in TEXTS),
    }


def test_same_corpus_gives_the_same_bytes(write: Callable[..., Shards]) -> None:
    one = files_of(write(eos=True, shard_tokens=20, threads=1).folder)
    assert files_of(write(eos=True, shard_tokens=20, threads=3, overwrite=True).folder) == one


def test_special_tokens_are_ordinary_text_by_default(write: Callable[..., Shards]) -> None:
    id = tokenizer().info.special_tokens[EOS]
    assert id not in write()[4]
    assert write(special=SpecialPolicy.ENCODE, overwrite=True)[4].tolist() == [id]


def test_invalid_utf8_is_counted_by_file(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"good\nb\xe9d\nlast")
    corpus = tokbench.open_corpus(tmp_path / "bad.txt", documents="lines", errors="skip")
    shards = tokbench.write_shards(tokenizer(), corpus, tmp_path / "shards")
    assert [shards.text(i, tokenizer()) for i in range(len(shards))] == ["good", "last"]
    assert shards.index.files[0].skipped_documents == corpus.problems.skipped_documents == 1


def test_header_is_read_by_numpy(tmp_path: Path) -> None:
    for dtype, length in (("uint16", 0), ("uint32", 7), ("int64", 3)):
        data = np.arange(length).astype(dtype)
        (tmp_path / "a.npy").write_bytes(npy_header(dtype, length) + data.tobytes())
        assert np.load(tmp_path / "a.npy").tolist() == data.tolist()


# Refused requests


def test_too_small_dtype_is_refused() -> None:
    assert chosen_dtype("auto", 70_000) == "uint32"
    assert chosen_dtype("uint16", 65_536) == "uint16"
    with pytest.raises(ConfigError, match="65,537"):
        chosen_dtype("uint16", 65_537)
    with pytest.raises(ConfigError, match="float"):
        chosen_dtype("float", 10)


def test_missing_eos_token_is_refused() -> None:
    assert chosen_eos(tokenizer(), True).text == EOS
    assert chosen_eos(tokenizer(), "<pad>").text == "<pad>"
    assert chosen_eos(tokenizer(300, ("[SEP]", "</s>")), True).text == "</s>"
    roles = {"eos": "<e>"}
    assert chosen_eos(with_roles(tokenizer(300, ("<pad>", "<e>")), roles=roles), True).text == "<e>"
    assert chosen_eos(with_roles(tokenizer(300, ("<e>", "</s>")), roles=roles), True).text == "</s>"
    with pytest.raises(ConfigError, match="no special token '<eos>'") as refused:
        chosen_eos(tokenizer(), "<eos>")
    assert "'<|endoftext|>', '<pad>'" in str(refused.value.hint)
    with pytest.raises(ConfigError, match="known to end documents"):
        chosen_eos(tokenizer(300, ("<pad>",)), True)
    with pytest.raises(ConfigError) as refused:
        chosen_eos(tokenizer(300, ()), True)
    assert refused.value.hint == "it has no special tokens"


def test_invalid_options_are_refused(write: Callable[..., Shards]) -> None:
    for options in ({"format": "csv"}, {"shard_tokens": 0}, {"dtype": "int8"}):
        with pytest.raises(ConfigError):
            write(**options)
    with pytest.raises(ConfigError):
        write(resume=True, overwrite=True)


def test_files_in_the_output_folder_are_not_lost(write: Callable[..., Shards], tmp_path: Path) -> None:
    write()
    with pytest.raises(StoreError, match="exists"):
        write()
    (tmp_path / "shards" / "thesis.txt").write_text("years", encoding="utf-8")
    for options in ({}, {"overwrite": True}, {"resume": True}):
        with pytest.raises(StoreError, match=r"thesis\.txt"):
            write(**options)
    (tmp_path / "shards" / "thesis.txt").unlink()
    write(overwrite=True, format="bin", shard_tokens=5)
    before = files_of(tmp_path / "shards")
    write(resume=True, format="bin", shard_tokens=5)  # the run is already complete
    assert files_of(tmp_path / "shards") == before
    with pytest.raises(StoreError, match="format was bin, and is npy"):
        write(resume=True, shard_tokens=5)


def test_output_shards_inside_the_corpus_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"hello, world \xff")
    corpus = tokbench.open_corpus(tmp_path, errors="replace")
    first = tokbench.write_shards(tokenizer(), corpus, tmp_path / "shards")
    before = files_of(tmp_path / "shards")
    for options in ({"overwrite": True}, {"resume": True}):
        corpus = tokbench.open_corpus(tmp_path, tmp_path / "shards", errors="replace")
        assert len(corpus.files) > 1
        again = tokbench.write_shards(tokenizer(), corpus, tmp_path / "shards", **options)
        assert files_of(tmp_path / "shards") == before
        assert len(again) == len(first) == 1
        assert corpus.problems.replaced_bytes == ("overwrite" in options)


def test_corpus_without_a_document_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n \n", encoding="utf-8")
    corpus = tokbench.open_corpus(tmp_path / "empty.txt", documents="lines")
    with pytest.raises(CorpusError, match="there is no text"):
        tokbench.write_shards(tokenizer(), corpus, tmp_path / "shards")
    assert not (tmp_path / "shards").exists()


def test_run_that_fails_before_its_first_shard_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left behind: a second run, after the text was repaired, is a new run with nothing to resume."""
    monkeypatch.setattr("tokbench.shards.run._BATCH_CHARACTERS", 50)
    (tmp_path / "bad.txt").write_text("a text\n" * 50 + EOS, encoding="utf-8")
    corpus = tokbench.open_corpus(tmp_path / "bad.txt", documents="lines")
    for shard_tokens, left in ((10**6, set()), (10, {"journal.jsonl", "shard-00000.npy"})):
        with pytest.raises(SpecialTokenError):
            tokbench.write_shards(
                tokenizer(),
                corpus,
                tmp_path / "shards",
                shard_tokens=shard_tokens,
                special=SpecialPolicy.RAISE,
            )
        assert (tmp_path / "shards").exists() == bool(left)
        assert left <= {path.name for path in tmp_path.glob("shards/*")}


def test_disk_that_is_full_before_the_first_shard_leaves_nothing_to_resume(
    write: Callable[..., Shards], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(stream: BinaryIO) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), stream.name)

    monkeypatch.setattr("tokbench.shards.shard_file._sync", full)
    with pytest.raises(StoreError, match="No space left on device") as told:
        write()
    assert told.value.hint == "free some space, or name another folder with --out"
    assert not list((tmp_path / "shards").glob("*"))


def test_corpus_that_changes_meanwhile_is_refused(
    tmp_path: Path, corpus: tokbench.Corpus, write: Callable[..., Shards]
) -> None:
    def change(*_: object) -> None:
        (tmp_path / "corpus" / "c.txt").write_text("other " * 1000, encoding="utf-8")

    with pytest.raises(CorpusError, match="the corpus changed while it was read"):
        write(progress=change)
    with pytest.raises(CorpusError, match=r"c\.txt has changed since"):
        tokbench.write_shards(
            tokenizer(),
            tokbench.open_corpus(tmp_path / "corpus", documents="lines"),
            tmp_path / "shards",
            resume=True,
        )


def test_different_tokenizer_is_refused_even_with_the_same_tokens(
    write: Callable[..., Shards], tmp_path: Path
) -> None:
    """The last check uses a tokenizer with the same entries and another split pattern."""
    shards = write()
    ours = tokenizer()
    other = tokbench.train(TEXTS * 3, vocab_size=300, special_tokens=["<|endoftext|>", "<other>"])
    with pytest.raises(ConfigError, match="is another tokenizer"):
        shards.check_tokenizer(other)
    shards.check_tokenizer(ours)
    assert not tokbench.verify_shards(shards.folder, tokenizer=other).passed
    tokens = [ours.token_bytes(id) for id in range(ours.info.vocab_size - 2)]
    from tokbench.backends.bpe.kernel import current_kernel
    from tokbench.backends.bpe.split_patterns import resolve_pattern
    from tokbench.backends.bpe.tokenizer import BpeTokenizer

    unsplit = BpeTokenizer.from_ranks(
        tokens,
        pattern=resolve_pattern(r"[\s\S]"),
        kernel=current_kernel(),
        special_tokens=ours.info.special_tokens,
    )
    result = tokbench.verify_shards(shards.folder, tokenizer=unsplit)
    assert "gives different ids" in result.problems[0]
