"""Which documents and lines a text is made of: fingerprints and samples that do not depend on their order."""

from __future__ import annotations

from hashlib import blake2b, sha256
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING

from tokbench.core.documents import LineIdentity, TextIdentity
from tokbench.corpus.line_kernel import current_line_kernel
from tokbench.errors import TextError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_MODULUS = 1 << 256
_SAMPLE_DOCUMENTS = 1024
_SAMPLE_DIGITS = 16
_SAMPLE_LINES = 4096
_LINE_DIGITS = 10
_SHORTEST_BYTES = 20
"""Of shorter lines ("}", "return None") any two texts have some in common."""

_TOLD = 16
"""Lines of a sample that tell a share."""


class Fingerprint:
    """The sum modulo 2**256 of the SHA-256 of each document's UTF-8 bytes, and the smallest of those hashes.

    The same documents give the same fingerprint in any order, from files or from strings. A
    document that occurs twice counts twice; an empty one is not counted, as no corpus holds one.

    >>> forwards, backwards = Fingerprint(), Fingerprint()
    >>> for text in ("one", "two"):
    ...     forwards.update(text)
    >>> for text in ("two", "one"):
    ...     backwards.update(text.encode())
    >>> forwards.hexdigest() == backwards.hexdigest()
    True

    Attributes:
        documents: documents counted so far.
        num_bytes: UTF-8 bytes counted so far.
    """

    __slots__ = ("_hash_lines", "_sample", "_sum", "documents", "num_bytes")

    def __init__(self) -> None:
        self._hash_lines = current_line_kernel().line_documents
        self._sum = 0
        self._sample = Smallest(_SAMPLE_DOCUMENTS)
        self.documents = 0
        self.num_bytes = 0

    def update(self, document: str | bytes) -> None:
        """Count one document. Raises `TextError` for a string that has no UTF-8 form."""
        data = _utf8(document) if isinstance(document, str) else document
        if data:
            self._add(sha256(data).digest(), len(data))

    def update_blocks(self, blocks: Iterable[bytes]) -> None:
        """Count one document that comes in pieces, without ever holding it whole."""
        digest = sha256()
        num_bytes = 0
        for block in blocks:
            digest.update(block)
            num_bytes += len(block)
        if num_bytes:
            self._add(digest.digest(), num_bytes)

    def update_lines(self, text: bytes) -> None:
        r"""Count each line of a text in UTF-8 as a document, but for blank ones.

        >>> lines = Fingerprint()
        >>> lines.update_lines(b"one\r\n \ntwo")
        >>> lines.documents, lines.num_bytes
        (2, 6)
        """
        number, num_bytes, total, smallest = self._hash_lines(text, self._sample.largest, _SAMPLE_DOCUMENTS)
        self._sum = (self._sum + int.from_bytes(total, "big")) % _MODULUS
        for value in smallest:
            self._sample.add(value)
        self.documents += number
        self.num_bytes += num_bytes

    def update_all(self, documents: Iterable[str]) -> None:
        r"""Count documents, those that are lines all at once.

        >>> apart, together = Fingerprint(), Fingerprint()
        >>> for text in ("one", "two\nlines", " "):
        ...     apart.update(text)
        >>> together.update_all(["one", "two\nlines", " "])
        >>> apart.identity() == together.identity()
        True

        Raises:
            TextError: a string has no UTF-8 form.
        """
        lines: list[str] = []
        for text in documents:
            if "\n" in text or text.endswith("\r") or text.isspace():
                self.update(text)
            else:
                lines.append(text)
        self.update_lines(_utf8("\n".join(lines)))

    def watch(self, documents: Iterable[str]) -> Iterator[str]:
        """The documents unchanged, each counted as it goes by.

        >>> fingerprint = Fingerprint()
        >>> list(fingerprint.watch(iter(["one", "two"])))
        ['one', 'two']
        >>> fingerprint.documents
        2
        """
        for document in documents:
            self.update(document)
            yield document

    def hexdigest(self) -> str:
        """The fingerprint of what was counted so far, as 64 hexadecimal digits."""
        return f"{self._sum:064x}"

    def identity(self) -> TextIdentity:
        """The fingerprint and the sample of what was counted so far."""
        return TextIdentity(
            fingerprint=self.hexdigest(),
            sample=tuple(f"{value:0{_SAMPLE_DIGITS}x}" for value in self._sample.values()),
        )

    def join(self, other: TextIdentity, *, documents: int, num_bytes: int) -> None:
        """Count documents that were counted elsewhere: what they are, how many, and their bytes.

        >>> whole, part = Fingerprint(), Fingerprint()
        >>> part.update("one")
        >>> whole.join(part.identity(), documents=part.documents, num_bytes=part.num_bytes)
        >>> whole.identity() == part.identity()
        True
        """
        self._sum = (self._sum + int(other.fingerprint, 16)) % _MODULUS
        for value in other.sample:
            self._sample.add(int(value, 16))
        self.documents += documents
        self.num_bytes += num_bytes

    def _add(self, digest: bytes, num_bytes: int) -> None:
        self._sum = (self._sum + int.from_bytes(digest, "big")) % _MODULUS
        self._sample.add(int.from_bytes(digest[: _SAMPLE_DIGITS // 2], "big"))
        self.documents += 1
        self.num_bytes += num_bytes


def overlap(trained_on: TextIdentity, evaluated_on: TextIdentity) -> float | None:
    """The share of a text's documents that are in another text too, estimated from samples of both.

    Args:
        trained_on: the other text.
        evaluated_on: the text.

    Returns:
        None where the samples have no hashes that could be compared. Of texts of up to 1,024 distinct
        documents the share of distinct documents, exactly; of larger ones an estimate.

    >>> texts = [Fingerprint(), Fingerprint()]
    >>> for text, documents in zip(texts, (["a", "b"], ["b", "c"])):
    ...     _ = list(text.watch(documents))
    >>> overlap(texts[0].identity(), texts[1].identity())
    0.5
    """
    return share_of(evaluated_on.sample, trained_on.sample, most=_SAMPLE_DOCUMENTS)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        surrogate = f"U+{ord(text[error.start]):04X}"
        raise TextError(
            f"a document has no UTF-8 form: it has a lone {surrogate} at character {error.start}",
            hint='decode it with errors="replace", or take the surrogate out',
        ) from None


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    r"""The same text in pieces that end after a line, but for the last.

    >>> list(whole_lines([b"on", b"e\ntwo\nth", b"ree"]))
    [b'one\ntwo\n', b'three']
    """
    rest: list[bytes] = []
    for block in blocks:
        if end := block.rfind(b"\n") + 1:
            yield b"".join([*rest, block[:end]])
            rest.clear()
        rest.append(block[end:])
    if last := b"".join(rest):
        yield last


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

    __slots__ = ("_number", "_sample", "_size", "_sum", "_sum_lines", "_weighted")

    def __init__(self) -> None:
        self._sum_lines = current_line_kernel().line_sums
        self._number = self._size = self._sum = self._weighted = 0
        self._sample = Smallest(_SAMPLE_LINES)

    def update(self, text: str | bytes) -> None:
        """Count the lines of a text; bytes are UTF-8."""
        # What is sampled has the smallest sums: few lines have to be hashed.
        number, size, total, weighted, sampled = self._sum_lines(
            text.encode() if isinstance(text, str) else text, self._sample.largest >> 8, _SHORTEST_BYTES
        )
        self._number += number
        self._size += size
        self._sum += total
        self._weighted += weighted
        for checksum, line in sampled:
            self._sample.add(checksum << 8 | blake2b(line, digest_size=1).digest()[0])

    def join(self, other: LineIdentity) -> None:
        """Count lines that were counted elsewhere."""
        number, size, total, weighted = (int(one, 16) for one in other.fingerprint.split("-"))
        self._number += number
        self._size += size
        self._sum += total
        self._weighted += weighted
        for value in other.sample:
            self._sample.add(int(value, 16))

    def watch_blocks(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The same bytes in pieces that end after a line, but for the last; its lines are counted as they go by.

        Args:
            blocks: one document in UTF-8, cut anywhere.
        """
        for text in whole_lines(blocks):
            self.update(text)
            yield text

    def identity(self) -> LineIdentity:
        """The sums and the sample of what was counted so far."""
        return LineIdentity(
            fingerprint=f"{self._number:x}-{self._size:x}-{self._sum:x}-{self._weighted:x}",
            sample=tuple(f"{value:0{_LINE_DIGITS}x}" for value in self._sample.values()),
        )


def line_overlap(trained_on: LineIdentity, evaluated_on: LineIdentity) -> float | None:
    """The share of a text's distinct lines that are in another text too, estimated from samples of both.

    Args:
        trained_on: the other text.
        evaluated_on: the text.

    Returns:
        None where the samples have too few lines in the same range. Of texts of up to 4,096 distinct lines of 20
        bytes or more it is the share of these, exactly; of larger ones an estimate.
    """
    return share_of(evaluated_on.sample, trained_on.sample, most=_SAMPLE_LINES, fewest=_TOLD)


class Smallest:
    """Keeps the smallest of the distinct numbers that it is given.

    >>> kept = Smallest(2)
    >>> for value in (5, 3, 9, 3, 4):
    ...     kept.add(value)
    >>> kept.values(), kept.largest
    ([3, 4], 4)
    """

    __slots__ = ("_heap", "_most", "_values", "largest")

    def __init__(self, most: int) -> None:
        """Nothing yet.

        Args:
            most: how many are kept.
        """
        self._most = most
        self._heap: list[int] = []  # negative: the largest is on top
        self._values: set[int] = set()
        self.largest = (1 << 64) - 1
        """Of those that are kept, once there are as many; a larger one need not be given."""

    def add(self, value: int) -> None:
        """Keep a number, if it is small enough."""
        if value > self.largest or value in self._values:
            return
        self._values.add(value)
        if len(self._heap) < self._most:
            heappush(self._heap, -value)
        else:
            self._values.remove(-heappushpop(self._heap, -value))
        if len(self._heap) == self._most:
            self.largest = -self._heap[0]

    def values(self) -> list[int]:
        """Those that are kept, ascending."""
        return sorted(self._values)


def share_of(sample: Sequence[str], known: Sequence[str], *, most: int, fewest: int = 1) -> float | None:
    """The share of one set that is in another, by samples of both: hashes, ascending, of equal length.

    Args:
        sample: of the set.
        known: of the other.
        most: how many hashes a sample has of a set that has more.
        fewest: hashes that an estimate needs; a share of whole sets needs one.

    Returns:
        None where there are too few hashes that could be compared.
    """
    among = set(known)
    # A sample that is full says nothing of hashes above its largest.
    is_whole = len(among) < most
    comparable = [value for value in sample if is_whole or value <= known[-1]]
    if not comparable or (not is_whole and len(comparable) < fewest):
        return None
    return sum(value in among for value in comparable) / len(comparable)
