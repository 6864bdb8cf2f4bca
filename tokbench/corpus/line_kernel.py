"""Hashing of texts by lines: the compiled functions, or their Python fallback.

Both provide two functions; `tokbench.native.kernel_choice` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tokbench.native.kernel_choice import chosen_module


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
