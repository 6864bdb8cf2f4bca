"""Which counting kernel runs: the compiled one, or the Python fallback.

Both offer one class, `Measurer`; `tokbench.native.kernel_choice` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tokbench.native.kernel_choice import chosen_module, is_installed

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

_COMPILED = "tokbench.native._metrics"


class Measurer(Protocol):
    """Counts while documents arrive, by group.

    The counts do not depend on the order of the documents or on how they are batched. A batch that is
    refused with an error has not been counted, not even in part.

    Usage:

        kernel = current_kernel()
        tables = kernel.new_tables(character_classes(), pieces, piece_offsets)
        measurer = kernel.new_measurer(tables, num_groups=1)
        per_document = measurer.add_tiled(text=text, ...)
        pooled = dict(zip(COUNTS, measurer.totals()[0], strict=True))
    """

    def add(
        self,
        *,
        text: bytes,
        text_offsets: NDArray[np.int64],
        token_offsets: NDArray[np.int64],
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        kinds: NDArray[np.uint8],
        groups: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        """Count a batch of D documents with N tokens that have positions.

        Args:
            text: the documents' bytes, one after another.
            text_offsets: int64[D + 1], where each document starts in it; from 0 to its size.
            token_offsets: int64[D + 1], where each document's tokens start among all; from 0 to N.
            starts: int64[N], byte offsets into the token's document; they never decrease in it.
            stops: int64[N], the same for the ends. Tokens may be empty, leave gaps and cut characters.
            kinds: uint8[N], positions in `TokenKind`.
            groups: int32[D], the group of each document.

        Returns:
            int64[D, len(COUNTS)], the counts of each document.

        Raises:
            ValueError: the arrays do not fit together, or a token lies outside its document.
            TypeError: an argument of another type.
        """

    def add_tiled(
        self,
        *,
        text: bytes,
        text_offsets: NDArray[np.int64],
        token_offsets: NDArray[np.int64],
        ids: NDArray[np.uint32],
        groups: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        """Count a batch of documents that are their tokens, byte for byte; all tokens are NORMAL.

        Args:
            text: as for `add`, like the offsets and the groups.
            text_offsets: int64[D + 1].
            token_offsets: int64[D + 1].
            ids: uint32[N], the tokens; the tables know their bytes.
            groups: int32[D].

        Returns:
            int64[D, len(COUNTS)], the counts of each document.

        Raises:
            ValueError: the bytes of a document's tokens are not its bytes, or the arrays do not fit together.
            TypeError: an argument of another type.
        """

    def add_texts(
        self,
        *,
        texts: tuple[str, ...],
        token_offsets: NDArray[np.int64],
        ids: NDArray[np.uint32],
        groups: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        """The same for documents that are strings; the other arguments are as for `add_tiled`.

        Raises:
            ValueError, TypeError: as `add_tiled`; ValueError too for a lone surrogate.
        """

    def join(self, other: Any) -> None:
        """Count what another measurer of the same kernel has counted, which stays as it is.

        Raises:
            ValueError: it has another number of groups, or is this one.
        """

    def totals(self) -> NDArray[np.int64]:
        """The counts of each group: int64[G, len(COUNTS)]."""

    def numbers_by_length(self) -> NDArray[np.int64]:
        """The numbers of each length, and the tokens that touch them: int64[G, 17, 2].

        `[group, d]` holds those of d digits; those of 16 and more are together in `[group, 16]`.
        """

    def word_types(self) -> NDArray[np.int64]:
        """The distinct words of each group, and those among them that were always one token: int64[G, 2]."""

    def words(
        self, group: int
    ) -> tuple[
        NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]
    ]:
        """The distinct words of a group with W words, sorted by their bytes, in arrays.

        Returns:
            Their bytes one after another; int64[W + 1], where each starts; int64[W] occurrences; uint32[W] twice,
            the tokens of the occurrence with the fewest and of the one with the most.

        Raises:
            ValueError: there is no such group.
        """

    def add_words(
        self,
        group: int,
        *,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        occurrences: NDArray[np.int64],
        fewest: NDArray[np.uint32],
        most: NDArray[np.uint32],
    ) -> None:
        """Take words to be a group's that `words` of another measurer gave; its counts stay as they are.

        Raises:
            ValueError: there is no such group, or the arrays are not what `words` gives.
            TypeError: an argument of another type.
        """

    def worst_words(self, group: int, n: int) -> list[tuple[bytes, int, int]]:
        """The n words with the most tokens: (word, most tokens, occurrences).

        By most tokens, then by occurrences, both from the top, then by the bytes of the word.

        Raises:
            ValueError: there is no such group, or n is negative.
        """


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel.

    Attributes:
        name: "native" or "python".
        new_tables: uint8[0x110000] classes (as `character_classes` gives them), the bytes of all ids one after
            another, and int64[V + 1], where those of each start → what measurers look things up in, for any
            number of them. ValueError for classes or offsets out of range.
        new_measurer: such tables and a number of groups → a measurer that has counted nothing. ValueError for
            a negative number.
        count_ids: uint32[N] ids and int64[V] counts, to which it adds how often each id is there. ValueError for
            an id that has no count.
    """

    name: str
    new_tables: Callable[[NDArray[np.uint8], bytes, NDArray[np.int64]], Any]
    new_measurer: Callable[[Any, int], Measurer]
    count_ids: Callable[[NDArray[np.uint32], NDArray[np.int64]], None]


def current_kernel() -> Kernel:
    """The kernel that TOKBENCH_KERNEL asks for.

    Raises:
        ConfigError: the variable holds another word.
        BackendUnavailableError: the native kernel is demanded and not installed.
    """
    name, module = chosen_module(compiled=_COMPILED, fallback="tokbench.metrics.fallback")
    return Kernel(name, module.Tables, module.Measurer, module.count_ids)


def has_native_kernel() -> bool:
    """Whether the compiled kernel is installed."""
    return is_installed(_COMPILED)
