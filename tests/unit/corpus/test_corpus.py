"""Corpora: what is found, what is read, in which pieces, and what every mistake says."""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import json
import lzma
import os
import random
import socket
import sys
import threading
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from tokbench.core.documents import ByteDocuments, ByteSource
from tokbench.corpus import Corpus, CorpusFile, Document, LeftOut, Problems, open_corpus
from tokbench.corpus import bytes as corpus_bytes
from tokbench.errors import BackendUnavailableError, ConfigError, CorpusError
from tokbench.files import untrusted


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of its own to be in, so that paths in messages are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def stdin(monkeypatch):
    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


def write(path: str, data: str | bytes = "text") -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return file


def write_jsonl(path: str, *records: object) -> Path:
    return write(path, "".join(json.dumps(record) + "\n" for record in records))


def names(corpus: Corpus) -> list[str]:
    return [file.name for file in corpus.files]


def groups(*paths: str, **options) -> list[str]:
    return [document.group for document in open_corpus(*paths, **options).documents()]


def texts_of(sources) -> list[str]:
    """The documents of byte sources, by the plain meaning of `ByteSource`."""
    return [text for source in sources for text in documents_by_definition(source)]


def documents_by_definition(source: ByteSource) -> list[str]:
    data = source.path.read_bytes() if source.path else b"".join(source.blocks)
    text = data.decode()
    if source.documents == "file":
        return [text] if text else []
    assert source.documents == "lines"
    *ended, last = text.split("\n")
    return [line for line in [*(line.removesuffix("\r") for line in ended), last] if line.strip()]


def fails(message: str, *paths: str, **options) -> CorpusError:
    """Open and read; there must be this error, and the error must help."""
    with pytest.raises(CorpusError) as caught:
        list(open_corpus(*paths, **options))
    assert message in caught.value.message
    assert caught.value.hint
    return caught.value


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").ZstdCompressor(write_checksum=True).compress(data)


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


