"""Identities of a text's documents and lines: fingerprints and samples that do not depend on their order."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b, sha256
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING, Protocol

from tokbench.core.documents import LineIdentity, TextIdentity
from tokbench.errors import TextError
from tokbench.native.kernel_choice import chosen_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_MODULUS = 1 << 256
_SAMPLE_DOCUMENTS = 1024
_SAMPLE_DIGITS = 16
_SAMPLE_LINES = 4096
_LINE_DIGITS = 10
_SHORTEST_BYTES = 20
"""The shortest sampled line: shorter lines ("}", "return None") occur in almost any two texts."""

_TOLD = 16
"""The fewest comparable lines of a sample for an estimate of a share."""


class Fingerprint:
    """The sum modulo 2**256 of the SHA-256 of each document's UTF-8 bytes, and the smallest of those hashes.

    The same documents give the same fingerprint in any order, from files or from strings. A document that occurs twice
    counts twice; an empty one is not counted, as a corpus contains none.

    >>> forwards, backwards = Fingerprint(), Fingerprint()
    >>> for text in ("one", "two"):
    ...     forwards.update(text)
    >>> for text in ("two", "one"):
    ...     backwards.update(text.encode())
    >>> forwards.hexdigest() == backwards.hexdigest()
    True

    Attributes:
        documents: the number of documents counted so far.
        num_bytes: the number of UTF-8 bytes counted so far.
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
        """Count one document that comes in blocks, without holding it in memory."""
        digest = sha256()
        num_bytes = 0
        for block in blocks:
            digest.update(block)
            num_bytes += len(block)
        if num_bytes:
            self._add(digest.digest(), num_bytes)

    def update_lines(self, text: bytes) -> None:
        r"""Count each line of a UTF-8 text as a document, except blank ones.

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
        r"""Count documents; those that are single lines are counted together.

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
        """Yield the documents unchanged, counting each of them.

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
        """Return the fingerprint of what was counted so far, as 64 hexadecimal digits."""
        return f"{self._sum:064x}"

    def identity(self) -> TextIdentity:
        """Return the fingerprint and the sample of what was counted so far."""
        return TextIdentity(
            fingerprint=self.hexdigest(),
            sample=tuple(f"{value:0{_SAMPLE_DIGITS}x}" for value in self._sample.values()),
        )

    def join(self, other: TextIdentity, *, documents: int, num_bytes: int) -> None:
        """Add documents that were counted elsewhere: their identity, number, and bytes.

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
    """Estimate the share of a text's documents that are in another text too, from samples of both.

    Args:
        trained_on: the other text.
        evaluated_on: the text.

    Returns:
        None if the samples have no comparable hashes. For texts of up to 1,024 distinct documents the exact share
        of distinct documents; for larger ones an estimate.

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
    r"""Yield the same text in blocks that end after a line, except for the last.

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
    r"""Counts the lines of texts, without the white space around them and without blank lines.

    The sums do not depend on the order. They distinguish texts, except those made to collide: CRC-32 takes a tenth of
    the time of a cryptographic hash.

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
        # Sampled lines have the smallest sums, so only few lines have to be hashed.
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
        """Add lines that were counted elsewhere."""
        number, size, total, weighted = (int(digits, 16) for digits in other.fingerprint.split("-"))
        self._number += number
        self._size += size
        self._sum += total
        self._weighted += weighted
        for value in other.sample:
            self._sample.add(int(value, 16))

    def watch_blocks(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Count the lines of a document; yield its bytes in blocks that end after a line, except for the last.

        Args:
            blocks: one document in UTF-8, cut at any position.
        """
        for text in whole_lines(blocks):
            self.update(text)
            yield text

    def identity(self) -> LineIdentity:
        """Return the sums and the sample of what was counted so far."""
        return LineIdentity(
            fingerprint=f"{self._number:x}-{self._size:x}-{self._sum:x}-{self._weighted:x}",
            sample=tuple(f"{value:0{_LINE_DIGITS}x}" for value in self._sample.values()),
        )


