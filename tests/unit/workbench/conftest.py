"""Fixtures for work in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.shard_parts import Case, case_in
from support.sharded import tokenizer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("saved") / "saved"
    tokenizer().save(folder)
    return str(folder)


@pytest.fixture
def case(tmp_path: Path, saved: str) -> Case:
    return case_in(tmp_path, saved)