class TestFinding:
    def test_a_folder_is_walked_and_sorted(self):
        for path in ("docs/b.txt", "docs/a.txt", "docs/deep/er/c.py", "docs/data.jsonl"):
            write(path)
        assert names(open_corpus("docs")) == [
            "docs/a.txt",
            "docs/b.txt",
            "docs/data.jsonl",
            "docs/deep/er/c.py",
        ]

    def test_a_file_says_what_it_is(self):
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

    def test_what_pip_compiles_is_no_text(self):
        write("docs/a.py", "a")
        write("docs/__pycache__/a.pyc", "b")
        corpus = open_corpus("docs")
        assert list(corpus) == ["a"]
        assert corpus.left_out == LeftOut(hidden=1)

    def test_hidden_and_binary_are_left_out_and_counted(self):
        write("docs/a.txt")
        write("docs/.hidden")
        write("docs/.git/config")
        write("docs/picture.png", b"\x89PNG\0\0")
        write("docs/archive.tar.gz", gzip.compress(b"name" + b"\0" * 100))
        write("docs/late", b"x" * 8192 + b"\0")
        corpus = open_corpus("docs")
        assert names(corpus) == ["docs/a.txt", "docs/late"]
        assert corpus.left_out == LeftOut(hidden=2, binary=2)

    def test_named_files_are_read_whatever_they_are(self):
        write(".hidden/.file", "a\0b")
        assert list(open_corpus(".hidden/.file")) == ["a\0b"]
        assert list(open_corpus(write("x.bin", "\0"))) == ["\0"]
        write(".hidden/other")
        assert names(open_corpus(".hidden")) == [".hidden/other"]

    def test_text_extensions_are_never_taken_for_binary(self):
        write("docs/a.txt", "a\0b")
        assert list(open_corpus("docs")) == ["a\0b"]

    def test_a_file_named_twice_is_read_once(self):
        write("docs/a.txt")
        Path("link.txt").symlink_to("docs/a.txt")
        corpus = open_corpus(
            "docs/a.txt", "docs", "./docs/../docs/a.txt", "docs/*", "link.txt", Path("docs").resolve()
        )
        assert list(corpus) == ["text"]

    def test_links_to_folders_are_followed_and_circles_end(self):
        write("elsewhere/b.txt", "b")
        write("docs/deep/a.txt", "a")
        Path("docs/deep/up").symlink_to("..")
        Path("docs/self").symlink_to(".")
        Path("docs/all").symlink_to("../elsewhere")
        Path("docs/0").symlink_to("deep")
        assert names(open_corpus("docs")) == ["docs/all/b.txt", "docs/deep/a.txt"]
        assert names(open_corpus("docs/**/*.txt")) == ["docs/deep/a.txt"]

    def test_special_files_in_folders_are_passed_over(self):
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

    def test_patterns(self):
        for path in ("a.txt", "b.md", "docs/c.txt", "docs/deep/d.txt", "docs/.e.txt", ".git/f.txt"):
            write(path)
        assert names(open_corpus("*.txt")) == ["a.txt"]
        assert names(open_corpus("**/*.txt")) == ["a.txt", "docs/c.txt", "docs/deep/d.txt"]
        assert names(open_corpus("docs/**")) == ["docs/c.txt", "docs/deep/d.txt"]
        assert names(open_corpus("d?cs/[c-d]*")) == ["docs/c.txt", "docs/deep/d.txt"]
        assert names(open_corpus("docs/.e*")) == ["docs/.e.txt"]
        assert names(open_corpus("**/deep/../c.*")) == ["docs/deep/../c.txt"]
        assert len(open_corpus(str(Path.cwd() / "**" / "*.txt")).files) == 3

    def test_a_name_that_looks_like_a_pattern_is_a_name(self):
        write("[a].txt", "brackets")
        write("a.txt", "plain")
        assert list(open_corpus("[a].txt")) == ["brackets"]

    def test_missing_paths_suggest_what_is_there(self):
        write("docs/readme.txt")
        assert (
            "did you mean docs/readme.txt?" in fails("docs/redme.txt does not exist", "docs/redme.txt").hint
        )
        assert "did you mean docs?" in fails("dosc/a.txt does not exist", "dosc/a.txt").hint
        assert "no folder zzz" in fails("does not exist", "zzz/deep/a.txt").hint
        assert "nothing of that name" in fails("qqqqq does not exist", "qqqqq").hint
        assert "is a file" in fails("does not exist", "docs/readme.txt/a").hint

    @pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000])
    def test_impossible_paths(self, path):
        with pytest.raises(CorpusError):
            open_corpus(path)

    def test_links_that_lead_nowhere(self):
        Path("broken").symlink_to("nowhere")
        Path("circle").symlink_to("circle")
        assert "nowhere" in fails("a link that leads nowhere", "broken").hint
        fails("a link that leads nowhere", "circle")

    def test_nothing_found(self):
        Path("empty").mkdir()
        write("only/.hidden")
        fails("no text files in empty/", "empty")
        assert "1 hidden" in fails("no text files in only/", "only").hint
        fails("nothing matches *.xyz", "*.xyz")
        fails("no text files match emp*", "emp*")
        fails("no file or folder was named")

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
    def test_no_permission(self):
        write("docs/secret.txt").chmod(0)
        fails("docs/secret.txt: cannot be read (Permission denied)", "docs/secret.txt")
        fails("docs/secret.txt: cannot be read (Permission denied)", "docs")
        Path("docs").chmod(0)
        fails("docs: cannot be read (Permission denied)", "docs")
        fails("docs/secret.txt: cannot be read (Permission denied)", "docs/secret.txt")
        Path("docs").chmod(0o700)

    def test_no_permission_as_the_system_tells_it(self, monkeypatch):
        write("secret.txt")
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        error = fails("secret.txt: cannot be read (Permission denied)", "secret.txt")
        assert "permissions" in error.hint

    def test_a_file_that_went_away(self):
        file = write("a.txt")
        corpus = open_corpus("a.txt")
        file.unlink()
        for read in (list, Corpus.fingerprint, lambda corpus: list(corpus.byte_sources())):
            with pytest.raises(CorpusError, match=r"a\.txt: cannot be read \(No such file or directory\)"):
                read(corpus)


