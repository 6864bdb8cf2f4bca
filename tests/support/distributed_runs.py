"""Runs of the test tasks on an engine, and the files that they leave in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.distributed.tasks import Slice, results_in_order

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.distributed.tasks import Engine

SQUARES = {f"{number}.txt": str(number**2).encode() for number in range(6)}
"""The files that the task `square` and its variants write."""


def slices(folder: Path, count: int = 6) -> list[Slice]:
    return [
        Slice(f"part {number} of {count}", {"number": number, "folder": str(folder)})
        for number in range(count)
    ]


def run(engine: Engine, task: str, folder: Path, *, count: int = 6) -> list[dict[str, Any]]:
    return results_in_order(
        engine, f"support.distributed_tasks:{task}", slices(folder, count), phase="x", progress=no_progress
    )


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.txt")}
