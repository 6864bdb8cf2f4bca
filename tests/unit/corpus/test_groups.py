"""Groups of documents."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from support.corpus_files import fails, groups, write, write_jsonl

from tokbench.corpus import open_corpus

pytestmark = pytest.mark.usefixtures("folder")


class TestGroups:
    def test_bundled_folders_name_the_groups(self):
        write("corpora/parallel/de.txt")
        write("corpora/parallel/fr/part.txt")
        write("corpora/code/python.py.gz", gzip.compress(b"pass"))
        expected = ["python", "de", "fr"]
        assert groups("corpora") == expected
        assert groups(str(Path.cwd() / "corpora")) == expected
        assert groups("corpora/code", "corpora/parallel") == expected
        assert groups("corpora/parallel/de.txt", "corpora/parallel/fr/part.txt") == ["de", "fr"]
        assert groups("corpora/*/*") == expected
        assert groups(str(Path("corpora/parallel/de.txt").resolve())) == ["de"]

    def test_translations_are_recognized_by_their_folder(self, monkeypatch):
        for folder in ("parallel", "parallel_news", "other"):
            write(f"{folder}/de.txt")
            write(f"{folder}/en.txt")
        names = ["de.txt", "en.txt"]
        for folder, expected in ("parallel", {"de", "en"}), ("parallel_news", {"de", "en"}), ("other", set()):
            assert open_corpus(folder).parallel_groups() == expected
            assert open_corpus(Path(folder).resolve()).parallel_groups() == expected
            assert open_corpus(*(Path(folder, name) for name in names)).parallel_groups() == expected
            assert (
                open_corpus(*(Path(folder, name).resolve() for name in names)).parallel_groups() == expected
            )
            with monkeypatch.context() as there:
                there.chdir(folder)
                assert open_corpus(*names).parallel_groups() == expected

    def test_project_inside_a_folder_named_code_is_not_one_group(self):
        write("code/project/docs/a.txt")
        assert groups(str(Path("code/project").resolve())) == ["Latin"]
        assert groups(str(Path("code/project/docs/a.txt").resolve())) == ["Latin"]

    def test_documents_are_grouped_by_script(self):
        texts = {
            "Cyrillic": "«Москва» 2026 now",
            "Han": "東京タ",
            "Common": "12 + 3 = 15 😀",
            "Thai": "ภาษาไทย abc",
        }
        write("a.txt", "\n".join(texts.values()))
        assert groups("a.txt", documents="lines") == list(texts)
        write("b.txt", "x" * 4096 + "я" * 9000)
        assert groups("b.txt") == ["Latin"]

    def test_group_by_script_overrides_the_bundled_layout(self):
        write("parallel/ru.txt", "да")
        assert groups("parallel", group_by="script") == ["Cyrillic"]

    def test_documents_are_grouped_by_path(self):
        for path in ("data/de/a.txt", "data/de/deep/b.txt", "data/fr.txt.gz", "data/parallel/it.txt"):
            write(path, gzip.compress(b"x") if path.endswith("gz") else "x")
        assert groups("data", group_by="path") == ["de", "de", "fr", "it"]
        assert groups("data/de/a.txt", group_by="path") == ["a"]

    def test_documents_are_grouped_by_extension(self):
        write("a.PY", "x")
        write("b.tar.json.gz", gzip.compress(b"x"))
        write("c", "x")
        write_jsonl("d.jsonl", {"text": "x"})
        assert groups("a.PY", "b.tar.json.gz", "c", "d.jsonl", group_by="extension") == [
            "py",
            "json",
            "(none)",
            "jsonl",
        ]

    def test_records_are_grouped_by_a_field(self):
        write_jsonl("a.jsonl", *({"text": "x", "lang": value} for value in ("de", "", 7, 1.5, True)))
        assert groups("a.jsonl", group_by="field:lang") == ["de", "(no lang)", "7", "1.5", "true"]
        assert groups("a.jsonl") == ["Latin"] * 5

    def test_field_that_cannot_name_a_group_is_refused(self):
        write_jsonl("a.jsonl", {"text": "x", "lang": ["de"]})
        fails(
            "a.jsonl:1: the field 'lang' is an array, which names no group", "a.jsonl", group_by="field:lang"
        )
