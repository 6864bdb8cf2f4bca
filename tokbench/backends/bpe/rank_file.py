"""The Python fallback of the kernel's reader of regular rank files."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tokbench.core.token_table import TokenTable
from tokbench.errors import ModelFormatError
from tokbench.formats.tiktoken import check_byte_tokens, parse_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

RankBlock = tuple[bytes, bytes, list[int]]
"""The block, starts and gaps of a `TokenTable`; the starts are the bytes of native uint32."""


def read_ranks(data: bytes, limit: int) -> RankBlock | None:
    r"""Read the tokens of a regular rank file by their ranks.

    Args:
        data: the whole file.
        limit: the exclusive upper bound of the ranks.

    Returns:
        The table; None if ranks do not ascend or reach the limit, a token is empty or a duplicate, one of the
        256 bytes has no token, or a line is damaged. `parse_ranks` can read such a file or report what is wrong.

    >>> read_ranks(b"YQ== 0\n", 1000) is None
    True
    """
    try:
        ranks = parse_ranks(data, path="")
        check_byte_tokens(ranks, path="")
    except ModelFormatError:
        return None
    if not _is_regular(ranks) or ranks[-1][1] >= limit:
        return None
    table = table_of_ranks(ranks)
    return table.block, table.starts.tobytes(), sorted(table.gaps)


def table_of_ranks(ranks: Sequence[tuple[bytes, int]]) -> TokenTable:
    """Return the tokens by rank, from pairs in any order.

    >>> tuple(table_of_ranks([(b"b", 2), (b"a", 0)]))
    (b'a', None, b'b')
    """
    tokens: list[bytes | None] = [None] * (max(rank for _, rank in ranks) + 1)
    for token, rank in ranks:
        tokens[rank] = token
    return TokenTable.of(tokens)


def _is_regular(ranks: Sequence[tuple[bytes, int]]) -> bool:
    return all(token for token, _ in ranks) and all(
        first < second for (_, first), (_, second) in pairwise(ranks)
    )