class TestUnits:
    def test_a_file_is_a_document_as_it_is(self):
        write("a.txt", "one\r\n\n two \n")
        assert list(open_corpus("a.txt")) == ["one\r\n\n two \n"]

    def test_lines(self):
        write("a.txt", " one \r\n\n\t \nlone\rreturn\u2028\x0b\x85still\n\u3000\nend\r")
        assert list(open_corpus("a.txt", documents="lines")) == [
            " one ",
            "lone\rreturn\u2028\x0b\x85still",
            "end\r",
        ]

    def test_what_is_blank_does_not_depend_on_the_version_of_unicode(self):
        import regex

        space = regex.compile(r"[\s\x1c-\x1f]")
        assert all(chr(code).isspace() == bool(space.match(chr(code))) for code in range(0x110000))

    def test_paragraphs(self):
        write("a.txt", "\n\none\r\ntwo\n \nthree\n\n\n\nfour")
        assert list(open_corpus("a.txt", documents="paragraphs")) == ["one\ntwo", "three", "four"]

    def test_sources_name_the_line(self):
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

    def test_program_code_is_told_by_folder_extension_or_field(self):
        names = (
            "code/c.txt",
            "src/a.PY",
            "src/b.rs.gz",
            "src/readme.md",
            "src/page.html",
            "decode/a.txt",
            "c.txt",
        )
        for name in names:
            write(name, gzip.compress(b"text") if name.endswith("gz") else "text")
        found = {document.source: document.is_code for document in open_corpus(*names).documents()}
        assert {name for name, is_code in found.items() if is_code} == {
            "code/c.txt",
            "src/a.PY",
            "src/b.rs.gz",
        }
        write_jsonl("d.jsonl", {"text": "a", "lang": "Python"}, {"text": "b", "lang": "ts"})
        by_field = open_corpus("d.jsonl", group_by="field:lang").documents()
        assert [document.is_code for document in by_field] == [True, False]

    def test_empty_documents_are_left_out(self):
        write("a.txt", "")
        write("b.txt", codecs.BOM_UTF8)
        write("c.txt", " \n")
        write_jsonl("d.jsonl", {"text": ""}, {"text": " "})
        paths = ("a.txt", "b.txt", "c.txt", "d.jsonl")
        assert list(open_corpus(*paths)) == [" \n", " "]
        assert texts_of(open_corpus(*paths).byte_sources()) == [" \n", " "]

    @pytest.mark.parametrize("content", [b"", b"\n\n", codecs.BOM_UTF8])
    def test_no_document_at_all(self, content):
        write("a.txt", content)
        corpus = open_corpus("a.txt", documents="lines")
        for read in (list, lambda corpus: list(corpus.documents()), Corpus.fingerprint):
            with pytest.raises(CorpusError, match=r"there is no text in a\.txt"):
                read(corpus)

    def test_a_corpus_can_be_read_again(self):
        write("a.txt", "one\ntwo")
        corpus = open_corpus("a.txt", documents="lines")
        first, second = iter(corpus), iter(corpus)
        assert [next(first), next(second), next(first)] == ["one", "one", "two"]
        assert list(corpus) == ["one", "two"]

    def test_it_is_what_backends_ask_for(self):
        assert isinstance(open_corpus(write("a.txt")), ByteDocuments)

    def test_unknown_options(self):
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


