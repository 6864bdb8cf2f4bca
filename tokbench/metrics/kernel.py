"""The choice of the counting kernel: the compiled one, or the Python fallback.

Both have the same interface; `tokbench.native.kernel_choice` chooses.
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
    """Counts documents by group, as they arrive.

    The counts do not depend on the order of the documents or on the batches. A batch that is rejected with an error has
    not been counted, not even in part.

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
        """Count a batch of D documents with N tokens that have spans.

        Args:
            text: the documents' bytes, concatenated.
            text_offsets: int64[D + 1], the start of each document in `text`; from 0 to its size.
            token_offsets: int64[D + 1], the index of each document's first token; from 0 to N.
            starts: int64[N], byte offsets into the token's document; within a document they never decrease.
            stops: int64[N], likewise. Tokens may be empty, leave gaps and cut characters.
            kinds: uint8[N], indices in `TokenKind`.
            groups: int32[D], the group of each document.

        Returns:
            int64[D, len(COUNTS)], the counts of each document.

        Raises:
            ValueError: the arrays do not fit together, or a token is outside its document.
            TypeError: an argument has the wrong type.
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
        """Count a batch of documents whose tokens' bytes join to the text; all tokens are NORMAL.

        Args:
            text: as for `add`, like the offsets and the groups.
            text_offsets: int64[D + 1].
            token_offsets: int64[D + 1].
            ids: uint32[N], the tokens; the tables contain their bytes.
            groups: int32[D].

        Returns:
            int64[D, len(COUNTS)], the counts of each document.

        Raises:
            ValueError: the bytes of a document's tokens are not its bytes, or the arrays do not fit together.
            TypeError: an argument has the wrong type.
        """

    def add_texts(
        self,
        *,
        texts: tuple[str, ...],
        token_offsets: NDArray[np.int64],
        ids: NDArray[np.uint32],
        groups: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        """Count documents that are strings; the other arguments are as for `add_tiled`.

        Raises:
            ValueError, TypeError: as `add_tiled`; ValueError too for a lone surrogate.
        """

    def join(self, other: Any) -> None:
        """Add the counts of another measurer of the same kernel, which is not modified.

        Raises:
            ValueError: it has a different number of groups, or is this measurer.
        """

    def totals(self) -> NDArray[np.int64]:
        """Return the counts of each group: int64[G, len(COUNTS)]."""

    def numbers_by_length(self) -> NDArray[np.int64]:
        """Return the numbers of each length, and the tokens that touch them: int64[G, 17, 2].

        `[group, d]` is for numbers of d digits; `[group, 16]` is for 16 and more.
        """

    def word_types(self) -> NDArray[np.int64]:
        """Return the distinct words of each group, and how many of them were always one token: int64[G, 2]."""

    def words(
        self, group: int
    ) -> tuple[
        NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]
    ]:
        """Return the W distinct words of a group, sorted by their bytes, in arrays.

        Returns:
            Their concatenated bytes; int64[W + 1], the start of each; int64[W] occurrences; uint32[W] twice, the fewest
            and the most tokens of an occurrence.

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
        """Add words that `words` of another measurer returned to a group; its counts are not modified.

        Raises:
            ValueError: there is no such group, or the arrays are invalid.
            TypeError: an argument has the wrong type.
        """

    def worst_words(self, group: int, n: int) -> list[tuple[bytes, int, int]]:
        """Return the n words with the most tokens: (word, most tokens, occurrences).

        They are sorted by most tokens and by occurrences, both descending, then by the bytes of the word.

        Raises:
            ValueError: there is no such group, or n is negative.
        """


@dataclass(frozen=True, slots=True)
class Kernel:
    """The functions of one kernel.

    Attributes:
        name: "native" or "python".
        new_tables: uint8[0x110000] classes (from `character_classes`), the concatenated bytes of all ids, and
            int64[V + 1], the start of each id → the lookup tables for any number of measurers. ValueError for
            classes or offsets out of range.
        new_measurer: such tables and a number of groups → an empty measurer. ValueError for a negative number.
        count_ids: uint32[N] ids and int64[V] counts, to which it adds the occurrences of each id. ValueError for an
            id without a count.
        edit_steps: see `tokbench.metrics.edit_table.edit_steps`.
    """

    name: str
    new_tables: Callable[[NDArray[np.uint8], bytes, NDArray[np.int64]], Any]
    new_measurer: Callable[[Any, int], Measurer]
    count_ids: Callable[[NDArray[np.uint32], NDArray[np.int64]], None]
    edit_steps: Callable[[str, str, tuple[int, int] | None], bytes]


def current_kernel() -> Kernel:
    """Return the kernel that TOKBENCH_KERNEL selects.

    Raises:
        ConfigError: the variable has an unknown value.
        BackendUnavailableError: the native kernel is required and not installed.
    """
    name, module = chosen_module(compiled=_COMPILED, fallback="tokbench.metrics.fallback")
    return Kernel(name, module.Tables, module.Measurer, module.count_ids, module.edit_steps)


def has_native_kernel() -> bool:
    """Whether the compiled kernel is installed."""
    return is_installed(_COMPILED)
