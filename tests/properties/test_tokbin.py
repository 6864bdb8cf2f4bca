"""tokbin files that were truncated, flipped or forged are refused, and never read out of bounds."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.descriptions import trained
from support.texts import texts

from tokbench.convert.conversion import Source
from tokbench.convert.targets.tokbin import make
from tokbench.errors import ModelFormatError, UnknownIdError
from tokbench.formats.tokbin.layout import ENTRY, HEADER, Kind, Model, Texts
from tokbench.formats.tokbin.reading import TokbinFile
from tokbench.formats.tokbin.writing import TokbinContents, dump_tokbin
from tokbench.opening.tokbin import TokbinTokenizer


@cache
def small() -> bytes:
    return dump_tokbin(
        TokbinContents(
            model=Model.MERGES,
            texts=Texts("bpe", "tiny", "none", None, None),
            tokens=[b"a", b"b", b"ab", None, b"<e>"],
            kinds=[Kind.NORMAL, Kind.NORMAL, Kind.NORMAL, Kind.NONE, Kind.SPECIAL],
            scores=[-1.0, -1.0, 0.0, 0.0, 0.0],
            special_tokens={"<e>": 4},
            merges=[(0, 1, 2)],
        )
    )


@cache
def reopened() -> TokbinTokenizer:
    source: Any = trained()
    data = make(Source(tokenizer=source, description=source.description())).files[""]
    return TokbinTokenizer(TokbinFile(data, path="mine.tokbin"))


def read(data: bytes) -> None:
    """Read everything from a file."""
    file = TokbinFile(data, path="x.tokbin")
    file.verify()
    file.tokens()
    tokenizer = TokbinTokenizer(file)
    with suppress(UnknownIdError):
        tokenizer.decode_bytes(range(file.num_ids))
    tokenizer.description()


def test_every_truncation_is_refused() -> None:
    for size in range(len(small())):
        with pytest.raises(ModelFormatError):
            read(small()[:size])


def test_every_flipped_bit_is_refused() -> None:
    data = small()
    for position in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        with pytest.raises(ModelFormatError):
            read(bytes(flipped))


def test_trailing_bytes_are_refused() -> None:
    for rest in (b"\0", bytes(8), b"rest"):
        with pytest.raises(ModelFormatError):
            read(small() + rest)


@given(st.data())
def test_forged_files_with_valid_checksums_are_read_within_bounds(data: st.DataObject) -> None:
    forged = bytearray(small())
    (count,) = struct.unpack_from("<I", forged, 28)
    numbers = st.sampled_from([0, 1, 7, 8, 64, len(forged) - 8, len(forged), 2**31, 2**32 - 1])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(2, len(forged) // 4 - 1)) * 4
        struct.pack_into("<I", forged, place, data.draw(numbers | st.integers(0, 2**32 - 1)))
    for index in range(count):
        place = HEADER.size + index * ENTRY.size
        kind, _, start, length = ENTRY.unpack_from(forged, place)
        part = forged[start : start + -(-length // 8) * 8] if start + length <= len(forged) else b""
        ENTRY.pack_into(forged, place, kind, zlib.crc32(part), start, length)
    table = forged[HEADER.size : HEADER.size + count * ENTRY.size]
    struct.pack_into("<I", forged, 60, zlib.crc32(bytes(forged[:60] + table)))
    with suppress(ModelFormatError):
        read(bytes(forged))


@given(st.binary(max_size=400))
def test_random_bytes_after_the_magic_are_refused(data: bytes) -> None:
    with pytest.raises(ModelFormatError):
        read(b"\x93TOKBIN\n" + data)


@given(texts)
def test_any_text_is_encoded_as_by_the_source(text: str) -> None:
    ids = trained().encode(text)
    assert reopened().encode(text) == ids
    assert reopened().decode_bytes(ids) == text.encode()
