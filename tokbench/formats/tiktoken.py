"""The `.tiktoken` format: one line per token, its bytes in base64, a space, its rank.

A rank is both the token's id and its position in the order of merges: `tiktoken` merges the adjacent pair whose joined
bytes have the lowest rank. The file does not contain special tokens and the split pattern.

`read_ranks` is the Python fallback of the kernel's reader of regular files.
"""

from __future__ import annotations

import binascii
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from tokbench.core.token_table import TokenTable
from tokbench.core.wording import first_of
from tokbench.errors import ConversionError, ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import tiktoken


_LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2}|=) (0|[1-9][0-9]{0,9})\r?")
_MAX_RANK = 2**32 - 2  # tiktoken's ranks are u32, and it reserves the largest one for "no merge"
_LINE_SHOWN = 60
_BYTES_SHOWN = 4
_WHOLE_TEXT = r"(?s:.+)"


def dump_ranks(tokens: Sequence[bytes]) -> bytes:
    r"""Return the rank file of tokens whose ids are their positions.

    Raises:
        ConversionError: two tokens have the same bytes.

    >>> dump_ranks([b"a", b"\xff"])
    b'YQ== 0\n/w== 1\n'
    """
    positions: dict[bytes, int] = {}
    for rank, token in enumerate(tokens):
        first = positions.setdefault(token, rank)
        if first != rank:
            raise ConversionError(
                f"tokens {first} and {rank} are both {token!r}, and a rank file contains each token once"
            )
    return dump_ranked((token, rank) for rank, token in enumerate(tokens))


def dump_ranked(ranks: Iterable[tuple[bytes, int]]) -> bytes:
    r"""Return the rank file of tokens with distinct ranks, in the given order.

    >>> dump_ranked([(b"a", 0), (b"ab", 300)])
    b'YQ== 0\nYWI= 300\n'
    """
    return b"".join(b"%b %d\n" % (_to_base64(token), rank) for token, rank in ranks)


def parse_ranks(data: bytes, *, path: Path | str) -> list[tuple[bytes, int]]:
    r"""Parse the tokens of a rank file with their ranks, in the order of the file.

    Strict, so that a damaged file does not become another tokenizer: only CRLF line ends and blank lines at the end
    are accepted. Ranks may have gaps, as in OpenAI's `p50k_base`.

    Args:
        data: the whole file.
        path: its name in error messages.

    Raises:
        ModelFormatError: a line is not a token and its rank, or a token or rank occurs twice.

    >>> parse_ranks(b"YQ== 0\r\nYmM= 1\r\n\r\n", path="ranks.tiktoken")
    [(b'a', 0), (b'bc', 1)]
    """
    lines = data.split(b"\n")
    while lines and lines[-1] in (b"", b"\r"):
        lines.pop()
    if not lines:
        raise ModelFormatError(path, "lines of a token in base64 and its rank", "none")
    line_of_token: dict[bytes, int] = {}
    line_of_rank: dict[int, int] = {}
    ranks: list[tuple[bytes, int]] = []
    for number, line in enumerate(lines, start=1):
        place = f"{path}, line {number}"
        token, rank = _parse_line(line, place=place)
        if (first := line_of_rank.setdefault(rank, number)) != number:
            raise ModelFormatError(place, "each rank once", f"rank {rank} again (first on line {first})")
        if (first := line_of_token.setdefault(token, number)) != number:
            raise ModelFormatError(place, "each token once", f"{token!r} again (first on line {first})")
        ranks.append((token, rank))
    return ranks


def check_byte_tokens(ranks: Iterable[tuple[bytes, int]], *, path: Path | str) -> None:
    """Reject ranks without a token for each of the 256 bytes: such a tokenizer cannot encode every text.

    Raises:
        ModelFormatError: some bytes have no token; the error names the first ones.
    """
    missing = _missing_bytes(token for token, _ in ranks)
    if missing:
        raise ModelFormatError(path, "a token for each of the 256 bytes", f"none for {_listed(missing)}")


