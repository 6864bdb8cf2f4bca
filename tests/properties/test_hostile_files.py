"""Damaged files of every kind open, or are refused with an error for the user: no crash, no hang, no huge memory.

TOKBENCH_FUZZ_SEED draws other damage, and TOKBENCH_FUZZ_CASES sets the number of cases of the smaller test, by default
200; the larger test has 2,000. Messages of failures contain the seed and the case.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from support import mutations

import tokbench

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bounds the memory as Linux does")

PROGRAM = Path(__file__).parents[1] / "support" / "hostile.py"
SEED = int(os.environ.get("TOKBENCH_FUZZ_SEED", "1"))
CASES = int(os.environ.get("TOKBENCH_FUZZ_CASES", "200"))
MANY = 2_000
AT_ONCE = 1_000
"""Cases per process: memory that a library leaks must not add up to the memory limit."""


def program(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(Path(tokbench.__file__).parents[1])},
        capture_output=True,
        check=False,
        timeout=1200,
    )


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a folder with good files of every kind once."""
    folder = tmp_path_factory.mktemp("hostile") / "good"
    done = program(folder)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return folder


def run(good: Path, folder: Path, *, seed: int, first: int, cases: int) -> list[str]:
    """Run cases of damage, and return a line for each failure."""
    folder.mkdir()
    done = program(good, folder, seed, first, cases)
    told: list[dict[str, Any]] = list(map(json.loads, done.stdout.splitlines()))
    wrong = [
        f"seed {seed}, case {record['case']} ({record['kind']}): {record['error']}"
        for record in told
        if "case" in record
    ]
    if done.returncode:
        last = told[-1] if told else {"begun": "none", "kind": "opening good files"}
        end = done.stderr.decode(errors="replace")[-2000:]
        wrong.append(
            f"seed {seed}, case {last['begun']} ({last['kind']}) ended with {done.returncode}: {end}"
        )
    elif sum("begun" in record for record in told) != cases:
        wrong.append(f"seed {seed}: not all {cases} cases were tried")
    return wrong


@pytest.mark.slow
def test_damaged_files_are_opened_or_refused(good: Path, tmp_path: Path) -> None:
    assert run(good, tmp_path / "files", seed=SEED, first=0, cases=CASES) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MANY, AT_ONCE))
def test_thousands_of_damaged_files_are_opened_or_refused(good: Path, tmp_path: Path, first: int) -> None:
    assert run(good, tmp_path / "files", seed=SEED + 1, first=first, cases=AT_ONCE) == []


# The damage itself


def drawn(data: bytes, *, times: int) -> Sequence[bytes]:
    return [mutations.mutated_json(data, source=Random(seed)) for seed in range(times)]


def test_damage_depends_on_the_seed() -> None:
    data = json.dumps({"model": {"vocab": {"a": 1, "b": 2}}, "list": [1, 2, 3]}).encode()
    assert drawn(data, times=50) == drawn(data, times=50)
    assert len(set(drawn(data, times=200))) > 100


def test_damage_includes_known_hard_cases() -> None:
    data = json.dumps({"type": "BPE", "vocab": {"a": 1}, "merges": [["a", "a"]]}).encode()
    every = b"\n".join(drawn(data, times=1500))
    assert b'"type": [' in every
    assert b"[" * 500 in every
    assert b"16777215" in every
    assert b"9" * 5000 in b"".join(mutations.mutated(data, source=Random(seed)) for seed in range(1500))
