"""Tests for files of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tokbench.errors import StoreError
from tokbench.play.cases import add_case

if TYPE_CHECKING:
    from pathlib import Path


def test_case_is_appended_to_the_existing_ones(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_bytes(b'{"text":"a"}')  # without a line end
    assert add_case(file, "b") == 2
    assert add_case(file, "c") == 3
    assert file.read_bytes() == b'{"text":"a"}\n{"text":"b"}\n{"text":"c"}\n'


@pytest.mark.parametrize(("name", "text"), [("cases.txt", "a"), ("cases", "a"), ("cases.jsonl", "")])
def test_file_or_case_that_check_cannot_read_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(StoreError):
        add_case(tmp_path / name, text)
    assert list(tmp_path.iterdir()) == []


def test_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").mkdir()
    with pytest.raises(StoreError, match="cannot be read"):
        add_case(tmp_path / "cases.jsonl", "a")
