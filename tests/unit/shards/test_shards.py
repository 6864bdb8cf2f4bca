"""Shards: what is written is what numpy maps, the index says all of it, and what is wrong is told."""

from __future__ import annotations

import gzip
import hashlib
import json
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError, CorpusError, ModelFormatError, StoreError
from tokbench.shards.layout import npy_header, parse_index
from tokbench.shards.plan import chosen_dtype, chosen_eos

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.shards.reading import Shards

TEXTS = ["one", "two words", "drei Wörter", "四", "<|endoftext|>", "a longer document " * 9, "x", "end"]
EOS = "<|endoftext|>"


@cache
def tokenizer(vocab_size: int = 300, special: tuple[str, ...] = (EOS, "<pad>")) -> Tokenizer:
    return tokbench.train(TEXTS * 3, vocab_size=vocab_size, special_tokens=special)


@pytest.fixture
def corpus(tmp_path: Path) -> tokbench.Corpus:
    """The texts in files of three kinds."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text("\n".join(TEXTS[:3]) + "\n", encoding="utf-8")
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS[3:6])
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "c.txt").write_text("\n\n\r\n" + "\r\n".join(TEXTS[6:]), encoding="utf-8")
    return tokbench.open_corpus(folder, documents="lines")


@pytest.fixture
def write(corpus: tokbench.Corpus, tmp_path: Path) -> Callable[..., Shards]:
    def write(**options: Any) -> Shards:
        return tokbench.write_shards(tokenizer(), corpus, tmp_path / "shards", **options)

    return write


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# What is written


@pytest.mark.parametrize("shard_tokens", [1, 5, 20, 10**9])
@pytest.mark.parametrize("eos", [None, True, "<pad>"])
@pytest.mark.parametrize("format", ["npy", "bin"])
def test_every_document_is_there_in_order(
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
        assert one + len(shards[first]) > shard_tokens  # a shard ends only where the next does not fit
    with pytest.raises(IndexError):
        shards[len(TEXTS)]


def test_numpy_maps_a_shard_as_it_is(write: Callable[..., Shards]) -> None:
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


def test_the_index_says_what_is_there(write: Callable[..., Shards]) -> None:
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


def test_the_same_corpus_gives_the_same_bytes(write: Callable[..., Shards]) -> None:
    one = files_of(write(eos=True, shard_tokens=20, threads=1).folder)
    assert files_of(write(eos=True, shard_tokens=20, threads=3, overwrite=True).folder) == one


def test_special_tokens_are_text_unless_asked_for(write: Callable[..., Shards]) -> None:
    id = tokenizer().info.special_tokens[EOS]
    assert id not in write()[4]
    assert write(special=SpecialPolicy.ENCODE, overwrite=True)[4].tolist() == [id]


def test_bad_utf8_is_counted_by_file(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"good\nb\xe9d\nlast")
    corpus = tokbench.open_corpus(tmp_path / "bad.txt", documents="lines", errors="skip")
    shards = tokbench.write_shards(tokenizer(), corpus, tmp_path / "shards")
    assert [shards.text(i, tokenizer()) for i in range(len(shards))] == ["good", "last"]
    assert shards.index.files[0].skipped_documents == corpus.problems.skipped_documents == 1


def test_the_header_is_one_that_numpy_reads(tmp_path: Path) -> None:
    for dtype, length in (("uint16", 0), ("uint32", 7), ("int64", 3)):
        data = np.arange(length).astype(dtype)
        (tmp_path / "a.npy").write_bytes(npy_header(dtype, length) + data.tobytes())
        assert np.load(tmp_path / "a.npy").tolist() == data.tolist()


# What is refused


def test_a_type_that_is_too_small_is_refused() -> None:
    assert chosen_dtype("auto", 70_000) == "uint32"
    assert chosen_dtype("uint16", 65_536) == "uint16"
    with pytest.raises(ConfigError, match="65,537"):
        chosen_dtype("uint16", 65_537)
    with pytest.raises(ConfigError, match="float"):
        chosen_dtype("float", 10)


def test_an_end_of_text_that_there_is_not_is_refused() -> None:
    assert chosen_eos(tokenizer(), True).text == EOS
    assert chosen_eos(tokenizer(), "<pad>").text == "<pad>"
    assert chosen_eos(tokenizer(300, ("[SEP]", "</s>")), True).text == "</s>"
    with pytest.raises(ConfigError, match="no special token '<eos>'") as refused:
        chosen_eos(tokenizer(), "<eos>")
    assert "'<|endoftext|>', '<pad>'" in str(refused.value.hint)
    with pytest.raises(ConfigError, match="known to end documents"):
        chosen_eos(tokenizer(300, ("<pad>",)), True)
    with pytest.raises(ConfigError) as refused:
        chosen_eos(tokenizer(300, ()), True)
    assert refused.value.hint == "it has none at all"


def test_options_that_cannot_be_are_refused(write: Callable[..., Shards]) -> None:
    for options in ({"format": "csv"}, {"shard_tokens": 0}, {"dtype": "int8"}):
        with pytest.raises(ConfigError):
            write(**options)
    with pytest.raises(ConfigError):
        write(resume=True, overwrite=True)


def test_nothing_is_lost_in_the_folder(write: Callable[..., Shards], tmp_path: Path) -> None:
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
    write(resume=True, format="bin", shard_tokens=5)  # it is done already
    assert files_of(tmp_path / "shards") == before
    with pytest.raises(StoreError, match="format was bin, and is npy"):
        write(resume=True, shard_tokens=5)


def test_a_corpus_without_a_document_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n \n", encoding="utf-8")
    corpus = tokbench.open_corpus(tmp_path / "empty.txt", documents="lines")
    with pytest.raises(CorpusError, match="there is no text"):
        tokbench.write_shards(tokenizer(), corpus, tmp_path / "shards")


def test_a_corpus_that_changes_meanwhile_is_an_error(
    tmp_path: Path, corpus: tokbench.Corpus, write: Callable[..., Shards]
) -> None:
    def change(*_: object) -> None:
        (tmp_path / "corpus" / "c.txt").write_text("other", encoding="utf-8")

    with pytest.raises(CorpusError, match="changed while it was read"):
        write(progress=change)
    with pytest.raises(CorpusError, match=r"c\.txt has changed since"):
        tokbench.write_shards(
            tokenizer(),
            tokbench.open_corpus(tmp_path / "corpus", documents="lines"),
            tmp_path / "shards",
            resume=True,
        )


def test_another_tokenizer_is_told_even_by_what_it_does_alone(
    write: Callable[..., Shards], tmp_path: Path
) -> None:
    """A tokenizer with the same entries that splits otherwise."""
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
    assert "gives other ids" in result.problems[0]


# What is wrong


def test_good_shards_are_good(write: Callable[..., Shards], corpus: tokbench.Corpus) -> None:
    shards = write(eos=True, shard_tokens=20)
    result = tokbench.verify_shards(shards.folder, tokenizer=tokenizer(), corpus=corpus)
    assert result.passed
    assert result.compared == len(TEXTS)
    assert tokbench.verify_shards(shards.folder).compared == 0
    sampled = tokbench.verify_shards(shards.folder, tokenizer=tokenizer(), corpus=corpus, sample=3)
    assert (sampled.passed, sampled.compared) == (True, 3)
    with pytest.raises(ConfigError, match="encoding it again"):
        tokbench.verify_shards(shards.folder, corpus=corpus)
    for sample in (0, 3):
        with pytest.raises(ConfigError, match="--sample"):
            tokbench.verify_shards(
                shards.folder, corpus=corpus if sample == 0 else None, tokenizer=tokenizer(), sample=sample
            )


@pytest.mark.parametrize("name", ["shard-00000.npy", "shard-00001.offsets.npy"])
def test_every_flipped_bit_is_told(write: Callable[..., Shards], name: str) -> None:
    shards = write(eos=True, shard_tokens=40)
    path = shards.folder / name
    data = path.read_bytes()
    for place in {0, 20, 60, 127, 128, len(data) // 2, len(data) - 1}:
        path.write_bytes(data[:place] + bytes([data[place] ^ 64]) + data[place + 1 :])
        problems = tokbench.verify_shards(shards.folder).problems
        assert f"{name} was changed" in problems[0]
    path.write_bytes(data)
    assert tokbench.verify_shards(shards.folder).passed


@pytest.mark.parametrize("name", ["shard-00000.npy", "shard-00001.offsets.npy"])
@pytest.mark.parametrize("change", ["cut", "longer", "gone", "folder"])
def test_a_file_of_another_size_is_told(write: Callable[..., Shards], name: str, change: str) -> None:
    shards = write(shard_tokens=40)
    path = shards.folder / name
    data = path.read_bytes()
    path.unlink()
    if change == "cut":
        path.write_bytes(data[:-2])
    elif change == "longer":
        path.write_bytes(data + b"\0\0")
    elif change == "folder":
        path.mkdir()
    assert any(name in problem for problem in tokbench.verify_shards(shards.folder).problems)
    with pytest.raises(ModelFormatError, match=name):
        tokbench.open_shards(shards.folder)


def test_a_link_out_of_the_folder_is_not_followed(write: Callable[..., Shards], tmp_path: Path) -> None:
    shards = write()
    path = shards.folder / "shard-00000.npy"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelFormatError, match="a link to"):
        tokbench.open_shards(shards.folder)
    assert not tokbench.verify_shards(shards.folder).passed


def test_a_file_too_many_is_told(write: Callable[..., Shards]) -> None:
    shards = write()
    (shards.folder / "shard-00007.npy").touch()
    assert tokbench.verify_shards(shards.folder).problems == ("shard-00007.npy is not in the index",)


def rehashed(folder: Path, change: Callable[[dict[str, Any]], None] = lambda _: None) -> None:
    """Make the index agree with files that were changed: as an enemy would."""
    index = json.loads((folder / "index.json").read_bytes())
    for entry in index["shards"]:
        offsets = entry["file"].partition(".")[0] + ".offsets.npy"
        entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
        entry["offsets"] = hashlib.sha256((folder / offsets).read_bytes()).hexdigest()
    change(index)
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")


def test_contents_are_checked_whatever_the_sums_say(
    write: Callable[..., Shards], corpus: tokbench.Corpus
) -> None:
    folder = write(eos=True).folder
    ids = np.load(folder / "shard-00000.npy")
    offsets = np.load(folder / "shard-00000.offsets.npy")

    def problems_of(ids: Any, offsets: Any, **options: Any) -> str:
        (folder / "shard-00000.npy").write_bytes(npy_header("uint16", len(ids)) + ids.tobytes())
        (folder / "shard-00000.offsets.npy").write_bytes(
            npy_header("int64", len(offsets)) + offsets.astype("<i8").tobytes()
        )
        rehashed(folder)
        return " ".join(tokbench.verify_shards(folder, **options).problems)

    assert problems_of(ids, offsets) == ""
    changed = ids.copy()
    changed[3] = 60_000
    assert "has the id 60000 at 3" in problems_of(changed, offsets)
    changed = ids.copy()
    changed[offsets[2] - 1] = 7
    assert "its document 1 does not end in" in problems_of(changed, offsets)
    for place, value, told in (
        (1, 2**40, "ascend"),
        (1, -5, "ascend"),
        (0, 1, "runs from 1"),
        (-1, 3, "to 3"),
    ):
        moved = offsets.copy()
        moved[place] = value
        assert told in problems_of(ids, moved)
    moved = offsets.copy()
    moved[1] = 2**40
    problems_of(ids, moved)
    with pytest.raises(ModelFormatError, match="offsets that ascend"):
        tokbench.open_shards(folder)[0]
    changed = ids.copy()
    changed[0] ^= 1
    both = {"tokenizer": tokenizer(), "corpus": corpus}
    assert "document 0 has other ids" in problems_of(changed, offsets, **both)
    assert problems_of(ids, offsets, **both) == ""


def test_another_corpus_is_told(write: Callable[..., Shards], tmp_path: Path) -> None:
    folder = write().folder
    (tmp_path / "corpus" / "c.txt").write_text("x\nend\none more", encoding="utf-8")
    more = tokbench.open_corpus(tmp_path / "corpus", documents="lines")
    problems = tokbench.verify_shards(folder, tokenizer=tokenizer(), corpus=more).problems
    assert problems == ("the corpus has 9 documents, and the shards have 8",)


HOSTILE = {
    "not an object": lambda index: [],
    "another schema": lambda index: index | {"schema": "tokbench.shards/2"},
    "a format": lambda index: index | {"format": "pickle"},
    "a type": lambda index: index | {"dtype": "object"},
    "a path outside": lambda index: with_shard(index, file="../x.npy"),
    "an absolute path": lambda index: with_shard(index, file="/etc/passwd"),
    "another shard": lambda index: with_shard(index, file="shard-00001.npy"),
    "a huge length": lambda index: with_shard(index, tokens=2**52),
    "a length beyond all": lambda index: with_shard(index, tokens=2**70),
    "a negative length": lambda index: with_shard(index, tokens=-1),
    "huge documents": lambda index: with_shard(index, documents=2**50),
    "no documents": lambda index: with_shard(index, documents=0),
    "a true length": lambda index: with_shard(index, tokens=True),
    "no sha256": lambda index: with_shard(index, sha256="0"),
    "no shards": lambda index: index | {"shards": []},
    "shards of numbers": lambda index: index | {"shards": [1, 2]},
    "an id beyond": lambda index: index | {"eos": {"text": "a", "id": 300}},
    "a policy": lambda index: index | {"options": index["options"] | {"special_policy": "sure"}},
    "other totals": lambda index: index | {"total": index["total"] | {"tokens": 1}},
}


def with_shard(index: dict[str, Any], **changes: Any) -> dict[str, Any]:
    index["shards"][0] |= changes
    if set(changes) <= {"tokens", "documents"} and all(type(value) is int for value in changes.values()):
        index["total"] |= changes
    return index


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_index_is_refused(write: Callable[..., Shards], change: Callable[..., Any]) -> None:
    path = write(eos=True).folder / "index.json"
    path.write_text(json.dumps(change(json.loads(path.read_bytes()))), encoding="utf-8")
    with pytest.raises(ModelFormatError):
        tokbench.open_shards(path.parent)
    with suppress(ModelFormatError):
        assert not tokbench.verify_shards(path.parent).passed


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    for data in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null"):
        with pytest.raises(ModelFormatError):
            parse_index(data, path=tmp_path / "index.json")
    with pytest.raises(StoreError, match="no finished shards"):
        tokbench.open_shards(tmp_path)
