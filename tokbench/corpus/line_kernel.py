"""Hash texts by their lines: the compiled functions, or their Python fallback.

Both offer two functions; `tokbench.native.kernel_choice` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tokbench.native.kernel_choice import chosen_module


class LineDocuments(Protocol):
    """Hashes the lines of a text that are documents."""

    def __call__(self, text: bytes, largest: int, most: int) -> tuple[int, int, bytes, list[int]]:
        r"""Hash each line that is not blank, without its end, be it "\n" or "\r\n".

        Args:
            text: UTF-8.
            largest: the largest beginning of a hash that is asked for.
            most: how many of the smallest beginnings are asked for, at most.

        Returns:
            The number of those lines; their bytes; the sum of their SHA-256 modulo 2**256, big-endian; the
            smallest distinct of the first 8 bytes of the hashes, big-endian, ascending.
        """


class LineSums(Protocol):
    """Sums over the lines of a text."""

    def __call__(
        self, text: bytes, largest: int, fewest_bytes: int
    ) -> tuple[int, int, int, int, list[tuple[int, bytes]]]:
        """Sum over all lines that are not blank, without the ASCII white space around them.

        Args:
            text: UTF-8.
            largest: the largest checksum of lines that are asked for.
            fewest_bytes: how many bytes such lines have, at least.

        Returns:
            The number of those lines; their bytes; the sum of their CRC-32; the sum of these times the sizes of
            the lines; the lines that were asked for with their checksums, some of them more than once.
        """


@dataclass(frozen=True, slots=True)
class LineKernel:
    """One kernel.

    Attributes:
        line_documents: hashes lines that are documents.
        line_sums: sums over lines.
    """

    line_documents: LineDocuments
    line_sums: LineSums


def current_line_kernel() -> LineKernel:
    """The kernel that TOKBENCH_KERNEL asks for.

    Raises:
        ConfigError: the variable holds another word.
        BackendUnavailableError: the native kernel is demanded and not installed.
    """
    _, module = chosen_module(compiled="tokbench.native._corpus", fallback="tokbench.corpus.line_fallback")
    return LineKernel(module.line_documents, module.line_sums)
