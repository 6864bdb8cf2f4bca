"""Fields that several results have in their JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokbench.core.interfaces import TokenizerInfo


def token_fields(piece: bytes) -> dict[str, str]:
    """A token's bytes as JSON: as text, U+FFFD where it is incomplete, and in hexadecimal.

    >>> token_fields(b" a")
    {'piece': ' a', 'bytes': '2061'}
    """
    return {"piece": piece.decode(errors="replace"), "bytes": piece.hex()}


def tokenizer_fields(info: TokenizerInfo) -> dict[str, Any]:
    """What a result says of the tokenizer it was made with."""
    return {"name": info.name, "backend": info.backend, "vocab_size": info.vocab_size, "kernel": info.kernel}
