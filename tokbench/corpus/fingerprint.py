"""Which documents a text is made of: a fingerprint and a sample that do not depend on their order."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from tokbench.core.documents import TextIdentity
from tokbench.corpus.hash_sample import Smallest, share_of
from tokbench.errors import TextError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MODULUS = 1 << 256
_SAMPLE_DOCUMENTS = 1024
_SAMPLE_DIGITS = 16


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

    __slots__ = ("_sample", "_sum", "documents", "num_bytes")

    def __init__(self) -> None:
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

    def _add(self, digest: bytes, num_bytes: int) -> None:
        self._sum = (self._sum + int.from_bytes(digest, "big")) % _MODULUS
        self._sample.add(int.from_bytes(digest[: _SAMPLE_DIGITS // 2], "big"))
        self.documents += 1
        self.num_bytes += num_bytes


def overlap(trained_on: TextIdentity, evaluated_on: TextIdentity) -> float | None:
    """The share of a text's documents that another text holds too, as the samples of both tell it.

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
