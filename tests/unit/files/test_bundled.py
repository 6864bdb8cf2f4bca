"""The bundled texts are complete, listed, free to use, and varied enough to compare tokenizers on."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tokbench.corpus import bundled_corpus, bundled_files
from tokbench.corpus.scripts import COMMON, script_of
from tokbench.errors import TokbenchError
from tokbench.files import bundled
from tokbench.files.bundled import configs_directory, corpora_directory

KINDS = ("parallel", "code", "edge")

REPOSITORY = Path(__file__).parents[3]


def files(kind):
    return [file for file in bundled_files() if file.kind == kind]


def test_every_file_is_listed_once():
    directory = corpora_directory()
    present = [
        path.relative_to(directory).as_posix()
        for kind in KINDS
        for path in (directory / kind).rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"  # pip compiles code/python.py
    ]
    assert Counter(file.name for file in bundled_files()) == Counter(present)


def test_checksums_are_right():
    manifest = tomllib.loads((corpora_directory() / "MANIFEST.toml").read_text(encoding="utf-8"))
    wrong = [
        entry["path"]
        for entry in manifest["file"]
        if hashlib.sha256((corpora_directory() / entry["path"]).read_bytes()).hexdigest() != entry["sha256"]
    ]
    assert not wrong, "run python corpora/make_manifest.py"


def test_all_files_are_public_domain():
    assert {file.licence for file in bundled_files()} == {"CC0-1.0"}


def test_files_are_valid_utf8_and_not_empty():
    for file in bundled_files():
        text = file.path.read_bytes().decode()
        assert 0 < file.characters == len(text) <= file.bytes
        assert file.lines > 0


def test_groups_and_titles_are_distinct_within_a_kind():
    for kind in KINDS:
        assert (
            len({file.group for file in files(kind)})
            == len({file.title for file in files(kind)})
            == len(files(kind))
        )


def test_parallel_texts_are_aligned():
    counts = {file.group: file.lines for file in files("parallel")}
    assert len(set(counts.values())) == 1, counts
    assert min(counts.values()) >= 80


def test_parallel_texts_have_no_blank_line():
    for file in files("parallel"):
        lines = file.path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        assert len(lines) == file.lines
        assert all(line.strip() for line in lines), file.name


def test_parallel_texts_cover_languages_and_scripts():
    texts = {file.group: file.path.read_text(encoding="utf-8") for file in files("parallel")}
    assert len(texts) >= 24
    scripts = set(map(script_of, texts.values()))
    assert len(scripts) >= 12, scripts
    assert COMMON not in scripts


def test_code_covers_languages():
    assert len(files("code")) >= 14
    assert all(file.bytes >= 4096 for file in files("code"))


def test_edge_case_files_exist():
    assert files("edge")


def test_bundled_corpus_has_a_group_for_each_language():
    groups = Counter(document.group for document in bundled_corpus().documents())
    assert groups == Counter(file.group for file in bundled_files() if file.kind != "edge")


def test_manifest_generator_reproduces_the_manifest(tmp_path):
    generator = REPOSITORY / "corpora" / "make_manifest.py"
    copy = tmp_path / "corpora"
    for kind in KINDS:
        (copy / kind).mkdir(parents=True)
        for file in files(kind):
            (copy / file.name).write_bytes((REPOSITORY / "corpora" / file.name).read_bytes())
    (copy / generator.name).write_bytes(generator.read_bytes())
    subprocess.run([sys.executable, copy / generator.name], check=True, capture_output=True)
    written = (copy / "MANIFEST.toml").read_bytes()
    assert written == (REPOSITORY / "corpora" / "MANIFEST.toml").read_bytes()


class TestResources:
    def test_bundled_folders_are_found(self):
        assert configs_directory().name == "configs"
        assert corpora_directory().name == "corpora"

    def test_package_data_is_preferred_to_the_repository(self, tmp_path, monkeypatch):
        package = tmp_path / "tokbench"
        for folder in (package / "corpora", tmp_path / "corpora", tmp_path / "configs"):
            folder.mkdir(parents=True)
        monkeypatch.setattr(bundled, "_PACKAGE", package)
        assert corpora_directory() == package / "corpora"
        with pytest.raises(TokbenchError, match="the bundled configs are not in") as caught:
            configs_directory()  # one beside an installed package is not ours
        assert "pip install" in caught.value.hint
        (tmp_path / "pyproject.toml").touch()
        assert configs_directory() == tmp_path / "configs"

    @pytest.mark.parametrize(
        ("manifest", "complaint"),
        [
            ("[[file]]\npath = 'parallel/xx.txt'\n", "KeyError"),
            ("[[file]]\npath = 'elsewhere/xx.txt'\n", "in none of the folders"),
            ("file = 3", "cannot be understood"),
            ("file = [3]", "cannot be understood"),
            ("[[", "cannot be understood"),
            (None, "No such file"),
        ],
    )
    def test_malformed_manifest_is_refused(self, tmp_path, monkeypatch, manifest, complaint):
        directory = tmp_path / "corpora"
        (directory / "parallel").mkdir(parents=True)
        (directory / "parallel" / "xx.txt").write_text("x")
        if manifest is not None:
            (directory / "MANIFEST.toml").write_text(manifest)
        monkeypatch.setattr(bundled, "_PACKAGE", tmp_path)
        with pytest.raises(TokbenchError, match=complaint):
            bundled_files()

    def test_missing_text_is_refused(self, tmp_path, monkeypatch):
        (tmp_path / "corpora").mkdir()
        (tmp_path / "corpora" / "MANIFEST.toml").write_text(
            "[[file]]\npath='edge/x.txt'\ngroup='x'\ntitle='x'\nlicence='CC0-1.0'\n"
        )
        monkeypatch.setattr(bundled, "_PACKAGE", tmp_path)
        with pytest.raises(TokbenchError, match=r"x\.txt: No such file"):
            bundled_files()
