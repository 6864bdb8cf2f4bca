"""Tests that every fault of damaged, foreign or hostile shards is reported."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.sharded import TEXTS, tokenizer

import tokbench
from tokbench.errors import ConfigError, ModelFormatError, StoreError
from tokbench.shards.layout import npy_header, parse_index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokbench.shards.reading import Shards


def test_valid_shards_pass(write: Callable[..., Shards], corpus: tokbench.Corpus) -> None:
    shards = write(eos=True, shard_tokens=20)
    result = tokbench.verify_shards(shards.folder, tokenizer=tokenizer(), corpus=corpus)
    assert result.passed
    assert result.compared == len(TEXTS)
    assert tokbench.verify_shards(shards.folder).compared == 0
    sampled = tokbench.verify_shards(shards.folder, tokenizer=tokenizer(), corpus=corpus, sample=3)
    assert (sampled.passed, sampled.compared) == (True, 3)
    with pytest.raises(ConfigError, match="encodes it again"):
        tokbench.verify_shards(shards.folder, corpus=corpus)
    for sample in (0, 3):
        with pytest.raises(ConfigError, match="sample"):
            tokbench.verify_shards(
                shards.folder, corpus=corpus if sample == 0 else None, tokenizer=tokenizer(), sample=sample
            )


@pytest.mark.parametrize("name", ["shard-00000.npy", "shard-00001.offsets.npy"])
def test_every_flipped_bit_is_reported(write: Callable[..., Shards], name: str) -> None:
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
def test_file_of_another_size_is_reported(write: Callable[..., Shards], name: str, change: str) -> None:
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
        assert any("found no file" in problem for problem in tokbench.verify_shards(shards.folder).problems)
    assert any(name in problem for problem in tokbench.verify_shards(shards.folder).problems)
    with pytest.raises(ModelFormatError, match=name):
        tokbench.open_shards(shards.folder)


def test_link_out_of_the_folder_is_not_followed(write: Callable[..., Shards], tmp_path: Path) -> None:
    shards = write()
    path = shards.folder / "shard-00000.npy"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelFormatError, match="a link to"):
        tokbench.open_shards(shards.folder)
    assert not tokbench.verify_shards(shards.folder).passed


def test_additional_file_is_reported(write: Callable[..., Shards]) -> None:
    shards = write()
    (shards.folder / "shard-00007.npy").touch()
    assert tokbench.verify_shards(shards.folder).problems == ("shard-00007.npy is not in the index",)


def rehashed(folder: Path, change: Callable[[dict[str, Any]], None] = lambda _: None) -> None:
    """Update the hashes in the index after files were changed, as an attacker would."""
    index = json.loads((folder / "index.json").read_bytes())
    for entry in index["shards"]:
        offsets = entry["file"].partition(".")[0] + ".offsets.npy"
        entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
        entry["offsets"] = hashlib.sha256((folder / offsets).read_bytes()).hexdigest()
    change(index)
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")


def test_contents_are_checked_despite_correct_hashes(
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
    assert "document 0 has different ids" in problems_of(changed, offsets, **both)
    assert problems_of(ids, offsets, **both) == ""


def test_different_corpus_is_reported(write: Callable[..., Shards], tmp_path: Path) -> None:
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
def test_hostile_index_is_refused(write: Callable[..., Shards], change: Callable[..., Any]) -> None:
    path = write(eos=True).folder / "index.json"
    path.write_text(json.dumps(change(json.loads(path.read_bytes()))), encoding="utf-8")
    with pytest.raises(ModelFormatError):
        tokbench.open_shards(path.parent)
    with suppress(ModelFormatError):
        assert not tokbench.verify_shards(path.parent).passed


def test_malformed_index_and_missing_folder_are_refused(tmp_path: Path) -> None:
    for data in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null"):
        with pytest.raises(ModelFormatError):
            parse_index(data, path=tmp_path / "index.json")
    with pytest.raises(StoreError, match="no finished shards"):
        tokbench.open_shards(tmp_path)
    with pytest.raises(StoreError, match="nowhere does not exist"):
        tokbench.open_shards(tmp_path / "nowhere")