def to_encoding(
    name: str,
    *,
    pattern: str | None,
    ranks: Iterable[tuple[bytes, int]],
    special_tokens: Mapping[str, int],
) -> tiktoken.Encoding:
    """Return the `tiktoken.Encoding` of ranks; rejects input on which tiktoken would panic or decode incorrectly.

    Args:
        name: the name of the encoding.
        pattern: the split pattern in the dialect of tiktoken; None if a whole text is one pre-token.
        ranks: tokens with their ranks.
        special_tokens: text → id.

    Raises:
        ConversionError: tiktoken cannot represent these ranks, special tokens or pattern.

    >>> bytes_only = [(bytes([byte]), byte) for byte in range(256)]
    >>> to_encoding("bytes", pattern=None, ranks=bytes_only, special_tokens={"<end>": 256}).encode("hé")
    [104, 195, 169]
    """
    import tiktoken

    pairs = list(ranks)
    mergeable = dict(pairs)
    _check_for_tiktoken(pairs, mergeable, special_tokens)
    try:
        return tiktoken.Encoding(
            name,
            pat_str=_WHOLE_TEXT if pattern is None else pattern,
            mergeable_ranks=mergeable,
            special_tokens=dict(special_tokens),
        )
    except ValueError as error:
        raise ConversionError(f"tiktoken does not take the split pattern: {error}") from error


def _check_for_tiktoken(
    pairs: Sequence[tuple[bytes, int]], mergeable: Mapping[bytes, int], special_tokens: Mapping[str, int]
) -> None:
    ids = set(mergeable.values())
    if not len(pairs) == len(mergeable) == len(ids):
        raise ConversionError("a token or a rank occurs twice")
    missing = _missing_bytes(mergeable)
    if missing:
        raise ConversionError(f"there is no token for {_listed(missing)}, and tiktoken panics on such a byte")
    for text, id in special_tokens.items():
        if not text:
            raise ConversionError("a special token is empty")
        if id in ids:
            raise ConversionError(f"the special token {text!r} has the id {id} of an ordinary token")
    for rank in (*ids, *special_tokens.values()):
        if not 0 <= rank <= _MAX_RANK:
            raise ConversionError(f"the id {rank} is not between 0 and {_MAX_RANK}")


def _parse_line(line: bytes, *, place: str) -> tuple[bytes, int]:
    match = _LINE.fullmatch(line)
    token = _from_base64(match[1]) if match else None
    if match is None or token is None:
        raise ModelFormatError(place, "a token in base64, one space and its rank", _shown(line))
    rank = int(match[2])
    if rank > _MAX_RANK:
        raise ModelFormatError(place, f"a rank of at most {_MAX_RANK}", str(rank))
    return token, rank


def _to_base64(token: bytes) -> bytes:
    # Whisper's multilingual.tiktoken writes its empty token as a lone "=", and so does this function: without it the
    # line would be invalid for every reader.
    return binascii.b2a_base64(token, newline=False) or b"="


def _from_base64(text: bytes) -> bytes | None:
    """Decode canonical base64; None for other spellings, so that every token has one spelling."""
    try:
        token = b"" if text == b"=" else binascii.a2b_base64(text)
    except binascii.Error:
        return None
    return token if _to_base64(token) == text else None


def _missing_bytes(tokens: Iterable[bytes]) -> list[int]:
    present = {token[0] for token in tokens if len(token) == 1}
    return [byte for byte in range(256) if byte not in present]


def _listed(missing: Sequence[int]) -> str:
    return f"byte {first_of([f'0x{byte:02X}' for byte in missing], _BYTES_SHOWN)}"


def _shown(line: bytes) -> str:
    return repr(line if len(line) <= _LINE_SHOWN else line[:_LINE_SHOWN] + b"...")


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
