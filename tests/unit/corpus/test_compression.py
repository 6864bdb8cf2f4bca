"""Compressed files: unpacked while they are read, and refused if damaged."""

from __future__ import annotations

import gzip
import random
import sys

import pytest
from support.corpus_files import PACKERS, fails, texts_of, write, zstd

from tokbench.corpus import bytes as corpus_bytes
from tokbench.corpus import open_corpus
from tokbench.errors import BackendUnavailableError

pytestmark = pytest.mark.usefixtures("folder")


class TestCompression:
    @pytest.mark.parametrize("extension", PACKERS)
    def test_compressed_file_reads_like_the_plain_one(self, extension):
        text = "".join(f"{number} é\n" for number in range(200_000))
        write("a.txt", text)
        write(f"a.txt.{extension}", PACKERS[extension](text.encode()))
        corpus = open_corpus(f"a.txt.{extension}")
        assert list(corpus) == [text]
        assert corpus.fingerprint() == open_corpus("a.txt").fingerprint()
        [source] = corpus.byte_sources()
        assert source.path is None
        blocks = list(source.blocks)
        assert b"".join(blocks).decode() == text
        assert 1 < len(blocks) <= len(text.encode()) / 2**20 + 2

    @pytest.mark.parametrize("extension", PACKERS)
    def test_compressed_jsonl_is_read(self, extension):
        write(f"a.jsonl.{extension}", PACKERS[extension](b'{"text": "one"}\n{"text": "two"}'))
        assert list(open_corpus(f"a.jsonl.{extension}")) == ["one", "two"]

    @pytest.mark.parametrize("extension", PACKERS)
    def test_several_members_are_one_text(self, extension):
        pack = PACKERS[extension]
        write(f"a.{extension}", pack(b"one ") + pack(b"two"))
        assert list(open_corpus(f"a.{extension}")) == ["one two"]

    @pytest.mark.parametrize("extension", PACKERS)
    def test_truncated_file_is_refused(self, extension):
        packed = PACKERS[extension](random.Random(1).randbytes(5000).hex().encode())
        for length in (0, 1, len(packed) // 2, len(packed) - 1):
            write(f"a.{extension}", packed[:length])
            fails(f"a.{extension}: ", f"a.{extension}")
        fails("its compressed data is cut off", f"a.{extension}")

    @pytest.mark.parametrize("extension", PACKERS)
    def test_truncated_second_member_is_refused(self, extension):
        pack = PACKERS[extension]
        write(f"a.{extension}", pack(b"one") + pack(b"two" * 100)[:-3])
        fails("its compressed data is", f"a.{extension}")

    @pytest.mark.parametrize("extension", PACKERS)
    @pytest.mark.parametrize("rest", [b"not a member", b"\0" * 40 + b"not a member"])
    def test_something_else_after_a_member(self, extension, rest):
        write(f"a.{extension}", PACKERS[extension](b"one") + rest)
        fails("its compressed data is damaged", f"a.{extension}")

    @pytest.mark.parametrize("length", [4, 8, 1 << 16])
    def test_padding_after_the_members_of_an_xz_file(self, length):
        member = PACKERS["xz"](b"one ")
        write("a.xz", member + bytes(length) + member + bytes(length))
        assert list(open_corpus("a.xz")) == ["one one "]

    @pytest.mark.parametrize("extension", PACKERS)
    def test_damaged_file_is_refused(self, extension):
        packed = bytearray(PACKERS[extension](random.Random(1).randbytes(5000).hex().encode()))
        packed[40:80] = bytes(40)
        write(f"a.{extension}", bytes(packed))
        fails(f"a.{extension}: its compressed data is damaged", f"a.{extension}")

    @pytest.mark.parametrize("extension", PACKERS)
    def test_plain_text_with_a_compressed_extension_is_refused(self, extension):
        write(f"a.{extension}", "plain text")
        fails(
            f"a.{extension}: not .{extension} data (it starts with the bytes 70 6c 61 69 6e 20)",
            f"a.{extension}",
        )

    def test_compressed_data_without_the_extension_is_refused_with_a_hint(self):
        write("a.txt", gzip.compress(b"text"))
        assert ".gz" in fails("a.txt: not UTF-8 at byte 1 (0x8B); it looks compressed", "a.txt").hint

    def test_empty_compressed_file_has_no_document(self):
        write("a.txt.gz", gzip.compress(b""))
        write("b.txt")
        assert texts_of(open_corpus("a.txt.gz", "b.txt").byte_sources()) == list(
            open_corpus("a.txt.gz", "b.txt")
        )

    def test_skippable_zstandard_frames_are_skipped(self):
        write("a.zst", b"\x50\x2a\x4d\x18\x04\0\0\0info" + zstd(b"text"))
        assert list(open_corpus("a.zst")) == ["text"]

    def test_zip_bomb_is_read_in_blocks(self):
        bomb = zstd(bytes(1 << 27))
        write("a.zst", bomb)
        assert len(bomb) < 1 << 14
        [file] = open_corpus("a.zst").files
        sizes = [len(block) for block in corpus_bytes.read_blocks(file)]
        assert sum(sizes) == 1 << 27
        assert max(sizes) <= 1 << 25

    @pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python itself reads .zst files")
    def test_missing_zstandard_package_is_named(self, monkeypatch):
        write("docs/a.txt.zst", b"\x28\xb5\x2f\xfd")
        write("docs/b.bin.zst", b"\x28\xb5\x2f\xfd")
        monkeypatch.setitem(sys.modules, "zstandard", None)
        for path in ("docs", "docs/a.txt.zst"):
            with pytest.raises(BackendUnavailableError) as caught:
                open_corpus(path)
            assert caught.value.hint == "pip install 'tokbench[zstd]'"
