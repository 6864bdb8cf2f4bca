"""The line kernels compute the same sums and hashes of lines as the definitions, whatever the lines."""

from __future__ import annotations

import sys
from hashlib import sha256
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import KERNEL_NAMES, chosen, kernel_named

from tokbench.corpus.fingerprint import Fingerprint, LineKernel, Lines, current_line_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

SPACES = list(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))
EVERYTHING, SOME = 2**64 - 1, 2**62
texts = st.lists(
    st.sampled_from(SPACES)
    | st.sampled_from(["\n", "\r\n", "a\r\n", "é\r\r\n", "a", "€", "𝄞", "\0", "\u2060", "\u180e"])
    | st.text(max_size=80)
).map("".join)


@pytest.fixture(scope="module", params=KERNEL_NAMES)
def kernel(request: pytest.FixtureRequest) -> Iterator[LineKernel]:
    kernel_named(request.param)  # skips the test where it is absent
    with chosen(request.param):
        yield current_line_kernel()


def documents_of(text: str) -> list[bytes]:
    return [line.removesuffix("\r").encode() for line in text.split("\n") if line and not line.isspace()]


def lines_of(text: str) -> list[bytes]:
    lines = [line.encode().strip() for line in text.split("\n")]
    return [line for line in lines if line and not line.decode().isspace()]


@given(text=texts, largest=st.sampled_from([EVERYTHING, SOME]), most=st.integers(0, 4))
def test_lines_are_hashed_as_documents(kernel: LineKernel, text: str, largest: int, most: int) -> None:
    documents = documents_of(text)
    digests = [sha256(line).digest() for line in documents]
    number, num_bytes, total, smallest = kernel.line_documents(text.encode(), largest, most)
    assert (number, num_bytes) == (len(documents), sum(map(len, documents)))
    assert int.from_bytes(total, "big") == sum(int.from_bytes(digest, "big") for digest in digests) % 2**256
    beginnings = sorted({int.from_bytes(digest[:8], "big") for digest in digests})
    assert list(smallest) == [beginning for beginning in beginnings if beginning <= largest][:most]


@given(text=texts, largest=st.sampled_from([2**32, 2**30]), fewest_bytes=st.integers(0, 9))
def test_line_sums_equal_their_definition(
    kernel: LineKernel, text: str, largest: int, fewest_bytes: int
) -> None:
    lines = lines_of(text)
    checksums = [crc32(line) for line in lines]
    *sums, sampled = kernel.line_sums(text.encode(), largest, fewest_bytes)
    weighted = sum(checksum * len(line) for checksum, line in zip(checksums, lines, strict=True))
    assert sums == [len(lines), sum(map(len, lines)), sum(checksums), weighted]
    assert {*sampled} == {
        (checksum, line)
        for checksum, line in zip(checksums, lines, strict=True)
        if checksum <= largest and len(line) >= fewest_bytes
    }


@given(documents=st.lists(texts, max_size=9))
def test_documents_hashed_together_equal_single_hashing(kernel: LineKernel, documents: list[str]) -> None:
    assert current_line_kernel() == kernel
    apart, together, lines, all_lines = Fingerprint(), Fingerprint(), Lines(), Lines()
    for document in documents:
        apart.update(document)
        lines.update(document)
    together.update_all(documents)
    all_lines.update("\n".join(documents))
    assert together.identity() == apart.identity()
    assert (together.documents, together.num_bytes) == (apart.documents, apart.num_bytes)
    assert all_lines.identity() == lines.identity()


def test_lines_of_every_length_are_hashed(kernel: LineKernel) -> None:
    """Lengths around the 64-byte blocks of SHA-256, with and without room for the padding."""
    lines = [bytes([65 + size % 26]) * size for size in range(1, 260)]
    for line in lines:
        _, _, total, [smallest] = kernel.line_documents(line, EVERYTHING, 1)
        assert total == sha256(line).digest()
        assert smallest == int.from_bytes(total[:8], "big")
        assert kernel.line_sums(line, 2**32, 1)[4] == [(crc32(line), line)]
    assert kernel.line_documents(b"\n".join(lines), 0, 9)[:2] == (259, 259 * 130)


def test_smallest_of_many_hashes_are_found(kernel: LineKernel) -> None:
    lines = [str(number).encode() for number in range(5000)]
    *_, smallest = kernel.line_documents(b"\n".join(lines * 2), EVERYTHING, 100)
    assert smallest == sorted(int.from_bytes(sha256(line).digest()[:8], "big") for line in lines)[:100]


@pytest.mark.slow
def test_lines_of_unicode_white_space_are_blank(kernel: LineKernel) -> None:
    """No other character of Unicode does."""
    characters = [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
    text = "\n".join(characters)
    others = [character for character in characters if not character.isspace()]
    assert kernel.line_documents(text.encode(), 0, 0)[:2] == (len(others), len("".join(others).encode()))
    assert kernel.line_sums(text.encode(), 0, 9)[:2] == (len(others), len("".join(others).encode()))


@given(data=st.binary())
def test_invalid_utf8_is_handled(data: bytes) -> None:
    native = pytest.importorskip("tokbench.native._corpus", reason="the compiled kernel is not installed")
    number, num_bytes, *_ = native.line_documents(data, EVERYTHING, 9)
    assert number <= 1 + data.count(b"\n")
    assert num_bytes <= len(data) - data.count(b"\n")
    assert native.line_sums(data, 0, 0)[0] <= number


@pytest.mark.parametrize("arguments", [(b"", -1, 0), (b"", 0, -1), ("", 0, 0), (bytearray(), 0, 0)], ids=str)
def test_invalid_arguments_are_refused(arguments: tuple[object, ...]) -> None:
    native = pytest.importorskip("tokbench.native._corpus", reason="the compiled kernel is not installed")
    for function in (native.line_documents, native.line_sums):
        with pytest.raises(TypeError):
            function(*arguments)
