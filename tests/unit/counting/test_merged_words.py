"""Merging folders of counted words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.counted_words import counted
from support.folders import files_of

from tokbench.errors import ConfigError, StoreError
from tokbench.files.storage.folder_lock import locked
from tokbench.files.storage.open import place_of
from tokbench.workbench.count_words import merge_words

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pyarrow")


def test_merging_into_a_folder_of_another_run_is_refused(texts: list[Path], tmp_path: Path) -> None:
    counted(texts, tmp_path / "words")
    with (
        locked(place_of(tmp_path / "sum"), is_shared=True),
        pytest.raises(StoreError, match="another run is writing"),
    ):
        merge_words([str(tmp_path / "words")], out=str(tmp_path / "sum"), overwrite=True)


def test_merged_words_equal_those_of_all_texts(texts: list[Path], tmp_path: Path) -> None:
    counted(texts, tmp_path / "whole")
    for number, path in enumerate(texts):
        counted([path], tmp_path / f"{number}")
    merge_words([str(tmp_path / "1"), str(tmp_path / "0")], out=str(tmp_path / "merged"))
    assert files_of(tmp_path / "merged") == files_of(tmp_path / "whole")


def test_merging_into_an_input_folder_is_refused(texts: list[Path], tmp_path: Path) -> None:
    counted(texts, tmp_path / "words")
    before = files_of(tmp_path / "words")
    (tmp_path / "link").symlink_to("words")
    for name in ("words", "words/words-00000.parquet", "link"):
        with pytest.raises(ConfigError, match=f"{name} would be replaced"):
            merge_words([str(tmp_path / name)], out=str(tmp_path / "words"), overwrite=True)
    assert files_of(tmp_path / "words") == before


def test_unfinished_merge_leaves_no_files(
    texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted(texts, tmp_path / "words")

    def full(*_: object, **__: object) -> None:
        assert list((tmp_path / "sum").glob("*.parquet"))
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched, pytest.raises(StoreError, match="the disk is full"):
        patched.setattr("tokbench.workbench.count_words.index_of", full)
        merge_words([str(tmp_path / "words")], out=str(tmp_path / "sum"))
    merge_words([str(tmp_path / "words")], out=str(tmp_path / "sum"))
    assert files_of(tmp_path / "sum") == files_of(tmp_path / "words")


def test_words_of_different_settings_are_not_merged(texts: list[Path], tmp_path: Path) -> None:
    counted(texts, tmp_path / "one")
    counted(texts, tmp_path / "other", options={"pattern": "gpt2"})
    counted(texts, tmp_path / "rare", min_count=3)
    with pytest.raises(ConfigError, match="pattern"):
        merge_words([str(tmp_path / "one"), str(tmp_path / "other")], out=str(tmp_path / "out"))
    with pytest.raises(ConfigError, match="below a count of 3"):
        merge_words([str(tmp_path / "rare")], out=str(tmp_path / "out"))
