"""tokbin files: written data is read back, opening reads little, and damaged files are refused."""

from __future__ import annotations

import os
import struct
import time
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.descriptions import SPECIALS, TRAINING_TEXT, ranked, running, trained
from support.sentencepiece_models import variant
from support.subjects import Subject

import tokbench
from tokbench.convert.conversion import Source
from tokbench.convert.targets.tokbin import make
from tokbench.convert.targets.tokenizers import tokenizer_json_of
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConversionError, DecodeError, ModelFormatError, StoreError, UnknownIdError
from tokbench.formats.tokbin.layout import ENTRY, HEADER, Kind, Model, Section, Texts
from tokbench.formats.tokbin.reading import TokbinFile, is_tokbin
from tokbench.formats.tokbin.writing import TokbinContents, dump_tokbin, merge_scores
from tokbench.opening.tokbin import TokbinTokenizer, open_tokbin
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer


def dumped(tokenizer: Any) -> bytes:
    return make(Source(tokenizer=tokenizer, description=tokenizer.description())).files[""]


def reopened(tokenizer: Any) -> TokbinTokenizer:
    return TokbinTokenizer(TokbinFile(dumped(tokenizer), path="mine.tokbin"))


def tiny(**changes: Any) -> TokbinContents:
    parts: dict[str, Any] = {
        "model": Model.MERGES,
        "texts": Texts("bpe", "tiny", "none", None, None),
        "tokens": [b"a", b"b", b"ab", None, b"<e>"],
        "kinds": [Kind.NORMAL, Kind.NORMAL, Kind.NORMAL, Kind.NONE, Kind.SPECIAL],
        "scores": [-1.0, -1.0, 0.0, 0.0, 0.0],
        "special_tokens": {"<e>": 4},
        "merges": [(0, 1, 2)],
    }
    return TokbinContents(**(parts | changes))


SOURCES: dict[str, Callable[[], Any]] = {
    "listed merges": trained,
    "ranks, a gap, special tokens after it": lambda: running(ranked(gap=7)),
    "a normalizing pattern": lambda: trained("qwen2"),
    "no pattern": lambda: trained("none"),
    "a pattern of one's own": lambda: trained(r"\w+|\W"),
    "a BPE of SentencePiece": lambda: variant("bpe as llama"),
    "a Unigram of SentencePiece": lambda: variant("unigram as t5"),
    "a WordPiece": lambda: Subject("wordpiece", options={"limit_alphabet": 200}).train(),
}


@pytest.mark.parametrize("name", SOURCES)
def test_file_is_read_as_written(name: str) -> None:
    source: Tokenizer = SOURCES[name]()
    tokenizer = reopened(source)
    assert tokenizer.description() == source.description()  # type: ignore[attr-defined]
    assert tokenizer.info.special_tokens == source.info.special_tokens
    assert tokenizer.info.vocab_size == source.info.vocab_size
    assert tokenizer.info.lossless == source.info.lossless
    assert tokenizer.info.kernel == source.info.kernel
    for id in range(source.info.vocab_size):
        try:
            expected = source.token_bytes(id)
        except UnknownIdError:
            with pytest.raises(UnknownIdError):
                tokenizer.token_bytes(id)
        else:
            assert tokenizer.token_bytes(id) == expected


@pytest.mark.parametrize("name", SOURCES)
def test_tokbin_encodes_as_its_source(name: str) -> None:
    source: Tokenizer = SOURCES[name]()
    tokenizer = reopened(source)
    text = TRAINING_TEXT + " 한국어 <|end|> <|a|>\r\n\t x"
    ids = source.encode(text)
    assert tokenizer.encode(text) == ids
    assert tokenizer.encode(text, special=SpecialPolicy.ENCODE) == source.encode(
        text, special=SpecialPolicy.ENCODE
    )
    assert tokenizer.segment(text) == source.segment(text)
    assert tokenizer.decode(ids) == source.decode(ids)
    assert reopened(source).decode_bytes(ids) == source.decode_bytes(ids)
    assert list(tokenizer.encode_batch([text, ""])[0]) == ids
    assert tokenizer.token_id(b"t") == source.token_id(b"t")