class TestCompression:
    @pytest.mark.parametrize("extension", PACKERS)
    def test_packed_files_read_like_plain_ones(self, extension):
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
    def test_packed_jsonl(self, extension):
        write(f"a.jsonl.{extension}", PACKERS[extension](b'{"text": "one"}\n{"text": "two"}'))
        assert list(open_corpus(f"a.jsonl.{extension}")) == ["one", "two"]

    @pytest.mark.parametrize("extension", PACKERS)
    def test_several_members_are_one_text(self, extension):
        pack = PACKERS[extension]
        write(f"a.{extension}", pack(b"one ") + pack(b"two"))
        assert list(open_corpus(f"a.{extension}")) == ["one two"]

    @pytest.mark.parametrize("extension", PACKERS)
    def test_cut_off(self, extension):
        packed = PACKERS[extension](random.Random(1).randbytes(5000).hex().encode())
        for length in (0, 1, len(packed) // 2, len(packed) - 1):
            write(f"a.{extension}", packed[:length])
            fails(f"a.{extension}: ", f"a.{extension}")
        fails("its compressed data is cut off", f"a.{extension}")

    @pytest.mark.parametrize("extension", PACKERS)
    def test_cut_off_after_a_whole_member(self, extension):
        pack = PACKERS[extension]
        write(f"a.{extension}", pack(b"one") + pack(b"two" * 100)[:-3])
        fails("its compressed data is", f"a.{extension}")

    @pytest.mark.parametrize("extension", PACKERS)
    def test_damaged(self, extension):
        packed = bytearray(PACKERS[extension](random.Random(1).randbytes(5000).hex().encode()))
        packed[40:80] = bytes(40)
        write(f"a.{extension}", bytes(packed))
        fails(f"a.{extension}: its compressed data is damaged", f"a.{extension}")

    @pytest.mark.parametrize("extension", PACKERS)
    def test_extension_without_the_compression(self, extension):
        write(f"a.{extension}", "plain text")
        fails(
            f"a.{extension}: not .{extension} data (it starts with the bytes 70 6c 61 69 6e 20)",
            f"a.{extension}",
        )

    def test_compression_without_the_extension(self):
        write("a.txt", gzip.compress(b"text"))
        assert ".gz" in fails("a.txt: not UTF-8 at byte 1 (0x8B); it looks compressed", "a.txt").hint

    def test_a_packed_empty_file_has_no_document(self):
        write("a.txt.gz", gzip.compress(b""))
        write("b.txt")
        assert texts_of(open_corpus("a.txt.gz", "b.txt").byte_sources()) == list(
            open_corpus("a.txt.gz", "b.txt")
        )

    def test_frames_that_are_to_be_skipped(self):
        write("a.zst", b"\x50\x2a\x4d\x18\x04\0\0\0info" + zstd(b"text"))
        assert list(open_corpus("a.zst")) == ["text"]

    def test_a_bomb_comes_in_blocks(self):
        bomb = zstd(bytes(1 << 27))
        write("a.zst", bomb)
        assert len(bomb) < 1 << 14
        [file] = open_corpus("a.zst").files
        sizes = [len(block) for block in corpus_bytes.read_blocks(file)]
        assert sum(sizes) == 1 << 27
        assert max(sizes) <= 1 << 25

    def test_zstandard_is_not_installed(self, monkeypatch):
        write("docs/a.txt.zst", b"\x28\xb5\x2f\xfd")
        write("docs/b.bin.zst", b"\x28\xb5\x2f\xfd")
        monkeypatch.setitem(sys.modules, "zstandard", None)
        for path in ("docs", "docs/a.txt.zst"):
            with pytest.raises(BackendUnavailableError) as caught:
                open_corpus(path)
            assert caught.value.hint == "pip install 'tokbench[zstd]'"


class TestUtf8:
    def test_the_first_bad_byte_is_named(self):
        write("docs/a.txt", b"x" * 1234 + b"\xe9t\xe9")
        error = fails("docs/a.txt: not UTF-8 at byte 1234 (0xE9)", "docs")
        assert "--errors replace" in error.hint
        assert "--errors skip" in error.hint

    @pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
    @pytest.mark.parametrize("before", [0, 1, 2**20 - 2, 2**20 - 1, 2**20, 2**20 + 1, 3 * 2**20 - 1])
    def test_offsets_hold_across_blocks(self, unit, before):
        write("a.txt.gz", gzip.compress(b"x" * before + b"\xe2\x82y", 1))
        fails(f"not UTF-8 at byte {before} (0xE2)", "a.txt.gz", documents=unit)

    def test_offsets_count_the_byte_order_mark(self):
        write("a.txt", codecs.BOM_UTF8 + b"ab\xff")
        fails("not UTF-8 at byte 5 (0xFF)", "a.txt")

    def test_a_character_cut_off_at_the_end(self):
        write("a.txt", "abc€".encode()[:-1])
        fails("not UTF-8 at byte 3 (0xE2)", "a.txt")

    @pytest.mark.parametrize("data", [b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"])
    def test_forms_that_are_not_utf8(self, data):
        write("a.txt", b"ok" + data)
        fails(f"not UTF-8 at byte 2 (0x{data[0]:02X})", "a.txt")

    def test_replace(self):
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
    def test_skip(self, unit, kept, skipped):
        write("a.txt", b"a\nb\xff\nc\xe2\n\nd\ne")
        write("b.txt", "good")
        corpus = open_corpus("a.txt", "b.txt", documents=unit, errors="skip")
        assert list(corpus) == kept
        assert corpus.problems == Problems(skipped_documents=skipped)
        assert texts_of(corpus.byte_sources()) == kept
        assert corpus.fingerprint() == fingerprint(kept)

    def test_skip_everything(self):
        write("a.txt", b"\xff")
        with pytest.raises(CorpusError, match=r"no document of a\.txt is UTF-8"):
            list(open_corpus("a.txt", errors="skip"))

    def test_byte_order_mark_is_taken_off_at_the_start_only(self):
        write("a.txt", "\ufeffa\ufeff\n\ufeffb")
        corpus = open_corpus("a.txt")
        assert list(corpus) == texts_of(corpus.byte_sources()) == ["a\ufeff\n\ufeffb"]
        assert corpus.fingerprint() == fingerprint(corpus)
        [source] = corpus.byte_sources()
        assert source.path is None

    @pytest.mark.parametrize("errors", ["strict", "replace", "skip"])
    @pytest.mark.parametrize("encoding", ["UTF-16", "UTF-32"])
    def test_other_encodings_are_named(self, encoding, errors):
        write("docs/a.txt", "text".encode(encoding))
        error = fails(f"docs/a.txt: not UTF-8: it looks like {encoding}", "docs", errors=errors)
        assert f"iconv -f {encoding}" in error.hint
        with pytest.raises(CorpusError, match="it looks like"):
            list(open_corpus("docs").byte_sources())

    def test_binary_files(self):
        write("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
        fails("a.png: not UTF-8 at byte 0 (0x89); it looks like a binary file", "a.png")

    def test_nul_is_text(self):
        write("a.txt", "a\0\nb")
        assert list(open_corpus("a.txt", documents="lines")) == ["a\0", "b"]


class TestJsonl:
    def test_records(self):
        write("a.jsonl", '\ufeff{"text": "öne\\n\\ud83d\\ude00", "n": 1}\r\n\n  \n{"n": NaN, "text": "two"}')
        documents = list(open_corpus("a.jsonl", documents="lines").documents())
        assert [(document.text, document.source) for document in documents] == [
            ("öne\n😀", "a.jsonl:1"),
            ("two", "a.jsonl:4"),
        ]

    def test_another_field(self):
        write_jsonl("a.ndjson", {"content": "one"})
        assert list(open_corpus("a.ndjson", text_field="content")) == ["one"]

    @pytest.mark.parametrize(
        ("line", "message", "hint"),
        [
            ('{"content": "x", "id": 1}', "the record has no field 'text'", "'content', 'id'"),
            ("{}", "the record has no field 'text'", "none"),
            (json.dumps(dict.fromkeys(range(20))), "the record has no field 'text'", "and 8 more"),
            ('{"text": null}', "the field 'text' is null, not a string", "--text-field"),
            ('{"text": 3}', "the field 'text' is a number, not a string", "--text-field"),
            ('{"text": true}', "the field 'text' is a boolean, not a string", "--text-field"),
            ('{"text": ["x"]}', "the field 'text' is an array, not a string", "--text-field"),
            ('{"text": {}}', "the field 'text' is an object, not a string", "--text-field"),
            ('["text"]', "an array, not an object", "one a line"),
            ('"text"', "a string, not an object", "one a line"),
            ('{"text": "x"', "not JSON (unexpected end", "one JSON object a line"),
            ("[" * 100_000, "not JSON", "one JSON object a line"),
            ("1" * 10_000, "not JSON", "one JSON object a line"),
            ('{"text": "\\ud800"}', "the text holds the lone surrogate U+D800", "--errors replace"),
        ],
    )
    def test_what_is_wrong_and_where(self, line, message, hint):
        write("a.jsonl", '{"text": "ok"}\n\n' + line + "\n")
        assert hint in fails(f"a.jsonl:3: {message}", "a.jsonl").hint

    def test_bad_utf8_is_named_by_line_and_byte(self):
        write("a.jsonl", codecs.BOM_UTF8 + b'{"text": "ok"}\n{"text": "\xe9"}')
        fails("a.jsonl:2: not UTF-8 at byte 28 (0xE9)", "a.jsonl")

    def test_replace_and_skip(self):
        write("a.jsonl", b'{"text": "a\xe9"}\n{"text": "b\\udc80"}\n{"text": "c"}\n')
        replacing = open_corpus("a.jsonl", errors="replace")
        assert list(replacing) == ["a\ufffd", "b\ufffd", "c"]
        assert replacing.problems == Problems(replaced_bytes=7)
        skipping = open_corpus("a.jsonl", errors="skip")
        assert list(skipping) == ["c"]
        assert skipping.problems == Problems(skipped_documents=2)

    def test_byte_sources_are_few_and_give_the_same_documents(self):
        texts = [
            "one",
            " ",
            "two\nlines",
            "\n",
            "end\r",
            "\r",
            "three",
            "four\u2028",
            "\0",
            "é" * 2**20,
            "five",
        ] * 3
        write_jsonl("a.jsonl", *({"text": text} for text in texts))
        corpus = open_corpus("a.jsonl")
        assert list(corpus) == texts_of(corpus.byte_sources()) == texts
        write_jsonl("b.jsonl", *({"text": f"record {number}"} for number in range(10_000)))
        assert len(list(open_corpus("b.jsonl").byte_sources())) == 1


class TestParquet:
    @pytest.fixture(autouse=True)
    def pyarrow(self):
        return pytest.importorskip("pyarrow")

    def write(self, pyarrow, path="a.parquet", **columns):
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=300)

    def test_rows(self, pyarrow):
        texts = [f"text {number}" for number in range(1000)]
        self.write(pyarrow, other=list(range(1000)), text=texts)
        corpus = open_corpus("a.parquet")
        assert list(corpus) == texts_of(corpus.byte_sources()) == texts
        assert [document.source for document in corpus.documents()][-1] == "a.parquet:1000"
        assert corpus.files[0].kind == "parquet"

    @pytest.mark.parametrize("kind", ["large_string", "string_view", "dictionary"])
    def test_every_kind_of_string(self, pyarrow, kind):
        column = pyarrow.array(["a", "é", "a"])
        try:
            made = (
                column.dictionary_encode() if kind == "dictionary" else column.cast(getattr(pyarrow, kind)())
            )
            self.write(pyarrow, text=made)
        except pyarrow.ArrowNotImplementedError as error:
            pytest.skip(f"this pyarrow does not write it: {error}")
        assert list(open_corpus("a.parquet")) == ["a", "é", "a"]

    def test_another_column_and_groups(self, pyarrow):
        self.write(pyarrow, lang=["de", "fr"], content=["eins", "un"], year=[1, 2])
        options = {"text_field": "content"}
        assert groups("a.parquet", group_by="field:lang", **options) == ["de", "fr"]
        assert groups("a.parquet", group_by="field:year", **options) == ["1", "2"]
        assert groups("a.parquet", group_by="field:content", **options) == ["eins", "un"]

    def test_what_is_wrong_and_where(self, pyarrow):
        self.write(pyarrow, content=["x"], id=[1])
        assert "'content', 'id'" in fails("a.parquet: there is no column 'text'", "a.parquet").hint
        fails("a.parquet: the column 'id' holds int64, not text", "a.parquet", text_field="id")
        self.write(pyarrow, text=["x", None])
        fails("a.parquet:2: the field 'text' is null, not a string", "a.parquet")

    def test_bad_utf8(self, pyarrow):
        column = pyarrow.array([b"ok", b"b\xe9"]).view(pyarrow.string())
        self.write(pyarrow, text=column)
        fails("a.parquet:2: not UTF-8 at byte 1 (0xE9)", "a.parquet")
        assert list(open_corpus("a.parquet", errors="replace")) == ["ok", "b\ufffd"]
        assert list(open_corpus("a.parquet", errors="skip")) == ["ok"]
        fails("a.parquet: cannot be read as Parquet", "a.parquet", group_by="field:text", errors="replace")

    def test_files_that_are_not_parquet(self, pyarrow):
        self.write(pyarrow, text=["some text"] * 100)
        data = Path("a.parquet").read_bytes()
        for damaged in (b"", b"PAR1", b"plain text", data[:-10], data[:4] + bytes(60) + data[64:]):
            write("b.parquet", damaged)
            fails("b.parquet: cannot be read as Parquet", "b.parquet")
        write("c.parquet.gz", gzip.compress(data))
        fails("c.parquet.gz: Parquet is read from plain files only", "c.parquet.gz")

    def test_pyarrow_is_not_installed(self, pyarrow, monkeypatch):
        self.write(pyarrow, text=["x"])
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(BackendUnavailableError) as caught:
            open_corpus("a.parquet")
        assert caught.value.hint == "pip install 'tokbench[parquet]'"


class TestStreams:
    def test_stdin(self, stdin):
        stdin(b"one\n\ntwo")
        corpus = open_corpus("-")
        assert list(corpus.documents()) == [Document("one\n\ntwo", "Latin", "<stdin>")]
        assert corpus.num_bytes == 0

    def test_stdin_in_lines(self, stdin):
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

    def test_stdin_as_bytes(self, stdin):
        stdin("é".encode())
        assert texts_of(open_corpus("-").byte_sources()) == ["é"]

    def test_bad_stdin(self, stdin, monkeypatch):
        stdin(b"ab\xff")
        fails("<stdin>: not UTF-8 at byte 2 (0xFF)", "-")
        stdin(b"")
        fails("there is no text in <stdin>", "-")
        monkeypatch.setattr(sys, "stdin", None)
        fails("<stdin>: there is no standard input", "-")

    def test_a_file_of_that_name(self):
        write("-", "a dash")
        write("<stdin>", "brackets")
        assert list(open_corpus("./-")) == ["a dash"]
        assert list(open_corpus("<stdin>")) == ["brackets"]

    def test_a_named_pipe(self):
        os.mkfifo("pipe")
        writer = threading.Thread(target=lambda: Path("pipe").write_bytes(b"one\ntwo"))
        writer.start()
        corpus = open_corpus("pipe", documents="lines")
        assert corpus.files[0].stream
        assert list(corpus) == ["one", "two"]
        writer.join()
        with pytest.raises(CorpusError, match="pipe can be read only once"):
            list(corpus)

    def test_process_substitution(self):
        untrusted, writing = os.pipe()
        os.write(writing, b"text")
        os.close(writing)
        assert list(open_corpus(f"/dev/fd/{untrusted}")) == ["text"]
        os.close(untrusted)


class TestGroups:
    def test_bundled_layout(self):
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

    def test_translations_are_known_by_their_folder_however_they_are_named(self, monkeypatch):
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

    def test_a_project_in_a_folder_code_is_not_one_group(self):
        write("code/project/docs/a.txt")
        assert groups(str(Path("code/project").resolve())) == ["Latin"]
        assert groups(str(Path("code/project/docs/a.txt").resolve())) == ["Latin"]

    def test_scripts(self):
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

    def test_script_even_in_the_bundled_layout(self):
        write("parallel/ru.txt", "да")
        assert groups("parallel", group_by="script") == ["Cyrillic"]

    def test_path(self):
        for path in ("data/de/a.txt", "data/de/deep/b.txt", "data/fr.txt.gz", "data/parallel/it.txt"):
            write(path, gzip.compress(b"x") if path.endswith("gz") else "x")
        assert groups("data", group_by="path") == ["de", "de", "fr", "it"]
        assert groups("data/de/a.txt", group_by="path") == ["a"]

    def test_extension(self):
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

    def test_field(self):
        write_jsonl("a.jsonl", *({"text": "x", "lang": value} for value in ("de", "", 7, 1.5, True)))
        assert groups("a.jsonl", group_by="field:lang") == ["de", "", "7", "1.5", "true"]
        assert groups("a.jsonl") == ["Latin"] * 5

    def test_fields_that_name_no_group(self):
        write_jsonl("a.jsonl", {"text": "x", "lang": ["de"]})
        fails(
            "a.jsonl:1: the field 'lang' is an array, which names no group", "a.jsonl", group_by="field:lang"
        )


def fingerprint(texts) -> str:
    """The definition."""
    return f"{sum(int(hashlib.sha256(text.encode()).hexdigest(), 16) for text in texts) % 2**256:064x}"


def kept(files, file):
    files.append(file)
    return file


class TestClosing:
    """A file is closed at once when its reading ends early, not when its objects are collected."""

    @pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
    @pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.gz"])
    def test_after_an_error(self, unit, name, monkeypatch):
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
            assert caught.value.__traceback__ is not None  # which would keep what was being read


class TestFingerprint:
    @pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
    def test_of_a_corpus(self, unit):
        write("a.txt", "one\r\ntwo\n\nthree")
        write("b.txt", codecs.BOM_UTF8 + b"vier\n")
        write_jsonl("c.jsonl", {"text": "one"}, {"text": "a\n\nb"})
        corpus = open_corpus("a.txt", "b.txt", "c.jsonl", documents=unit)
        assert corpus.fingerprint() == fingerprint(corpus)

    def test_does_not_depend_on_where_the_documents_are(self):
        write("a/1.txt", "x\ny")
        write("b/z.txt", "y\n\n")
        write("b/y.txt.gz", gzip.compress(b"x\r\n"))
        first, second = (open_corpus(folder, documents="lines") for folder in "ab")
        assert first.fingerprint() == second.fingerprint()


class TestSplit:
    @pytest.fixture
    def corpus(self):
        write("a.txt", "\n".join(f"line {number}" for number in range(2000)))
        return open_corpus("a.txt", documents="lines")

    def test_sides_share_nothing_and_lose_nothing(self, corpus):
        train, held_out = (list(side) for side in corpus.split(0.1))
        assert sorted(train + held_out) == sorted(corpus)
        assert not set(train) & set(held_out)
        assert 140 < len(held_out) < 260

    def test_it_is_decided_by_text_and_seed_alone(self, corpus):
        lines = list(corpus)
        random.Random(0).shuffle(lines)
        write_jsonl("b.jsonl", *({"text": line} for line in lines))
        again = open_corpus("b.jsonl")
        for seed in (0, 1, -5, 10**100):
            assert set(corpus.split(seed=seed)[1]) == set(again.split(seed=seed)[1])
        assert set(corpus.split(seed=0)[1]) != set(corpus.split(seed=1)[1])

    def test_a_larger_share_holds_the_smaller_one(self, corpus):
        assert set(corpus.split(0.1)[1]) < set(corpus.split(0.2)[1])

    def test_sides_are_whole_corpora(self, corpus):
        for side in corpus.split():
            texts = list(side)
            assert [document.text for document in side.documents()] == texts
            assert texts_of(side.byte_sources()) == texts
            assert side.fingerprint() == fingerprint(texts)
            assert side.files == corpus.files

    def test_a_side_can_be_split_again(self, corpus):
        train, test = corpus.split(0.2)
        train, validation = train.split(0.2)
        parts = [set(train), set(validation), set(test)]
        assert set.union(*parts) == set(corpus)
        assert sum(map(len, parts)) == 2000
        assert len(parts[1]) > 200

    def test_a_side_without_documents(self):
        write("a.txt", "one")
        sides = open_corpus("a.txt").split(0.5)
        messages = set()
        for side in sides:
            try:
                assert list(side) == ["one"]
            except CorpusError as error:
                messages.add(error.message)
                assert "lines" in error.hint
        assert len(messages) == 1
        assert messages < {
            "the held-out part of the corpus has no document",
            "the training part of the corpus has no document",
        }

    @pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan")])
    def test_what_is_not_a_share(self, corpus, share):
        with pytest.raises(ConfigError, match="not a share"):
            corpus.split(share)


class TestByteSources:
    def test_plain_files_are_given_by_path(self):
        write("a.txt", "one\n")
        for unit in ("file", "lines"):
            [source] = open_corpus("a.txt", documents=unit).byte_sources()
            assert source == ByteSource("a.txt", Path("a.txt"), None, unit)

    @pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
    @pytest.mark.parametrize("errors", ["strict", "replace", "skip"])
    def test_they_give_the_same_documents(self, unit, errors):
        text = "one\r\n\r\n\t\ntwo\nthree\n\n\u3000\nfour\r"
        write("a.txt", text)
        write("b.txt.gz", gzip.compress(text.encode()))
        write("c.txt", codecs.BOM_UTF8 + text.encode())
        write_jsonl("d.jsonl", {"text": text}, {"text": "five"})
        if errors != "strict":
            write("e.txt", b"bad\xff\n\n\ngood")
        corpus = open_corpus(*sorted(path.name for path in Path().iterdir()), documents=unit, errors=errors)
        assert texts_of(corpus.byte_sources()) == list(corpus)

    def test_blocks_are_checked(self):
        write("a.txt.gz", gzip.compress(b"abc\xff"))
        [source] = open_corpus("a.txt.gz").byte_sources()
        with pytest.raises(CorpusError, match="not UTF-8 at byte 3"):
            list(source.blocks)

    def test_many_sources_hold_no_file_open(self):
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
def test_one_line_of_100_mb(unit):
    with gzip.open("a.txt.gz", "wb", compresslevel=1) as file:
        for _ in range(100):
            file.write("é".encode() * 500_000)
    [text] = open_corpus("a.txt.gz", documents=unit)
    assert len(text) == 50_000_000


@pytest.mark.slow
def test_lines_are_streamed():
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
