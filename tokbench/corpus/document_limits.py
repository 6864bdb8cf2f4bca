"""How long a document may be: a packed file of a megabyte can hold one that fills the memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.corpus.document import ErrorPolicy

MAX_DOCUMENT_BYTES = 256 << 20
"""Some commands take several times as much memory as the longest document has bytes."""

MOST_DOCUMENT_BYTES = 2 << 30
"""Of what can be asked for: positions in a batch of texts are counted in 32 bits."""

TOO_LONG = "\udfff"
"""What stands for a document that is to be left out: like one that is not UTF-8, it has no UTF-8 form."""

_MOST_UTF8_BYTES = 4  # of a character


@dataclass(frozen=True, slots=True)
class Bound:
    """The maximum size of a document in bytes, and how a longer one is handled.

    Attributes:
        num_bytes: as UTF-8.
        name: what messages call the file.
        errors: under "skip" a document that is too long is left out, else it is an error.
    """

    num_bytes: int
    name: str
    errors: ErrorPolicy

    def holds(self, text: str) -> bool:
        """Whether a text is short enough."""
        return len(text) * _MOST_UTF8_BYTES <= self.num_bytes or utf8_size(text) <= self.num_bytes

    def checked(self, lines: list[str], number: int) -> list[str]:
        """Lines, the first of which has a number, with `TOO_LONG` for those that are. Raises `CorpusError`."""
        if sum(map(len, lines)) * _MOST_UTF8_BYTES <= self.num_bytes:
            return lines
        return [
            line if line == TOO_LONG or self.holds(line) else self.too_long(position)
            for position, line in enumerate(lines, number)
        ]

    def too_long(self, number: int | None) -> str:
        """What stands for a document that begins on a line, or is the file. Raises `CorpusError`."""
        where = self.name if number is None else f"{self.name}:{number}"
        if self.errors != "skip":
            raise CorpusError(
                f"{where}: a document of more than {self.num_bytes:,} bytes",
                hint="--max-document-bytes (max_document_bytes=) says how many it may have; "
                "--documents lines makes smaller ones of a text, --errors skip leaves it out",
            )
        return TOO_LONG


def utf8_size(text: str) -> int:
    r"""The bytes of a text as UTF-8; a lone surrogate, which represents a bad byte, counts as three.

    >>> utf8_size("aé"), utf8_size(b"a\xff".decode(errors="surrogateescape"))
    (3, 4)
    """
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def bounded_blocks(blocks: Iterable[bytes], bound: Bound, *, lines: bool) -> Iterator[bytes]:
    """Blocks of a text unchanged, while no document is too long: a line, or the text. Raises `CorpusError`."""
    pending = number = 0  # bytes of the line that has not ended, or of all; lines before it
    for block in blocks:
        if not lines:
            pending += len(block)
        else:
            if pending + len(block) > bound.num_bytes:
                _check_lines(block, pending, number, bound)
            number += block.count(b"\n")
            pending = len(block) - 1 - block.rfind(b"\n") if b"\n" in block else pending + len(block)
        if pending > bound.num_bytes + lines:  # a line may go on with its end, and be short enough
            bound.too_long(number + 1 if lines else None)
        yield block
    if pending > bound.num_bytes:
        bound.too_long(number + 1 if lines else None)


def _check_lines(block: bytes, pending: int, number: int, bound: Bound) -> None:
    """Check each line that ends in a block; the first may have begun in an earlier one."""
    *ended, _ = block.split(b"\n")
    for position, line in enumerate(ended, number + 1):
        if pending + len(line.removesuffix(b"\r")) > bound.num_bytes:
            bound.too_long(position)
        pending = 0
