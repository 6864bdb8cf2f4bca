"""Byte-level BPE as the data of `byte_level.js`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import PageError
from tokbench.play_page.added_tokens import special_fields
from tokbench.play_page.regexes import javascript_regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.core.descriptions import ByteLevelBpe

_MOST_IDS = 1 << 21
"""What the encoder has room for in a number."""


def byte_level_data(bpe: ByteLevelBpe) -> dict[str, Any]:
    """The fields of a byte-level BPE; each byte of a token is a character there.

    Raises:
        PageError: its merges or its split pattern are not what the encoder does.
    """
    tokens = bpe.tokens
    known = {token for token in tokens if token is not None}
    if missing := [byte for byte in range(256) if bytes([byte]) not in known]:
        raise _not_run(f"it has no token for the byte {missing[0]:02X}")
    if len(tokens) > _MOST_IDS:
        raise _not_run(f"it has more than {_MOST_IDS:,} tokens")
    return {
        "model": "byte_level",
        "tokens": [None if token is None else token.decode("latin-1") for token in tokens],
        "merges": None if bpe.merges is None else _flat(bpe.merges, tokens),
        "whole_first": bpe.whole_tokens_first or bpe.merges is None,
        "nfc": bpe.normalization == "nfc",
        "split": None if bpe.pattern is None else javascript_regex(bpe.pattern),
        "special": special_fields(bpe.special_tokens, bpe.token_flags),
    }


def _flat(merges: Sequence[tuple[int, int, int]], tokens: Sequence[bytes | None]) -> list[int]:
    """Left and right of each merge; what is made is found by its bytes."""
    ids = {token: id for id, token in enumerate(tokens) if token is not None}
    flat: list[int] = []
    for left, right, made in merges:
        if ids.get((tokens[left] or b"") + (tokens[right] or b"")) != made:
            raise _not_run("a merge makes another token than its parts spell")
        flat += left, right
    return flat


def _not_run(why: str) -> PageError:
    return PageError(
        f"no encoder of the page runs this BPE: {why}", hint="`tokbench play` in the terminal does"
    )
