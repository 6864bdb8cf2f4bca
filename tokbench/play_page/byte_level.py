"""Byte-level BPE as data of `byte_level.js`."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from tokbench.play_page.added_tokens import cannot_run, special_fields
from tokbench.play_page.regexes import javascript_regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.opening.native_bpe import ParsedBpe

_MOST_IDS = 1 << 21
"""Maximum number of tokens: the encoder packs a rank and a position into one number."""


def byte_level_data(bpe: ByteLevelBpe) -> dict[str, Any]:
    """Return the fields of a byte-level BPE; each byte of a token is a character in them.

    Raises:
        PageError: the encoder does not support its merges or its split pattern.
    """
    tokens = bpe.tokens
    known = {token for token in tokens if token is not None}
    if missing := [byte for byte in range(256) if bytes([byte]) not in known]:
        raise cannot_run("BPE", f"it has no token for the byte {missing[0]:02X}")
    if len(tokens) > _MOST_IDS:
        raise cannot_run("BPE", f"it has more than {_MOST_IDS:,} tokens")
    return {
        "model": "byte_level",
        "tokens": [None if token is None else token.decode("latin-1") for token in tokens],
        "merges": None if bpe.merges is None else _flat(bpe.merges, tokens),
        "whole_first": bpe.whole_tokens_first or bpe.merges is None,
        "nfc": bpe.normalization == "nfc",
        "split": None if bpe.pattern is None else javascript_regex(bpe.pattern),
        "special": special_fields(bpe.special_tokens, bpe.token_flags),
    }


def document_data(parsed: ParsedBpe, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a byte-level BPE of a `tokenizer.json` with added tokens that are not special.

    Args:
        parsed: the document as a BPE.
        document: the parsed `tokenizer.json`.

    Raises:
        PageError: as `byte_level_data`, or the encoder does not match its added tokens in the same way.
    """
    added = parsed.added
    if single_word := next((text for text, flags in added.flags.items() if flags.single_word), None):
        raise cannot_run("BPE", f"its added token {single_word!r} matches whole words only")
    passes: tuple[list[str], list[str]] = [], []
    for token in document["added_tokens"]:
        passes[bool(token.get("normalized"))].append(token["content"])
    if pair := _overlapping_pair(*passes):
        raise cannot_run(
            "BPE", f"it looks for added tokens in two passes, and {pair[0]!r} can share text with {pair[1]!r}"
        )
    others = [[*fields[:-1], False] for fields in special_fields(added.everywhere, added.flags)]
    return {
        **byte_level_data(parsed.bpe),
        "special": [*special_fields(added.special, added.flags), *others],
    }


def _overlapping_pair(texts: Iterable[str], others: Iterable[str]) -> tuple[str, str] | None:
    """Return a text of each kind whose occurrences can overlap: one contains the other, or begins as the other ends."""
    for text, other in product(texts, others):
        ends = (
            text.startswith(other[-size:]) or text.endswith(other[:size]) for size in range(1, len(other) + 1)
        )
        if text in other or any(ends):
            return text, other
    return None


def _flat(merges: Sequence[tuple[int, int, int]], tokens: Sequence[bytes | None]) -> list[int]:
    """Flatten merges to their left and right ids; the result of a merge is found by its bytes."""
    ids = {token: id for id, token in enumerate(tokens) if token is not None}
    flat: list[int] = []
    for left, right, made in merges:
        if ids.get((tokens[left] or b"") + (tokens[right] or b"")) != made:
            raise cannot_run("BPE", "a merge produces a token that its parts do not spell")
        flat += left, right
    return flat
