"""Hashing of texts by lines in Python: the definition, and the fallback without the compiled kernel."""

from __future__ import annotations

from hashlib import sha256
from operator import mul
from zlib import crc32

_SPACE, _BEYOND_ASCII = 0x20, 0x80


def line_documents(text: bytes, largest: int, most: int) -> tuple[int, int, bytes, list[int]]:
    r"""Implement `tokbench.corpus.fingerprint.LineDocuments`.

    >>> number, num_bytes, total, smallest = line_documents(b"one\r\n \ntwo", 2**64, 1)
    >>> number, num_bytes, smallest == [min(int(sha256(line).hexdigest()[:16], 16) for line in (b"one", b"two"))]
    (2, 6, True)
    """
    lines = [line.removesuffix(b"\r") for line in text.split(b"\n") if not is_blank(line)]
    digests = [sha256(line).digest() for line in lines]
    total = sum(int.from_bytes(digest, "big") for digest in digests) % 2**256
    beginnings = {int.from_bytes(digest[:8], "big") for digest in digests}
    smallest = sorted(beginning for beginning in beginnings if beginning <= largest)[:most]
    return len(lines), sum(map(len, lines)), total.to_bytes(32, "big"), smallest


def line_sums(
    text: bytes, largest: int, fewest_bytes: int
) -> tuple[int, int, int, int, list[tuple[int, bytes]]]:
    r"""Implement `tokbench.corpus.fingerprint.LineSums`.

    >>> line_sums(b"  one\r\n\n", 2**32, 3) == (1, 3, crc32(b"one"), 3 * crc32(b"one"), [(crc32(b"one"), b"one")])
    True
    """
    lines = [
        line
        for line in map(bytes.strip, text.split(b"\n"))
        if line and (_SPACE < line[0] < _BEYOND_ASCII or not is_blank(line))
    ]
    sums, sizes = [*map(crc32, lines)], [*map(len, lines)]
    sampled = [
        (checksum, lines[position])
        for position, checksum in enumerate(sums)
        if checksum <= largest and sizes[position] >= fewest_bytes
    ]
    return len(lines), sum(sizes), sum(sums), sum(map(mul, sums, sizes)), sampled


def is_blank(line: bytes) -> bool:
    """Whether a line is empty or white space, by `str.isspace`, as for lines that become documents.

    >>> is_blank("\u3000".encode()), is_blank(b" x")
    (True, False)
    """
    return not line or line.decode().isspace()
