"""Which lines a text is made of, whatever documents they are in: whole files, their lines or their paragraphs."""

from __future__ import annotations

from hashlib import blake2b
from operator import mul
from typing import TYPE_CHECKING
from zlib import crc32

from tokbench.core.documents import LineIdentity
from tokbench.corpus.hash_sample import Smallest, share_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SAMPLE_LINES = 4096
_SAMPLE_DIGITS = 10
_SHORTEST_BYTES = 20
"""Of shorter lines ("}", "return None") any two texts have some in common."""

_SPACE, _BEYOND_ASCII = 0x20, 0x80

_TOLD = 16
"""Lines of a sample that tell a share."""


class Lines:
    r"""Counts the lines of texts, without the white space around them and without those that are nothing else.

    The sums do not depend on the order. They tell texts apart that were not made to look alike: CRC-32 takes a
    tenth of the time of a cryptographic hash.

    >>> file, parts = Lines(), Lines()
    >>> file.update("one\n\n  two\r\n")
    >>> for line in ("two", "one"):
    ...     parts.update(line)
    >>> file.identity() == parts.identity()
    True
    """

    __slots__ = ("_number", "_sample", "_size", "_sum", "_weighted")

    def __init__(self) -> None:
        self._number = self._size = self._sum = self._weighted = 0
        self._sample = Smallest(_SAMPLE_LINES)

    def update(self, text: str) -> None:
        """Count the lines of one document."""
        self._add(text.encode())

    def _add(self, data: bytes) -> None:
        # What is blank is so to `str.isspace`, as where lines become documents.
        lines = [
            line
            for line in map(bytes.strip, data.split(b"\n"))
            if line and (_SPACE < line[0] < _BEYOND_ASCII or not line.decode().isspace())
        ]
        sums, sizes = [*map(crc32, lines)], [*map(len, lines)]
        self._number += len(lines)
        self._size += sum(sizes)
        self._sum += sum(sums)
        self._weighted += sum(map(mul, sums, sizes))
        # What is sampled has the smallest sums: few lines have to be hashed.
        largest = self._sample.largest >> 8
        for position in [position for position, checksum in enumerate(sums) if checksum <= largest]:
            if sizes[position] >= _SHORTEST_BYTES:
                self._sample.add(sums[position] << 8 | blake2b(lines[position], digest_size=1).digest()[0])

    def watch_blocks(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The blocks of one document in UTF-8, cut anywhere, unchanged; its lines are counted as they go by."""
        rest: list[bytes] = []
        for block in blocks:
            whole, end, begun = block.rpartition(b"\n")
            if end:
                self._add(b"".join([*rest, whole]))
                rest.clear()
            rest.append(begun)
            yield block
        self._add(b"".join(rest))

    def identity(self) -> LineIdentity:
        """The sums and the sample of what was counted so far."""
        return LineIdentity(
            fingerprint=f"{self._number:x}-{self._size:x}-{self._sum:x}-{self._weighted:x}",
            sample=tuple(f"{value:0{_SAMPLE_DIGITS}x}" for value in self._sample.values()),
        )


def line_overlap(trained_on: LineIdentity, evaluated_on: LineIdentity) -> float | None:
    """The share of a text's distinct lines that another text holds too, as the samples of both tell it.

    Args:
        trained_on: the other text.
        evaluated_on: the text.

    Returns:
        None where the samples have too few lines in the same range. Of texts of up to 4,096 distinct lines of 20
        bytes or more it is the share of these, exactly; of larger ones an estimate.
    """
    return share_of(evaluated_on.sample, trained_on.sample, most=_SAMPLE_LINES, fewest=_TOLD)
