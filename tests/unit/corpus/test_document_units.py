"""The units of a text file: one document, its lines, or its paragraphs."""

from __future__ import annotations

import codecs
import gzip

import pytest
from support.corpus_files import texts_of, write, write_jsonl

from tokbench.core.documents import ByteDocuments
from tokbench.corpus import Corpus, Document, open_corpus
from tokbench.errors import ConfigError, CorpusError

pytestmark = pytest.mark.usefixtures("folder")


class TestUnits:
    def test_file_is_one_unchanged_document(self):
        write("a.txt", "one\r\n\n two \n")
        assert list(open_corpus("a.txt")) == ["one\r\n\n two \n"]

    def test_lines_are_split_at_newlines(self):
        write("a.txt", " one \r\n\n\t \nlone\rreturn\u2028\x0b\x85still\n\u3000\nend\r")
        assert list(open_corpus("a.txt", documents="lines")) == [
            " one ",
            "lone\rreturn\u2028\x0b\x85still",
            "end\r",
        ]

    def test_blank_lines_do_not_depend_on_the_unicode_version(self):
        import regex

        space = regex.compile(r"[\s\x1c-\x1f]")
        assert all(chr(code).isspace() == bool(space.match(chr(code))) for code in range(0x110000))

    def test_paragraphs_are_split_at_blank_lines(self):
        write("a.txt", "\n\none\r\ntwo\n \nthree\n\n\n\nfour")
        assert list(open_corpus("a.txt", documents="paragraphs")) == ["one\ntwo", "three", "four"]

    def test_document_source_names_the_line(self):
        write("a.txt", "one\n\ntwo\nthree\n\nfour")
        for unit, sources in {
            "file": ["a.txt"],
            "lines": ["a.txt:1", "a.txt:3", "a.txt:4", "a.txt:6"],
            "paragraphs": ["a.txt:1", "a.txt:3", "a.txt:6"],
        }.items():
            assert [
                document.source for document in open_corpus("a.txt", documents=unit).documents()
            ] == sources

    def test_documents_have_text_group_and_source(self):
        write("a.txt")
        assert list(open_corpus("a.txt").documents()) == [Document("text", "Latin", "a.txt")]

    def test_program_code_is_recognized_by_folder_extension_or_field(self):
        names = (
            *("code/c.txt", "decode/a.txt", "c.txt"),
            *("src/a.PY", "src/b.rs.gz", "src/readme.md", "src/page.html"),
        )
        for name in names:
            write(name, gzip.compress(b"text") if name.endswith("gz") else "text")
        code_by_source = {document.source: document.is_code for document in open_corpus(*names).documents()}
        assert {name for name, is_code in code_by_source.items() if is_code} == {
            "code/c.txt",
            "src/a.PY",
            "src/b.rs.gz",
        }
        write_jsonl("d.jsonl", {"text": "a", "lang": "Python"}, {"text": "b", "lang": "ts"})
        by_field = open_corpus("d.jsonl", group_by="field:lang").documents()
        assert [document.is_code for document in by_field] == [True, False]

    def test_empty_documents_are_skipped(self):
        write("a.txt", "")
        write("b.txt", codecs.BOM_UTF8)
        write("c.txt", " \n")
        write_jsonl("d.jsonl", {"text": ""}, {"text": " "})
        paths = ("a.txt", "b.txt", "c.txt", "d.jsonl")
        assert list(open_corpus(*paths)) == [" \n", " "]
        assert texts_of(open_corpus(*paths).byte_sources()) == [" \n", " "]

    @pytest.mark.parametrize("content", [b"", b"\n\n", codecs.BOM_UTF8])
    def test_corpus_without_documents_is_refused(self, content):
        write("a.txt", content)
        corpus = open_corpus("a.txt", documents="lines")
        for read in (list, lambda corpus: list(corpus.documents()), Corpus.fingerprint):
            with pytest.raises(CorpusError, match=r"there is no text in a\.txt"):
                read(corpus)

    def test_corpus_can_be_read_again(self):
        write("a.txt", "one\ntwo")
        corpus = open_corpus("a.txt", documents="lines")
        first, second = iter(corpus), iter(corpus)
        assert [next(first), next(second), next(first)] == ["one", "one", "two"]
        assert list(corpus) == ["one", "two"]

    def test_corpus_implements_byte_documents(self):
        assert isinstance(open_corpus(write("a.txt")), ByteDocuments)

    def test_unknown_options_are_refused(self):
        write("a.txt")
        for options in (
            {"documents": "words"},
            {"errors": "ignore"},
            {"group_by": "size"},
            {"group_by": "field:"},
        ):
            with pytest.raises(ConfigError) as caught:
                open_corpus("a.txt", **options)
            assert "choose" in caught.value.hint
