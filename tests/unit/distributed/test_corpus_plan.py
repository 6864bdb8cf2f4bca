"""The identity of a plan, which is computed once, and the division into parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tokbench.distributed import plan_folder
from tokbench.distributed.corpus_plan import (
    MAX_PARTS,
    CorpusPlan,
    FilePart,
    PlannedFile,
    divided,
    read_plan,
)
from tokbench.distributed.plan_folder import open_plan
from tokbench.errors import ConfigError
from tokbench.files.storage.open import place_of

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.files.storage.place import Place

PLAN = CorpusPlan(
    schema="a/1",
    settings={"threads": 1},
    reading={"documents": "lines"},
    files=(PlannedFile("a.txt", "a.txt", 9, version="1", kind="text", compression=None, below=(), named=()),),
    parts=((FilePart(0, 0, 4),), (FilePart(0, 4, 9),)),
)


def test_plans_that_differ_have_different_identities() -> None:
    others = [
        replace(PLAN, settings={"threads": 2}),
        replace(PLAN, reading={"documents": "file"}),
        replace(PLAN, parts=PLAN.parts[:1]),
    ]
    assert len({PLAN.id, *(other.id for other in others)}) == 4
    assert replace(PLAN).id == PLAN.id


def test_identity_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part asks for it several times: with one dump for each, planning took time quadratic in the parts."""
    dumped = []
    dump = CorpusPlan.dump

    def counted(plan: CorpusPlan) -> bytes:
        dumped.append(plan)
        return dump(plan)

    monkeypatch.setattr(CorpusPlan, "dump", counted)
    plan = replace(PLAN)
    assert [plan.id for _ in plan.parts] == [PLAN.id] * 2
    assert dumped == [plan]
    assert dump(plan) == dump(PLAN)


def test_plan_is_read_once_by_a_process_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Place] = []

    def counted(place: Place, *, schema: str) -> CorpusPlan:
        read.append(place)
        return read_plan(place, schema=schema)

    monkeypatch.setattr(plan_folder, "read_plan", counted)
    place = place_of(tmp_path) / "plan.json"
    place.write(PLAN.dump())
    arguments = {"folder": str(tmp_path), "plan": PLAN.id}
    for _ in range(3):
        assert open_plan(arguments, schema=PLAN.schema)[1] == PLAN
    assert len(read) == 1
    place.write(replace(PLAN, settings={"threads": 2}).dump())
    with pytest.raises(ConfigError, match="has a different plan now"):
        open_plan(arguments, schema=PLAN.schema)


def test_a_part_size_that_makes_too_many_parts_is_refused() -> None:
    sizes = [MAX_PARTS * 100, 7]
    with pytest.raises(
        ConfigError, match="--part-bytes 1 divides the corpus into more than 100,000"
    ) as refused:
        list(divided(sizes, [True, True], 1))
    smallest = int((refused.value.hint or "").split()[-1])
    assert 0 < len(list(divided(sizes, [True, True], smallest))) <= MAX_PARTS
