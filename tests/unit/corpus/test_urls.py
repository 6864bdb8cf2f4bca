"""Corpora by URL: the same documents as those of the same files by path."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tokbench.corpus import open_corpus
from tokbench.errors import BackendUnavailableError, CorpusError
from tokbench.files.storage import remote
from tokbench.files.storage.open import place_of

if TYPE_CHECKING:
    from tokbench.files.storage.place import Place

pytest.importorskip("fsspec")

LINES = "".join(f"line {number} of some words, žluťoučký kůň\n" for number in range(2000))


def parquet_of(path: Path, texts: list[str]) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": texts}), path, row_group_size=50)
    return path.read_bytes()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write a folder with all kinds of files."""
    folder = tmp_path / "corpus"
    (folder / "parallel").mkdir(parents=True)
    (folder / "parallel/cs.txt").write_text(LINES, encoding="utf-8")
    (folder / "parallel/README.md").write_text("about the translations")
    (folder / "a.txt.gz").write_bytes(gzip.compress(LINES.encode()))
    (folder / "b.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in LINES.split("\n")))
    parquet_of(folder / "c.parquet", LINES.splitlines())
    (folder / "picture").write_bytes(b"\x89PNG\0\0")
    (folder / ".hidden.txt").write_text("hidden")
    return folder


@pytest.fixture(params=["memory", pytest.param("s3", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, files: Path, tmp_path: Path) -> Place:
    """Copy the folder to a remote place."""
    root = "memory:/" if request.param == "memory" else request.getfixturevalue("bucket")
    folder = place_of(f"{root}/{tmp_path.name}/corpus")
    for path in files.rglob("*"):
        if path.is_file():
            (folder / path.relative_to(files).as_posix()).write(path.read_bytes())
    return folder


def documents(*names: object, **options: Any) -> list[tuple[str, str, str]]:
    corpus = open_corpus(*map(str, names), **options)
    roots = {str(Path(str(name)).parent): "" for name in names}
    return [
        (
            document.source.replace(str(names[0]), "corpus").replace(next(iter(roots)), ""),
            document.group,
            document.text,
        )
        for document in corpus.documents()
    ]


@pytest.mark.parametrize(
    "options", [{}, {"group_by": "path"}, {"documents": "lines", "group_by": "extension"}]
)
def test_remote_folder_gives_the_same_documents(files: Path, place: Place, options: dict[str, Any]) -> None:
    assert documents(place, **options) == documents(files, **options)


def test_remote_corpus_has_the_same_fingerprint_and_counts(files: Path, place: Place) -> None:
    here, there = open_corpus(files), open_corpus(str(place))
    assert there.fingerprint() == here.fingerprint()
    assert there.num_bytes == here.num_bytes
    assert there.left_out.binary == here.left_out.binary == 1
    assert there.left_out.about == here.left_out.about == 1
    assert [file.below for file in there.files] == [file.below for file in here.files]


@pytest.mark.parametrize("name", ["parallel/cs.txt", "a.txt.gz", "b.jsonl", "c.parquet"])
def test_remote_file_gives_the_same_documents(files: Path, place: Place, name: str) -> None:
    assert list(open_corpus(str(place / name))) == list(open_corpus(files / name))


@pytest.mark.parametrize("pattern", ["*.jsonl", "**/*.txt", "*/*.txt", "[ab].*"])
def test_remote_pattern_finds_the_same_files(files: Path, place: Place, pattern: str) -> None:
    names = [file.path.name for file in open_corpus(str(place / pattern)).files]
    assert names == [file.path.name for file in open_corpus(files / pattern).files]


def test_file_url_is_a_path(files: Path) -> None:
    assert open_corpus(f"file://{files}").files == open_corpus(files).files


def test_missing_remote_file_is_refused(place: Place) -> None:
    with pytest.raises(CorpusError, match=r"nothing\.txt does not exist"):
        open_corpus(str(place / "nothing.txt"))
    with pytest.raises(CorpusError, match=r"\*.nothing does not exist"):
        open_corpus(str(place / "*.nothing"))


def test_unresponsive_store_is_reported(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place: Any = place_of(f"memory://{tmp_path.name}/a.txt")
    place.write(b"text")
    corpus = open_corpus(str(place))
    monkeypatch.setattr(remote.time, "sleep", lambda seconds: None)

    def broken(*_: object, **__: object) -> None:
        raise ConnectionError("nobody answers")

    monkeypatch.setattr(place.store, "_open", broken)
    with pytest.raises(CorpusError, match=r"a.txt: cannot be read \(nobody answers, tried 4 times\)"):
        list(corpus)
    monkeypatch.setattr(place.store, "info", broken)
    with pytest.raises(CorpusError, match=r"a.txt: cannot be read \(nobody answers, tried 4 times\)"):
        open_corpus(str(place))


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokbench.files.storage.open.find_spec", lambda name: None)
    with pytest.raises(BackendUnavailableError) as missing:
        open_corpus("s3://bucket/texts")
    assert missing.value.hint == "pip install 'tokbench[cluster]'"
