"""The tokens of a vocabulary as arrays, for metrics."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokbench.errors import UnknownIdError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The tokens of a vocabulary, by id.

    Attributes:
        pieces: the V tokens; None for an id without a token.
        lengths: int64[V], the number of bytes of each token.
        special: bool[V], whether an id is a special token or has no token: no text becomes it.
        incomplete: bool[V], whether a token's bytes are not whole characters.
        lone_bytes: bool[V], whether a token is one byte of a character of several.
    """

    pieces: tuple[bytes | None, ...]
    lengths: NDArray[np.int64]
    special: NDArray[np.bool_]
    incomplete: NDArray[np.bool_]
    lone_bytes: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.pieces)


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """Return the tokens of a tokenizer. Calls the tokenizer O(V) times."""
    return vocabulary_from(
        [_piece(tokenizer, id) for id in range(tokenizer.info.vocab_size)],
        special_ids=tuple(tokenizer.info.special_tokens.values()),
    )


def vocabulary_from(pieces: Sequence[bytes | None], *, special_ids: Sequence[int] = ()) -> Vocabulary:
    r"""Build the arrays of tokens.

    >>> vocabulary_from([b"a", b"\xc3", None]).lone_bytes.tolist()
    [False, True, False]
    """
    special = np.array([piece is None for piece in pieces], dtype=bool)
    special[[id for id in special_ids if id < len(pieces)]] = True
    return Vocabulary(
        pieces=tuple(pieces),
        lengths=np.array([len(piece or b"") for piece in pieces], dtype=np.int64),
        special=special,
        incomplete=np.array([not is_complete(piece or b"") for piece in pieces], dtype=bool),
        lone_bytes=np.array(
            [(piece or b"") >= b"\x80" and len(piece or b"") == 1 for piece in pieces], dtype=bool
        ),
    )


def is_complete(piece: bytes) -> bool:
    r"""Whether bytes are whole characters.

    >>> is_complete("é".encode()), is_complete(b"\xc3")
    (True, False)
    """
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


def _piece(tokenizer: Tokenizer, id: int) -> bytes | None:
    try:
        return tokenizer.token_bytes(id)
    except UnknownIdError:
        return None


def intermediate_tokens(
    frequencies: NDArray[np.int64], merges: Sequence[tuple[int, int]]
) -> NDArray[np.bool_]:
    """Return which learned tokens only feed other merges: they never occur, but a token that contains them does.

    Args:
        frequencies: int64[B + M], the occurrences of each token; the B base tokens come first.
        merges: (left id, right id) of token B + rank, each below it.

    Returns:
        bool[B + M], whether each token is such a token.

    >>> intermediate_tokens(np.array([1, 0, 0, 2]), [(0, 1), (2, 0)]).tolist()
    [False, False, True, False]
    """
    base = len(frequencies) - len(merges)
    feeds = np.zeros(len(frequencies), dtype=bool)
    used = frequencies > 0
    for rank in range(len(merges) - 1, -1, -1):
        token = base + rank
        if used[token] or feeds[token]:
            feeds[list(merges[rank])] = True
    result = feeds & ~used
    result[:base] = False
    return result


def vocabulary_hash(vocabulary: Vocabulary, special_tokens: Mapping[str, int]) -> str:
    """Return the SHA-256 of all tokens, each preceded by its length, and of the special tokens with their ids."""
    digest = hashlib.sha256()
    for piece in vocabulary.pieces:
        size = -1 if piece is None else len(piece)
        digest.update(size.to_bytes(8, "little", signed=True) + (piece or b""))
    for text, id in sorted(special_tokens.items()):
        encoded = text.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded + id.to_bytes(8, "little"))
    return digest.hexdigest()
