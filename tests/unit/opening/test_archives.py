"""Tests for archives, which are refused with what to do."""

from __future__ import annotations

import io
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

import tokbench
from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from pathlib import Path


def load(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    tokbench.load(path)


@pytest.mark.parametrize(
    ("first", "found", "hint"),
    [
        ("archive/data.pkl", "a zip archive of PyTorch with a pickle", "it was not opened"),
        ("tokenizer.json", "a zip archive$", "unpack it"),
        ("model/", "a zip archive$", "unpack it"),
    ],
)
def test_zip_archive_is_refused_by_what_is_in_it(tmp_path: Path, first: str, found: str, hint: str) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(first, b"{}")
    with pytest.raises(ModelFormatError, match=found) as caught:
        load(tmp_path / "tokenizer.json", data.getvalue())
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_tar_archive_is_to_be_unpacked(tmp_path: Path, mode: str) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:  # type: ignore[call-overload]
        archive.addfile(tarfile.TarInfo("tokenizer.json"), io.BytesIO())
    name = f"model.tar{'.gz' if mode == 'w:gz' else ''}"
    with pytest.raises(ModelFormatError, match="a tar archive") as caught:
        load(tmp_path / name, data.getvalue())
    assert "unpack it" in (caught.value.hint or "")
