"""Tests for the index of shards written in parts: damaged and missing parts are reported."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from support.shard_parts import case_in
from support.sharded import tokenizer

import tokbench
from tokbench.errors import ModelFormatError
from tokbench.shards.verification import verify_shards

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def written(tmp_path: Path) -> Path:
    tokenizer().save(tmp_path / "saved")
    case = case_in(tmp_path, str(tmp_path / "saved"))
    case.write()
    return case.folder / "out"


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text('{"schema": "tokbench.shards/2"' + json.dumps(document)[1:].partition('/2"')[2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda index: index["parts"].clear(), "at least one part"),
        (lambda index: index["parts"].reverse(), "each part once, in order"),
        (lambda index: index["parts"].append(index["parts"][0]), "each part once, in order"),
        (lambda index: index["parts"][0].update(folder="../x"), "a name as 'part-00000'"),
        (lambda index: index["parts"][0].update(index="0" * 64), r"the sha256 .* of part-00000/index\.json"),
        (lambda index: index["parts"][0].update(tokens=1), r"as part-00000/index\.json says"),
        (lambda index: index["total"].update(documents=1), "the sum"),
        (lambda index: index.update(dtype="uint32"), "the dtype of"),
        (lambda index: index.update(eos={"text": "x", "id": 1}), "the eos of"),
        (lambda index: index["parts"].pop(), "the sum"),
    ],
)
def test_damaged_index_is_refused(written: Path, change: Callable[[Any], Any], message: str) -> None:
    edit(written / "index.json", change)
    with pytest.raises(ModelFormatError, match=message):
        tokbench.open_shards(written)


def test_missing_or_changed_part_is_reported(written: Path) -> None:
    (written / "part-00009").mkdir()
    (written / "part-00000/shard-00007.npy").touch()
    assert verify_shards(written).problems == (
        "part-00009 is not in the index",
        "part-00000/shard-00007.npy is not in the index",
    )
    shard = written / "part-00001/shard-00000.npy"
    shard.write_bytes(shard.read_bytes()[:-2] + b"\0\0")
    assert any(
        problem.startswith("part-00001/shard-00000.npy was changed")
        for problem in verify_shards(written).problems
    )
    shutil.rmtree(written / "part-00001")
    with pytest.raises(
        ModelFormatError, match=r"part-00001/index\.json: expected the index of a part, found none"
    ):
        tokbench.open_shards(written)
