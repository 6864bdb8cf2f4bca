"""Files that a run writes are not read by the next run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tokbench.corpus import open_corpus
from tokbench.corpus.opening import without_folder
from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.txt", "out/index.json", "out/parts/1.json", "outer/b.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "linked.txt").symlink_to("out/index.json")
    return tmp_path


def test_files_in_the_output_folder_are_skipped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = open_corpus(folder)
    assert len(corpus.files) == 4  # one of them through its link
    (folder / "way").symlink_to("out")
    monkeypatch.chdir(folder)
    for written in (folder / "out", "out", "./outer/../out", "way", (folder / "out").as_uri()):
        left = without_folder(corpus, written)
        assert list(left) == ["a.txt", "outer/b.txt"]
        assert str(left.left_out) == "2 in the folder that is written"
    assert len(corpus.files) == 4


def test_missing_output_folder_changes_nothing(folder: Path) -> None:
    corpus = open_corpus(folder)
    assert without_folder(corpus, folder / "new").files == corpus.files
    assert without_folder(corpus, "memory://bucket/out").files == corpus.files


def test_corpus_inside_the_output_folder_is_refused(folder: Path) -> None:
    with pytest.raises(CorpusError, match=r"all files to read are in .*out, which is the output folder"):
        without_folder(open_corpus(folder / "out"), folder / "out")
