"""The identity of a plan: it depends on everything in the plan, and is computed once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.distributed.corpus_plan import CorpusPlan, FilePart, PlannedFile

if TYPE_CHECKING:
    import pytest

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
