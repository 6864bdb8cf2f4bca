"""Bytes that are not UTF-8, byte order marks, and the effect of --errors on them."""

from __future__ import annotations

import codecs
import gzip
import tarfile

import pytest
from support.corpus_files import fails, fingerprint, texts_of, write

from tokbench.corpus import Problems, open_corpus
from tokbench.errors import CorpusError

pytestmark = pytest.mark.usefixtures("folder")


class TestUtf8:
    def test_first_invalid_byte_is_reported(self):
        write("docs/a.txt", b"x" * 1234 + b"\xe9t\xe9")
        error = fails("docs/a.txt: not UTF-8 at byte 1234 (0xE9)", "docs")
        assert "--errors replace" in error.hint
        assert "--errors skip" in error.hint

    @pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
    @pytest.mark.parametrize("before", [0, 1, 2**20 - 2, 2**20 - 1, 2**20, 2**20 + 1, 3 * 2**20 - 1])
    def test_byte_offsets_are_right_across_blocks(self, unit, before):
        write("a.txt.gz", gzip.compress(b"x" * before + b"\xe2\x82y", 1))
        fails(f"not UTF-8 at byte {before} (0xE2)", "a.txt.gz", documents=unit)

    def test_byte_offsets_include_the_byte_order_mark(self):
        write("a.txt", codecs.BOM_UTF8 + b"ab\xff")
        fails("not UTF-8 at byte 5 (0xFF)", "a.txt")

    def test_character_truncated_at_the_end_is_refused(self):
        write("a.txt", "abc€".encode()[:-1])
        fails("not UTF-8 at byte 3 (0xE2)", "a.txt")

    @pytest.mark.parametrize("data", [b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"])
    def test_invalid_utf8_forms_are_refused(self, data):
        write("a.txt", b"ok" + data)
        fails(f"not UTF-8 at byte 2 (0x{data[0]:02X})", "a.txt")

    def test_invalid_bytes_can_be_replaced(self):
        write("a.txt", b"gr" + b"\xfc\xdfe \xe2\x82 \xef\xbf\xbd")
        corpus = open_corpus("a.txt", errors="replace")
        assert list(corpus) == ["gr\ufffd\ufffde \ufffd \ufffd"]
        assert corpus.problems == Problems(replaced_bytes=4)
        assert list(corpus)
        assert corpus.problems == Problems(replaced_bytes=4)
        assert texts_of(corpus.byte_sources()) == list(corpus)
        assert corpus.fingerprint() == fingerprint(corpus)

    @pytest.mark.parametrize(
        ("unit", "kept", "skipped"),
        [("file", ["good"], 1), ("lines", ["a", "d", "e", "good"], 2), ("paragraphs", ["d\ne", "good"], 1)],
    )
    def test_invalid_documents_can_be_skipped(self, unit, kept, skipped):
        write("a.txt", b"a\nb\xff\nc\xe2\n\nd\ne")
        write("b.txt", "good")
        corpus = open_corpus("a.txt", "b.txt", documents=unit, errors="skip")
        assert list(corpus) == kept
        assert corpus.problems == Problems(skipped_documents=skipped)
        assert texts_of(corpus.byte_sources()) == kept
        assert corpus.fingerprint() == fingerprint(kept)

    def test_corpus_without_a_valid_document_is_refused(self):
        write("a.txt", b"\xff")
        with pytest.raises(CorpusError, match=r"no document of a\.txt is UTF-8"):
            list(open_corpus("a.txt", errors="skip"))

    def test_byte_order_mark_is_removed_at_the_start_only(self):
        write("a.txt", "\ufeffa\ufeff\n\ufeffb")
        corpus = open_corpus("a.txt")
        assert list(corpus) == texts_of(corpus.byte_sources()) == ["a\ufeff\n\ufeffb"]
        assert corpus.fingerprint() == fingerprint(corpus)
        [source] = corpus.byte_sources()
        assert source.path is None

    @pytest.mark.parametrize("errors", ["strict", "replace"])
    @pytest.mark.parametrize("encoding", ["UTF-16", "UTF-32"])
    def test_other_encodings_are_named(self, encoding, errors):
        write("docs/a.txt", "text".encode(encoding))
        error = fails(f"docs/a.txt: not UTF-8: it looks like {encoding}", "docs", errors=errors)
        assert f"iconv -f {encoding}" in error.hint
        with pytest.raises(CorpusError, match="it looks like"):
            list(open_corpus("docs").byte_sources())

    @pytest.mark.parametrize("errors", ["strict", "replace"])
    @pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE"])
    def test_utf16_without_a_mark(self, encoding, errors):
        write("docs/a.txt", "“A text,” it said.\n".encode(encoding))
        error = fails(f"docs/a.txt: it looks like {encoding}", "docs", errors=errors)
        assert f"iconv -f {encoding}" in error.hint
        with pytest.raises(CorpusError, match="it looks like"):
            list(open_corpus("docs").byte_sources())

    @pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
    @pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
    @pytest.mark.parametrize("encoding", ["UTF-16", "UTF-32", "UTF-16LE"])
    def test_files_in_other_encodings_can_be_skipped(self, encoding, name, unit):
        write(name, "a line of ASCII\nand another\n".encode(encoding))
        write("b.txt", "good")
        corpus = open_corpus(name, "b.txt", documents=unit, errors="skip")
        assert list(corpus) == texts_of(corpus.byte_sources()) == ["good"]
        assert corpus.problems == Problems(skipped_documents=1)
        with pytest.raises(CorpusError, match="is UTF-8") as caught:
            list(open_corpus(name, documents=unit, errors="skip"))
        assert "without --errors skip" in caught.value.hint

    def test_text_with_some_nul_bytes_is_not_utf16(self):
        for text in ("a\0b\0", "name\0" * 20, "\0" * 20, "a\0\0\0" * 20):
            write("a.txt", text)
            assert list(open_corpus("a.txt")) == [text]

    @pytest.mark.parametrize("mode", ["w", "w:gz"])
    def test_tar_archives(self, mode):
        name = "a.tar.gz" if "gz" in mode else "a.txt"
        with tarfile.open(name, mode) as archive:
            archive.addfile(tarfile.TarInfo("b.txt"))
        error = fails(f"{name}: a tar archive, not a text", name)
        assert error.hint == f"unpack it first: tar -xf {name}"
        with pytest.raises(CorpusError, match="a tar archive"):
            texts_of(open_corpus(name).byte_sources())

    def test_compressed_standard_input(self, stdin):
        stdin(gzip.compress(b"text"))
        assert fails("<stdin>: not UTF-8 at byte 1 (0x8B); it looks compressed", "-").hint.endswith(
            "gzip -dc"
        )

    def test_binary_file_is_refused(self):
        write("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
        fails("a.png: not UTF-8 at byte 0 (0x89); it looks like a binary file", "a.png")

    def test_nul_is_valid_text(self):
        write("a.txt", "a\0\nb")
        assert list(open_corpus("a.txt", documents="lines")) == ["a\0", "b"]
