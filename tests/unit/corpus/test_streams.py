"""Standard input and pipes, which are read once; and files, which are closed as soon as reading ends."""

from __future__ import annotations

import codecs
import gzip
import os
import sys
import threading
from pathlib import Path

import pytest
from support.corpus_files import fails, fingerprint, texts_of, write

from tokbench.corpus import Corpus, Document, open_corpus
from tokbench.corpus import bytes as corpus_bytes
from tokbench.errors import CorpusError
from tokbench.files import untrusted

pytestmark = pytest.mark.usefixtures("folder")


class TestStreams:
    def test_stdin_is_read(self, stdin):
        stdin(b"one\n\ntwo")
        corpus = open_corpus("-")
        assert list(corpus.documents()) == [Document("one\n\ntwo", "Latin", "<stdin>")]
        assert corpus.num_bytes == 0

    def test_stdin_is_read_in_lines(self, stdin):
        stdin(codecs.BOM_UTF8 + b"one\n\ntwo")
        corpus = open_corpus("-", "-", documents="lines", group_by="path")
        assert [(document.source, document.group) for document in corpus.documents()] == [
            ("<stdin>:1", "stdin"),
            ("<stdin>:3", "stdin"),
        ]

    def test_stdin_is_read_once(self, stdin):
        stdin(b"text")
        corpus = open_corpus("-")
        train, _ = corpus.split()
        assert corpus.fingerprint() == fingerprint(["text"])
        for read in (
            list,
            Corpus.fingerprint,
            lambda corpus: [list(source.blocks) for source in corpus.byte_sources()],
        ):
            with pytest.raises(CorpusError, match="<stdin> can be read only once") as caught:
                read(corpus)
            assert "save it to a file" in caught.value.hint
        with pytest.raises(CorpusError, match="only once"):
            list(train)

    def test_stdin_is_read_as_bytes(self, stdin):
        stdin("é".encode())
        assert texts_of(open_corpus("-").byte_sources()) == ["é"]

    def test_invalid_or_missing_stdin_is_refused(self, stdin, monkeypatch):
        stdin(b"ab\xff")
        fails("<stdin>: not UTF-8 at byte 2 (0xFF)", "-")
        stdin(b"")
        fails("there is no text in <stdin>", "-")
        monkeypatch.setattr(sys, "stdin", None)
        fails("<stdin>: standard input is closed", "-")

    def test_file_named_dash_is_read_by_its_path(self):
        write("-", "a dash")
        write("<stdin>", "brackets")
        assert list(open_corpus("./-")) == ["a dash"]
        assert list(open_corpus("<stdin>")) == ["brackets"]

    def test_named_pipe_is_read_once(self):
        os.mkfifo("pipe")
        writer = threading.Thread(target=lambda: Path("pipe").write_bytes(b"one\ntwo"))
        writer.start()
        corpus = open_corpus("pipe", documents="lines")
        assert corpus.files[0].stream
        assert list(corpus) == ["one", "two"]
        writer.join()
        with pytest.raises(CorpusError, match="pipe can be read only once"):
            list(corpus)

    def test_process_substitution_is_read(self):
        untrusted, writing = os.pipe()
        os.write(writing, b"text")
        os.close(writing)
        assert list(open_corpus(f"/dev/fd/{untrusted}")) == ["text"]
        os.close(untrusted)


def kept(files, file):
    files.append(file)
    return file


class TestClosing:
    """A file is closed at once when reading it ends early, not when its objects are collected."""

    @pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
    @pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.gz"])
    def test_files_are_closed_after_an_error(self, unit, name, monkeypatch):
        opened, opener = [], untrusted.open_regular
        monkeypatch.setattr(corpus_bytes, "open_regular", lambda path: kept(opened, opener(path)))
        write(name, gzip.compress(b'{"text": "a"}\n' + b"\xff\n" + b"x" * 100_000))
        opened.clear()
        corpus = open_corpus(name, documents=unit)
        for read in (list, Corpus.fingerprint, lambda corpus: list(corpus.documents())):
            opened.clear()
            with pytest.raises(CorpusError) as caught:
                read(corpus)
            assert [file.closed for file in opened] == [True]
            assert caught.value.__traceback__ is not None  # the traceback keeps what was being read