def test_header_has_the_documented_layout() -> None:
    data = dump_tokbin(tiny())
    assert data[:8] == b"\x93TOKBIN\n"
    assert struct.unpack_from("<HHIIIII", data, 8) == (1, 2, 0, 5, 1, 1, 7)
    assert struct.unpack_from("<Q", data, 32) == (len(data),)
    table = data[HEADER.size : HEADER.size + 7 * ENTRY.size]
    assert struct.unpack_from("<I", data, 60) == (zlib.crc32(data[:60] + table),)
    entries = list(ENTRY.iter_unpack(table))
    assert [kind for kind, *_ in entries] == [1, 2, 3, 4, 5, 6, 7]
    assert [start % 8 for _, _, start, _ in entries] == [0] * 7
    places = {kind: data[start : start + length] for kind, _, start, length in entries}
    assert places[Section.BYTES] == b"abab<e>"
    assert struct.unpack("<6I", places[Section.OFFSETS]) == (0, 1, 2, 4, 4, 7)
    assert struct.unpack("<3I", places[Section.MERGES]) == (0, 1, 2)
    assert places[Section.KINDS] == bytes([1, 1, 1, 0, 4])
    assert places[Section.SPECIAL] == struct.pack("<II", 4, 3) + b"<e>"
    assert struct.unpack("<5f", places[Section.SCORES]) == (-1.0, -1.0, 0.0, 0.0, 0.0)


def test_scores_decrease_with_ranks_and_byte_tokens_are_lowest() -> None:
    tokenizer = reopened(trained())
    scores = [tokenizer.score(id) for id in range(256, 338)]
    assert scores[0] == 0.0
    assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]
    assert tokenizer.score(0) == pytest.approx(merge_scores(range(256, 338), num_ids=340)[0])
    assert tokenizer.score(0) < scores[-1]  # type: ignore[operator]
    assert tokenizer.score(trained().info.special_tokens[SPECIALS[0]]) is None


def test_opening_checks_only_the_sections_it_needs() -> None:
    file = TokbinFile(dumped(trained()), path="mine.tokbin")
    assert file.token_bytes(97) == b"a"
    assert file._checked == {Section.TEXT, Section.SPECIAL, Section.KINDS, Section.OFFSETS, Section.BYTES}
    file.verify()
    assert file._checked == set(Section) - {Section.PAYLOAD, Section.CONFIG, Section.INPUT}


def large() -> Any:
    """Return a byte-level BPE of 100,000 entries, by its ranks: the bytes, and joined pairs of earlier entries."""
    pairs = ((left, right) for right in range(97, 488) for left in range(97, 353))
    tokens = [bytes([byte]) for byte in range(256)]
    known = set(tokens)
    for left, right in pairs:
        if len(tokens) == 100_000:
            break
        token = tokens[left % len(tokens)] + tokens[right % len(tokens)]
        if token not in known:
            known.add(token)
            tokens.append(token)
    return running(replace(ranked(), tokens=tuple(tokens), special_tokens={"<|end|>": len(tokens)}))


@pytest.mark.timed
@pytest.mark.slow
def test_large_vocabulary_opens_fast_and_takes_half_the_space(tmp_path: Path) -> None:
    source = large()
    place = tmp_path / "large.tokbin"
    place.write_bytes(dumped(source))
    assert source.info.vocab_size > 90_000
    document = tokenizer_json_of(Source(tokenizer=source, description=source.description()))
    assert place.stat().st_size * 2 <= len(document)

    def opening() -> float:
        started = time.perf_counter()
        open_tokbin(place)
        return time.perf_counter() - started

    assert min(opening() for _ in range(20)) < 0.002
    assert tokbench.load(place).token_bytes(90_000) == source.token_bytes(90_000)


def test_loading_by_name_reads_few_sections(tmp_path: Path) -> None:
    place = tmp_path / "mine.bin"
    place.write_bytes(dumped(trained()))
    tokenizer: Any = tokbench.load(place)
    assert isinstance(tokenizer, TokbinTokenizer)
    assert tokenizer.file._checked == {Section.TEXT, Section.SPECIAL}