def line_overlap(trained_on: LineIdentity, evaluated_on: LineIdentity) -> float | None:
    """Estimate the share of a text's distinct lines that are in another text too, from samples of both.

    Args:
        trained_on: the other text.
        evaluated_on: the text.

    Returns:
        None if the samples have too few lines in the same range. For texts of up to 4,096 distinct lines of 20
        bytes or more the exact share of these lines; for larger ones an estimate.
    """
    return share_of(evaluated_on.sample, trained_on.sample, most=_SAMPLE_LINES, fewest=_TOLD)


class Smallest:
    """Keeps the smallest distinct numbers of those added.

    >>> kept = Smallest(2)
    >>> for value in (5, 3, 9, 3, 4):
    ...     kept.add(value)
    >>> kept.values(), kept.largest
    ([3, 4], 4)
    """

    __slots__ = ("_heap", "_most", "_values", "largest")

    def __init__(self, most: int) -> None:
        """Start empty.

        Args:
            most: the number of values to keep.
        """
        self._most = most
        self._heap: list[int] = []  # negated, so that the largest is on top
        self._values: set[int] = set()
        self.largest = (1 << 64) - 1
        """The largest kept number, once `most` are kept; larger numbers need not be added."""

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
        """Return the kept numbers, ascending."""
        return sorted(self._values)


def share_of(sample: Sequence[str], known: Sequence[str], *, most: int, fewest: int = 1) -> float | None:
    """Estimate the share of a set that is in another, from samples of both: sorted hashes of equal length.

    Args:
        sample: the sample of the set.
        known: the sample of the other set.
        most: the size of a sample of a larger set.
        fewest: the fewest comparable hashes for an estimate; the share of whole sets needs one.

    Returns:
        None if there are too few comparable hashes.
    """
    known_hashes = set(known)
    # A full sample has no information on hashes above its largest one.
    is_whole = len(known_hashes) < most
    comparable = [value for value in sample if is_whole or value <= known[-1]]
    if not comparable or (not is_whole and len(comparable) < fewest):
        return None
    return sum(value in known_hashes for value in comparable) / len(comparable)


class LineDocuments(Protocol):
    """Hashes the lines of a text as documents."""

    def __call__(self, text: bytes, largest: int, most: int) -> tuple[int, int, bytes, list[int]]:
        r"""Hash each line that is not blank, without its end, "\n" or "\r\n".

        Args:
            text: UTF-8.
            largest: the largest hash prefix to return.
            most: the most hash prefixes to return.

        Returns:
            The number of these lines; their bytes; the sum of their SHA-256 modulo 2**256, big-endian; the smallest
            distinct hash prefixes (the first 8 bytes, as big-endian integers), ascending.
        """


class LineSums(Protocol):
    """Sums checksums over the lines of a text."""

    def __call__(
        self, text: bytes, largest: int, fewest_bytes: int
    ) -> tuple[int, int, int, int, list[tuple[int, bytes]]]:
        """Sum over all lines that are not blank, without the ASCII white space around them.

        Args:
            text: UTF-8.
            largest: the largest checksum of a line to return.
            fewest_bytes: the shortest line to return, in bytes.

        Returns:
            The number of these lines; their bytes; the sum of their CRC-32; the sum of each CRC-32 times the line's
            size; the requested lines with their checksums, possibly with duplicates.
        """


@dataclass(frozen=True, slots=True)
class LineKernel:
    """The functions of one kernel.

    Attributes:
        line_documents: hashes lines as documents.
        line_sums: sums checksums over lines.
    """

    line_documents: LineDocuments
    line_sums: LineSums


def current_line_kernel() -> LineKernel:
    """Return the kernel that TOKBENCH_KERNEL selects.

    Raises:
        ConfigError: the variable has an unknown value.
        BackendUnavailableError: the native kernel is required and not installed.
    """
    _, module = chosen_module(compiled="tokbench.native._corpus", fallback="tokbench.corpus.line_fallback")
    return LineKernel(module.line_documents, module.line_sums)
