"""Reading in blocks gives the same documents as reading at once, for any text, any bytes and any cuts."""

from __future__ import annotations

import codecs
import hashlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tokbench.corpus import Fingerprint, Problems, open_corpus
from tokbench.corpus.jsonl import jsonl_records
from tokbench.corpus.records import RecordFields
from tokbench.corpus.text import decoded, documents_of, text_documents, utf8_stream
from tokbench.errors import CorpusError

UNITS = ("file", "lines", "paragraphs")

# Line ends, blanks and characters that resemble them, far more often than by chance.
characters = st.sampled_from("\n\n\n\r\r \t\u3000\x1c\u2028\x85\0aé€😀\ufffd\ufeff") | st.characters(
    codec="utf-8"
)
texts = st.text(characters, max_size=60)
pieces = st.sampled_from(
    [
        b"\n",
        b"a",
        "é".encode(),
        "€".encode(),
        "😀".encode(),
        "\ufffd".encode(),
        b"\xff",
        b"\x80",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
        b"\xed\xa0\x80",
        b"\xc0",
        b"\0",
    ]
)
byte_strings = st.lists(pieces, max_size=30).map(b"".join) | st.binary(max_size=60)
sizes = st.integers(1, 9)


def cut(data, size):
    return [data[start : start + size] for start in range(0, len(data), size)]


def by_definition(text: str, unit: str) -> list[str]:
    """Return the documents of a text by a slow and obvious implementation."""
    if unit == "file":
        return [text] if text else []
    *ended, last = text.split("\n")
    lines = [line.removesuffix("\r") for line in ended] + [last]
    if unit == "lines":
        return [line for line in lines if line.strip()]
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line)
        else:
            paragraphs.append([])
    return ["\n".join(paragraph) for paragraph in paragraphs if paragraph]


def read(data: bytes, size: int, errors: str) -> tuple[str, Problems]:
    problems = Problems()
    stream = utf8_stream("a.txt", cut(data, size))
    return "".join(decoded(stream, errors=errors, problems=problems)), problems


def num_malformed_bytes(data: bytes) -> int:
    """Count the bytes that do not belong to a well-formed character."""
    count = 0
    while True:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            count += error.end - error.start
            data = data[error.end :]
        else:
            return count


@given(texts, sizes, st.sampled_from(UNITS))
@example("a\r\nb\r", 2, "lines")
@example("\n\na\n \r\nb\nc", 1, "paragraphs")
def test_documents_equal_their_definition(text, size, unit):
    documents = list(documents_of(cut(text, size), unit))
    assert [document for _, document in documents] == by_definition(text, unit)
    for number, document in documents if unit != "file" else ():
        assert text.split("\n")[number - 1].startswith(document.split("\n")[0])


@given(byte_strings, sizes)
@example(codecs.BOM_UTF8 + b"a\xff", 1)
def test_decoding_in_blocks_equals_decoding_at_once(data, size):
    assume(not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)))
    text = data.removeprefix(codecs.BOM_UTF8)
    assert read(data, size, "replace") == (
        text.decode(errors="replace"),
        Problems(replaced_bytes=num_malformed_bytes(text)),
    )
    try:
        expected = text.decode()
    except UnicodeDecodeError as error:
        offset = error.start + len(data) - len(text)
        with pytest.raises(CorpusError) as caught:
            read(data, size, "strict")
        assert f"not UTF-8 at byte {offset} (0x{data[offset]:02X})" in caught.value.message
    else:
        assert read(data, size, "strict") == (expected, Problems())


@given(byte_strings, sizes, st.sampled_from(UNITS))
def test_only_invalid_documents_are_skipped(data, size, unit):
    assume(
        not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))
    )
    problems = Problems()
    stream = utf8_stream("a.txt", cut(data, size))
    kept = [text for _, text in text_documents(stream, unit, errors="skip", problems=problems)]
    documents = by_definition(data.decode(errors="surrogateescape"), unit)
    good = [text for text in documents if not any("\udc80" <= character <= "\udcff" for character in text)]
    assert kept == good
    assert problems.skipped_documents == len(documents) - len(good)


@given(st.lists(texts, max_size=8), sizes, st.booleans())
def test_jsonl_is_read_back(written, size, ascii_only):
    lines = "\n".join(json.dumps({"n": 1, "text": text}, ensure_ascii=ascii_only) for text in written)
    stream = utf8_stream("a.jsonl", cut(lines.encode(), size))
    records = list(jsonl_records(stream, RecordFields(("text",)), errors="strict", problems=Problems()))
    assert [record.text for record in records] == written
    assert [record.number for record in records] == list(range(1, len(written) + 1))


@given(st.binary(max_size=80), sizes)
def test_any_bytes_as_jsonl_are_records_or_a_corpus_error(data, size):
    try:
        stream = utf8_stream("a.jsonl", cut(data, size))
        records = list(jsonl_records(stream, RecordFields(("text",)), errors="strict", problems=Problems()))
    except CorpusError as error:
        assert error.message.startswith("a.jsonl")
    else:
        assert all(isinstance(record.text, str) for record in records)


@given(st.lists(texts.filter(bool), min_size=1, max_size=8), st.randoms(use_true_random=False), sizes)
def test_fingerprint_depends_on_documents_not_their_order(documents, random, size):
    straight, shuffled = Fingerprint(), Fingerprint()
    for document in documents:
        straight.update(document)
    again = documents.copy()
    random.shuffle(again)
    for document in again:
        shuffled.update_blocks(cut(document.encode(), size))
    total = sum(int.from_bytes(hashlib.sha256(document.encode()).digest(), "big") for document in documents)
    assert straight.hexdigest() == shuffled.hexdigest() == f"{total % 2**256:064x}"
    assert straight.num_bytes == shuffled.num_bytes == sum(len(document.encode()) for document in documents)


@given(st.lists(texts, min_size=1, max_size=12), st.sampled_from(UNITS), st.integers(), st.floats(0.05, 0.95))
def test_all_ways_of_reading_agree(written, unit, seed, share):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.txt").write_bytes("\n".join(written).encode())
        Path(folder, "b.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in written))
        corpus = open_corpus(folder, documents=unit)
        expected = by_definition("\n".join(written).removeprefix("\ufeff"), unit) + [
            text for text in written if text
        ]
        assume(expected)
        assert list(corpus) == [document.text for document in corpus.documents()] == expected
        assert [text for source in corpus.byte_sources() for text in documents_in(source)] == expected
        fingerprint = Fingerprint()
        assert list(fingerprint.watch(corpus)) == expected
        assert corpus.fingerprint() == fingerprint.hexdigest()
        train, held_out = (texts_of_part(side) for side in corpus.split(share, seed=seed))
        assert sorted(train + held_out) == sorted(expected)
        assert not set(train) & set(held_out)


def documents_in(source) -> list[str]:
    data = source.path.read_bytes() if source.path else b"".join(source.blocks)
    return by_definition(data.decode(), source.documents)


def texts_of_part(side) -> list[str]:
    try:
        return list(side)
    except CorpusError as error:
        assert "part of the corpus has no document" in error.message
        return []
