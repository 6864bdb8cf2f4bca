"""Documents as bytes, and the memory that reading takes."""

from __future__ import annotations

import codecs
import gzip
import os
from pathlib import Path

import pytest
from support.corpus_files import texts_of, write, write_jsonl

from tokbench.core.documents import ByteSource
from tokbench.corpus import open_corpus
from tokbench.corpus.bytes import BLOCK_BYTES
from tokbench.errors import CorpusError

pytestmark = pytest.mark.usefixtures("folder")


class TestByteSources:
    def test_plain_files_are_passed_by_path(self):
        write("a.txt", "one\n")
        for unit in ("file", "lines"):
            [source] = open_corpus("a.txt", documents=unit).byte_sources()
            assert source == ByteSource("a.txt", Path("a.txt"), None, unit, size=4)

    @pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
    @pytest.mark.parametrize("errors", ["strict", "replace", "skip"])
    def test_byte_sources_give_the_same_documents(self, unit, errors):
        text = "one\r\n\r\n\t\ntwo\nthree\n\n\u3000\nfour\r"
        write("a.txt", text)
        write("b.txt.gz", gzip.compress(text.encode()))
        write("c.txt", codecs.BOM_UTF8 + text.encode())
        write_jsonl("d.jsonl", {"text": text}, {"text": "five"})
        if errors != "strict":
            write("e.txt", b"bad\xff\n\n\ngood")
        corpus = open_corpus(*sorted(path.name for path in Path().iterdir()), documents=unit, errors=errors)
        assert texts_of(corpus.byte_sources()) == list(corpus)

    def test_blocks_are_validated_as_utf8(self):
        write("a.txt.gz", gzip.compress(b"abc\xff"))
        [source] = open_corpus("a.txt.gz").byte_sources()
        with pytest.raises(CorpusError, match="not UTF-8 at byte 3"):
            list(source.blocks)

    def test_byte_sources_keep_no_file_open(self):
        for number in range(3):
            write(f"{number}.txt.gz", gzip.compress(b"x"))
        descriptors = Path("/proc/self/fd")
        if not descriptors.exists():
            pytest.skip("there is no /proc")
        before = len(list(descriptors.iterdir()))
        sources = list(open_corpus("*.gz").byte_sources())
        assert len(list(descriptors.iterdir())) == before
        assert texts_of(sources) == ["x"] * 3


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
def test_line_of_100_mb_is_read(unit):
    with gzip.open("a.txt.gz", "wb", compresslevel=1) as file:
        for _ in range(100):
            file.write("é".encode() * 500_000)
    [text] = open_corpus("a.txt.gz", documents=unit)
    assert len(text) == 50_000_000


@pytest.mark.slow
def test_lines_are_streamed_in_constant_memory():
    import tracemalloc

    with gzip.open("a.txt.gz", "wb", compresslevel=1) as file:
        for _ in range(20):
            file.write((b"0123456789 abcdefg " * 4 + b"0123456789 abcdefg\n") * 10_000)
    corpus = open_corpus("a.txt.gz", documents="lines")
    tracemalloc.start()
    try:
        corpus.fingerprint()
        assert sum(len(block) for source in corpus.byte_sources() for block in source.blocks) == 19_000_000
        assert tracemalloc.get_traced_memory()[1] < 12 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("errors", ["strict", "replace", "skip"])
def test_file_that_becomes_shorter_while_it_is_read_is_refused(tmp_path, errors):
    """Its text would end within a character, which would be called not UTF-8, or replaced."""
    path = tmp_path / "a.txt"
    path.write_bytes("é\n".encode() * (BLOCK_BYTES // 2))
    texts = iter(open_corpus(path, documents="lines", errors=errors))
    assert next(texts) == "é"
    os.truncate(path, BLOCK_BYTES + 3000)
    with pytest.raises(CorpusError, match=r"a\.txt changed while it was read: it is shorter now"):
        list(texts)
