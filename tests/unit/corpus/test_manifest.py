"""A folder with a MANIFEST.toml consists of the texts that are listed there, and of nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tokbench.corpus import open_corpus
from tokbench.files.bundled import bundled_files, corpora_directory

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = '[[file]]\npath = "a.txt"\n[[file]]\npath = "sub/b.txt"\n'


def folder(root: Path, manifest: str) -> Path:
    (root / "texts" / "sub").mkdir(parents=True)
    for name in ("a.txt", "make.py", "sub/b.txt", "sub/notes.md"):
        (root / "texts" / name).write_text("text", encoding="utf-8")
    (root / "texts" / "MANIFEST.toml").write_text(manifest, encoding="utf-8")
    return root / "texts"


def names(*paths: Path) -> list[str]:
    return [file.path.name for file in open_corpus(*paths).files]


def test_files_missing_in_the_manifest_are_skipped_and_counted(tmp_path: Path) -> None:
    texts = folder(tmp_path, MANIFEST)
    for named in (texts, tmp_path):
        corpus = open_corpus(named)
        assert [file.path.name for file in corpus.files] == ["a.txt", "b.txt"]
        assert str(corpus.left_out) == "3 not listed in MANIFEST.toml"


def test_named_files_are_read_despite_the_manifest(tmp_path: Path) -> None:
    texts = folder(tmp_path, MANIFEST)
    assert names(texts / "make.py", texts / "MANIFEST.toml") == ["MANIFEST.toml", "make.py"]
    assert names(texts / "sub") == ["b.txt", "notes.md"]
    assert names(texts / "*.py") == ["make.py"]


@pytest.mark.parametrize(
    "other", ["", "title = 3", '[package]\nname = "x"', "file = 3", "not toml", "[[file]]\n"]
)
def test_manifest_without_a_file_list_is_read_as_text(tmp_path: Path, other: str) -> None:
    texts = folder(tmp_path, other)
    assert set(names(texts)) == {path.name for path in texts.rglob("*") if path.is_file()}


def test_description_of_translations_is_not_read_as_a_language(tmp_path: Path) -> None:
    for name in (
        "parallel_web/de.txt",
        "parallel_web/README.md",
        "parallel_web/SOURCE.txt",
        "docs/README.md",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("text", encoding="utf-8")
    for named in (tmp_path, tmp_path / "parallel_web", tmp_path / "docs"):
        assert "SOURCE.txt" not in names(named)
    corpus = open_corpus(tmp_path)
    assert [file.name for file in corpus.files] == [
        str(tmp_path / name) for name in ("docs/README.md", "parallel_web/de.txt")
    ]
    assert corpus.left_out.about == 2
    assert names(tmp_path / "parallel_web" / "SOURCE.txt") == ["SOURCE.txt"]


def test_bundled_folder_has_the_bundled_files() -> None:
    files = {file.path for file in open_corpus(corpora_directory()).files}
    assert files == {file.path for file in bundled_files()}
