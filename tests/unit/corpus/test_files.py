"""Finding files: folders, patterns, links, and the files that are left out."""

from __future__ import annotations

import gzip
import os
import socket
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from support.corpus_files import fails, names, write

from tokbench.corpus import Corpus, CorpusFile, LeftOut, open_corpus
from tokbench.errors import CorpusError

pytestmark = pytest.mark.usefixtures("folder")


class TestFinding:
    def test_folder_is_searched_recursively_and_sorted(self):
        for path in ("docs/b.txt", "docs/a.txt", "docs/deep/er/c.py", "docs/data.jsonl"):
            write(path)
        assert names(open_corpus("docs")) == [
            "docs/a.txt",
            "docs/b.txt",
            "docs/data.jsonl",
            "docs/deep/er/c.py",
        ]

    def test_corpus_file_has_its_properties(self):
        write("docs/a.txt", "four")
        write("docs/deep/b.JSONL.GZ", gzip.compress(b'{"text": "x"}'))
        plain, packed = open_corpus("docs").files
        assert plain == CorpusFile(Path("docs/a.txt"), "docs/a.txt", 4, "text", None, ("a.txt",))
        assert (packed.kind, packed.compression, packed.below) == ("jsonl", "gz", ("deep", "b.JSONL.GZ"))
        with pytest.raises(FrozenInstanceError):
            plain.size = 0

    def test_num_bytes_is_the_size_on_disk(self):
        write("a.txt", "é")
        packed = write("b.txt.gz", gzip.compress(b"x" * 1000))
        assert open_corpus("a.txt", "b.txt.gz").num_bytes == 2 + packed.stat().st_size

    def test_paths_may_be_path_objects(self):
        assert list(open_corpus(write("a.txt"))) == ["text"]

    def test_compiled_python_files_are_skipped(self):
        write("docs/a.py", "a")
        write("docs/__pycache__/a.pyc", "b")
        corpus = open_corpus("docs")
        assert list(corpus) == ["a"]
        assert corpus.left_out == LeftOut(hidden=1)

    def test_hidden_and_binary_files_are_skipped_and_counted(self):
        write("docs/a.txt")
        write("docs/.hidden")
        write("docs/.git/config")
        write("docs/picture.png", b"\x89PNG\0\0")
        write("docs/archive.tar.gz", gzip.compress(b"name" + b"\0" * 100))
        write("docs/late", b"x" * 8192 + b"\0")
        corpus = open_corpus("docs")
        assert names(corpus) == ["docs/a.txt", "docs/late"]
        assert corpus.left_out == LeftOut(hidden=2, binary=2)

    def test_named_files_are_always_read(self):
        write(".hidden/.file", "a\0b")
        assert list(open_corpus(".hidden/.file")) == ["a\0b"]
        assert list(open_corpus(write("x.bin", "\0"))) == ["\0"]
        write(".hidden/other")
        assert names(open_corpus(".hidden")) == [".hidden/other"]

    def test_git_lfs_pointers_are_no_texts(self):
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 17953\n"
        write("docs/photo.png", pointer)
        write("docs/a.txt", "a")
        assert names(open_corpus("docs")) == ["docs/a.txt"]
        assert open_corpus("docs").left_out == LeftOut(binary=1)
        for name in ("docs/b.txt", "docs/c.jsonl", "docs/d.txt.gz", "docs/e.parquet"):
            path = write(name, pointer)
            for named in ("docs", name):
                assert "git lfs pull" in fails(f"{name} is a Git LFS pointer", named).hint
            Path(path).unlink()

    def test_files_with_text_extensions_are_not_taken_for_binary(self):
        write("docs/a.txt", "a\0b")
        assert list(open_corpus("docs")) == ["a\0b"]

    def test_file_named_twice_is_read_once(self):
        write("docs/a.txt")
        Path("link.txt").symlink_to("docs/a.txt")
        corpus = open_corpus(
            "docs/a.txt", "docs", "./docs/../docs/a.txt", "docs/*", "link.txt", Path("docs").resolve()
        )
        assert list(corpus) == ["text"]

    def test_links_to_folders_are_followed_without_cycles(self):
        write("elsewhere/b.txt", "b")
        write("docs/deep/a.txt", "a")
        Path("docs/deep/up").symlink_to("..")
        Path("docs/self").symlink_to(".")
        Path("docs/all").symlink_to("../elsewhere")
        Path("docs/0").symlink_to("deep")
        assert names(open_corpus("docs")) == ["docs/all/b.txt", "docs/deep/a.txt"]
        assert names(open_corpus("docs/**/*.txt")) == ["docs/deep/a.txt"]

    def test_special_files_in_folders_are_skipped(self):
        write("docs/a.txt")
        os.mkfifo("docs/pipe")
        Path("docs/broken").symlink_to("nowhere")
        Path("docs/circle").symlink_to("circle")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("docs/socket")
            corpus = open_corpus("docs")
            assert names(corpus) == names(open_corpus("docs/*")) == ["docs/a.txt"]
            assert corpus.left_out == open_corpus("docs/*").left_out == LeftOut(special=4)
            fails("docs/socket: a socket", "docs/socket")

    def test_glob_patterns_match_visible_files(self):
        for path in ("a.txt", "b.md", "docs/c.txt", "docs/deep/d.txt", "docs/.e.txt", ".git/f.txt"):
            write(path)
        assert names(open_corpus("*.txt")) == ["a.txt"]
        assert names(open_corpus("**/*.txt")) == ["a.txt", "docs/c.txt", "docs/deep/d.txt"]
        assert names(open_corpus("docs/**")) == ["docs/c.txt", "docs/deep/d.txt"]
        assert names(open_corpus("d?cs/[c-d]*")) == ["docs/c.txt", "docs/deep/d.txt"]
        assert names(open_corpus("docs/.e*")) == ["docs/.e.txt"]
        assert names(open_corpus("**/deep/../c.*")) == ["docs/deep/../c.txt"]
        assert len(open_corpus(str(Path.cwd() / "**" / "*.txt")).files) == 3

    def test_existing_name_with_brackets_is_not_a_pattern(self):
        write("[a].txt", "brackets")
        write("a.txt", "plain")
        assert list(open_corpus("[a].txt")) == ["brackets"]

    def test_missing_path_suggests_an_existing_one(self):
        write("docs/readme.txt")
        assert (
            "did you mean docs/readme.txt?" in fails("docs/redme.txt does not exist", "docs/redme.txt").hint
        )
        assert "did you mean docs?" in fails("dosc/a.txt does not exist", "dosc/a.txt").hint
        assert "no folder zzz" in fails("does not exist", "zzz/deep/a.txt").hint
        assert "no file or folder of that name" in fails("qqqqq does not exist", "qqqqq").hint
        assert "is a file" in fails("does not exist", "docs/readme.txt/a").hint

    @pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000])
    def test_impossible_paths_are_refused(self, path):
        with pytest.raises(CorpusError):
            open_corpus(path)

    def test_dangling_links_are_refused(self):
        Path("broken").symlink_to("nowhere")
        Path("circle").symlink_to("circle")
        assert "nowhere" in fails("a broken symbolic link", "broken").hint
        fails("a broken symbolic link", "circle")

    def test_search_without_a_match_is_refused(self):
        Path("empty").mkdir()
        write("only/.hidden")
        fails("no text files in empty/", "empty")
        assert "1 hidden" in fails("no text files in only/", "only").hint
        fails("nothing matches *.xyz", "*.xyz")
        fails("no text files match emp*", "emp*")
        fails("no file or folder was named")

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
    def test_unreadable_files_and_folders_are_refused(self):
        write("docs/secret.txt").chmod(0)
        fails("docs/secret.txt: cannot be read (Permission denied)", "docs/secret.txt")
        fails("docs/secret.txt: cannot be read (Permission denied)", "docs")
        Path("docs").chmod(0)
        fails("docs: cannot be read (Permission denied)", "docs")
        fails("docs/secret.txt: cannot be read (Permission denied)", "docs/secret.txt")
        Path("docs").chmod(0o700)

    def test_permission_denied_by_os_access_is_reported(self, monkeypatch):
        write("secret.txt")
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        error = fails("secret.txt: cannot be read (Permission denied)", "secret.txt")
        assert "permissions" in error.hint

    def test_file_removed_meanwhile_is_reported(self):
        file = write("a.txt")
        corpus = open_corpus("a.txt")
        file.unlink()
        for read in (list, Corpus.fingerprint, lambda corpus: list(corpus.byte_sources())):
            with pytest.raises(CorpusError, match=r"a\.txt: cannot be read \(No such file or directory\)"):
                read(corpus)
