"""Tests for the cache of huggingface_hub: a model's folder holds snapshots, whose files are links to blobs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import model_folders

import tokbench
from tokbench.errors import ModelFormatError
from tokbench.opening.cached_models import cached_model_name

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer

ONE, OTHER = "0123abc" * 5, "fedcba9" * 5


def cached(folder: Path, *commits: str, main: str | None = None) -> Path:
    """Create a cached model with these commits as snapshots; its main branch names the commit `main`."""
    model = folder / "models--some-org--small--model"
    for commit in commits:
        kept = model_folders.llama3(model / "blobs" / commit)
        snapshot = model / "snapshots" / commit
        snapshot.mkdir(parents=True)
        for file in kept.iterdir():
            (snapshot / file.name).symlink_to(file)
    if main is not None:
        (model / "refs").mkdir()
        (model / "refs" / "main").write_text(main)
    return model


def name_of(tokenizer: Tokenizer) -> str:
    return tokenizer.info.name


def test_snapshot_of_the_main_branch_is_opened(tmp_path: Path) -> None:
    model = cached(tmp_path, ONE, OTHER, main=f"{OTHER}\n")
    (model / "snapshots" / ONE / "tokenizer.json").unlink()
    opened = tokbench.load(model)
    assert opened.encode("hi") == tokbench.load(model / "snapshots" / OTHER).encode("hi")
    assert name_of(opened) == name_of(tokbench.load(model / "snapshots" / OTHER)) == "model"


def test_only_snapshot_is_opened_without_a_branch(tmp_path: Path) -> None:
    assert name_of(tokbench.load(cached(tmp_path, ONE))) == "model"


def test_other_files_beside_the_only_snapshot_are_no_snapshots(tmp_path: Path) -> None:
    model = cached(tmp_path, ONE)
    (model / "snapshots" / ".DS_Store").write_bytes(b"")
    assert name_of(tokbench.load(model)) == "model"


def test_folder_with_another_name_is_no_cached_model(tmp_path: Path) -> None:
    folder = model_folders.llama3(tmp_path / "mine")
    (folder / "snapshots" / ONE).mkdir(parents=True)
    assert name_of(tokbench.load(folder)) == "mine"


@pytest.mark.parametrize("main", [None, "../../elsewhere", f"{ONE}/../..", "", "0" * 40])
def test_several_snapshots_without_a_valid_branch_are_refused(tmp_path: Path, main: str | None) -> None:
    with pytest.raises(ModelFormatError, match=rf"one version of a model.*{ONE}, {OTHER}"):
        tokbench.load(cached(tmp_path, ONE, OTHER, main=main))


@pytest.mark.parametrize("is_folder", [True, False])
def test_branch_that_is_no_text_names_no_snapshot(tmp_path: Path, is_folder: bool) -> None:
    model = cached(tmp_path, ONE)
    branch = model / "refs" / "main"
    branch.parent.mkdir()
    if is_folder:
        branch.mkdir()
    else:
        branch.write_bytes(b"\xff" * 40)
    assert name_of(tokbench.load(model)) == "model"


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        (f"models--org--small/snapshots/{ONE}", "small"),
        (f"models--org--small/blobs/{ONE}", None),
        (f"mine--org--small/snapshots/{ONE}", None),
        (f"models--/snapshots/{ONE}", None),
    ],
)
def test_only_snapshots_have_the_name_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, name: str | None
) -> None:
    assert cached_model_name(tmp_path / folder) == name
    (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / folder)
    assert cached_model_name(Path()) == name


def test_model_without_snapshots_is_refused(tmp_path: Path) -> None:
    (tmp_path / "models--a--b" / "snapshots").mkdir(parents=True)
    with pytest.raises(ModelFormatError, match="one version of a model"):
        tokbench.load(tmp_path / "models--a--b")