@pytest.mark.slow
def test_file_is_mapped_and_survives_replacement(tmp_path: Path) -> None:
    place = tmp_path / "mine.tokbin"
    convert(trained(), to="tokbin", out=place)
    tokenizer = open_tokbin(place)
    convert(trained(vocab_size=300), to="tokbin", out=place, overwrite=True)
    assert tokenizer.token_bytes(320) == trained().token_bytes(320)
    assert open_tokbin(place).info.vocab_size == 300
    assert open_tokbin(place).info.name == "mine"


def test_saving_gives_the_files_of_the_source(tmp_path: Path) -> None:
    reopened(variant("bpe")).save(tmp_path / "saved")
    assert (tmp_path / "saved" / "tokenizer.model").read_bytes() == variant("bpe").proto


def test_invalid_ids_and_invalid_utf8_are_refused() -> None:
    tokenizer = reopened(running(ranked(gap=7)))
    with pytest.raises(UnknownIdError, match="id 339 at position 1"):
        tokenizer.decode_bytes([97, 339])
    with pytest.raises(UnknownIdError):
        tokenizer.token_bytes(-1)
    with pytest.raises(DecodeError):
        tokenizer.decode([0xFF], errors="strict")
    assert tokenizer.decode([0xFF]) == "\ufffd"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"tokens": [b"a"]}, ValueError),
        ({"kinds": [Kind.NORMAL] * 5}, ValueError),
        ({"merges": [], "model": Model.SENTENCEPIECE}, ValueError),
        ({"model": Model.RANKS}, ValueError),
        ({"tokens": [b"a", b"b", b"ab", None, b"<x>"]}, ValueError),
        ({"special_tokens": {"<e>": 4, "<f>": 4}}, ConversionError),
    ],
)
def test_inconsistent_contents_are_not_written(changes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        dump_tokbin(tiny(**changes))


def with_checksums(data: bytes) -> bytes:
    """Return the file with all checksums corrected."""
    changed = bytearray(data)
    (count,) = struct.unpack_from("<I", changed, 28)
    for index in range(count):
        place = HEADER.size + index * ENTRY.size
        kind, _, start, length = ENTRY.unpack_from(changed, place)
        part = changed[start : start + -(-length // 8) * 8]
        ENTRY.pack_into(changed, place, kind, zlib.crc32(part), start, length)
    table = changed[HEADER.size : HEADER.size + count * ENTRY.size]
    struct.pack_into("<I", changed, 60, zlib.crc32(bytes(changed[:60] + table)))
    return bytes(changed)


def place_of(data: bytes, section: Section) -> int:
    index = list(Section).index(section)
    return int(ENTRY.unpack_from(data, HEADER.size + index * ENTRY.size)[2])


@pytest.mark.parametrize(
    ("offset", "value", "expected"),
    [
        (0, b"\x94", "a tokbin file"),
        (8, b"\x02", "version 1 of the format"),
        (10, b"\x09", "a model and flags that are known"),
        (12, b"\x80", "a model and flags that are known"),
        (16, b"\x06", "entries in section"),
        (20, b"\x02", "entries in section"),
        (24, b"\x02", "2 special tokens"),
        (28, b"\x06", "sections of a MERGES model"),
        (32, b"\x01", "bytes, found"),
        (40, b"\xff\xff\xff\xff", "a payload of at most"),
        (48, b"\x01", "a model and flags that are known"),
    ],
)
def test_hostile_header_is_refused(offset: int, value: bytes, expected: str) -> None:
    data = bytearray(dump_tokbin(tiny()))
    data[offset : offset + len(value)] = value
    with pytest.raises(ModelFormatError) as refused:
        TokbinFile(with_checksums(bytes(data)), path="x").verify()
    assert expected in refused.value.message


@pytest.mark.parametrize(
    ("section", "offset", "value", "expected"),
    [
        (Section.TEXT, 0, b"\xff\xff\xff\x0f", "a text of"),
        (Section.TEXT, 4, b"\xff", "a text in UTF-8"),
        (Section.SPECIAL, 0, b"\x05", "special tokens by ascending id"),
        (Section.SPECIAL, 4, b"\xff", "a text of"),
        (Section.KINDS, 0, b"\x09", "kinds that are known"),
        (Section.KINDS, 0, b"\x04", "the special tokens among the kinds"),
        (Section.TEXT, 31, b"\x01", "the checksum of section 1"),  # the padding after it
        (Section.OFFSETS, 0, b"\x01", "ascending offsets"),
        (Section.OFFSETS, 4, b"\xff", "ascending offsets"),
        (Section.OFFSETS, 20, b"\x08", "ascending offsets"),
        (Section.MERGES, 0, b"\x05", "merges of ids below 5"),
    ],
)
def test_hostile_sections_are_refused(section: Section, offset: int, value: bytes, expected: str) -> None:
    data = bytearray(dump_tokbin(tiny()))
    place = place_of(bytes(data), section) + offset
    data[place : place + len(value)] = value
    with pytest.raises(ModelFormatError) as refused:
        TokbinFile(with_checksums(bytes(data)), path="x").verify()
    assert expected in refused.value.message


def test_section_outside_the_file_is_refused() -> None:
    data = bytearray(dump_tokbin(tiny()))
    for index in range(7):
        for field, value in ((8, len(data)), (8, 0), (16, len(data)), (16, 2**64 - 1)):
            hostile = bytearray(data)
            struct.pack_into("<Q", hostile, HEADER.size + index * ENTRY.size + field, value)
            with pytest.raises(ModelFormatError, match=f"section {index + 1} at byte"):
                TokbinFile(with_checksums(bytes(hostile)), path="x")


def test_bytes_outside_all_sections_are_refused() -> None:
    data = bytearray(dump_tokbin(tiny()) + bytes(8))
    struct.pack_into("<Q", data, 32, len(data))
    with pytest.raises(ModelFormatError, match="expected sections up to byte"):
        TokbinFile(with_checksums(bytes(data)), path="x")


def test_contradictory_tables_are_refused_when_encoding() -> None:
    tokenizer = TokbinTokenizer(TokbinFile(dump_tokbin(tiny()), path="x.tokbin"))
    assert tokenizer.token_bytes(2) == b"ab"
    with pytest.raises(ModelFormatError, match="a consistent tokenizer"):
        tokenizer.encode("ab")  # most bytes have no token


def test_pattern_whose_definition_changed_is_refused() -> None:
    source = trained()
    description = source.description()
    contents = tiny(
        texts=Texts("bpe", "old", "gpt4", r"\w+|\W", None),
        tokens=[*description.tokens[:338]],
        kinds=[Kind.NORMAL] * 338,
        scores=[0.0] * 338,
        special_tokens={},
        merges=description.merges,
    )
    tokenizer = TokbinTokenizer(TokbinFile(dump_tokbin(contents), path="x.tokbin"))
    with pytest.raises(ModelFormatError, match="was different when the file was written"):
        tokenizer.encode("a")


def test_payload_of_another_size_than_stated_is_refused() -> None:
    data = bytearray(dumped(variant("bpe")))
    struct.pack_into("<Q", data, 40, 100)
    with pytest.raises(ModelFormatError, match="a payload of 100 bytes"):
        TokbinFile(with_checksums(bytes(data)), path="x").verify()


def test_missing_file_and_folder_and_empty_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        TokbinFile.open(tmp_path / "missing.tokbin")
    with pytest.raises(StoreError):
        TokbinFile.open(tmp_path)
    (tmp_path / "empty.tokbin").write_bytes(b"")
    with pytest.raises(ModelFormatError):
        TokbinFile.open(tmp_path / "empty.tokbin")
    assert not is_tokbin(b"")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        with pytest.raises(ModelFormatError):
            TokbinFile.open(tmp_path / "pipe")
    finally:
        os.close(writer)
