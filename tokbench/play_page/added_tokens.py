"""Tokens that are found in a text before anything else, as the data of `special_tokens.js`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import PageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.core.descriptions import TokenFlags


def special_fields(tokens: Mapping[str, int], flags: Mapping[str, TokenFlags]) -> list[list[Any]]:
    """Special tokens by their texts; a token that has no flags takes no white space."""
    return [
        [text, id, text in flags and flags[text].lstrip, text in flags and flags[text].rstrip, True]
        for text, id in tokens.items()
    ]


def added_fields(document: Mapping[str, Any], ids: Mapping[str, int]) -> list[list[Any]]:
    """The added tokens of a `tokenizer.json`; those that are not special are found in every text.

    Args:
        document: it.
        ids: the id of each token as it spells it.

    Raises:
        PageError: one of them is looked for in another way than as it is written.
    """
    return [_added(token, ids) for token in document.get("added_tokens") or []]


def _added(token: Mapping[str, Any], ids: Mapping[str, int]) -> list[Any]:
    text = token["content"]
    for flag, reason in (
        ("normalized", "is looked for in the normalized text"),
        ("single_word", "is found as a whole word alone"),
    ):
        if token.get(flag, flag == "normalized" and not token.get("special")):
            raise PageError(
                f"the page cannot find the added token {text!r}, which {reason}",
                hint="`tokbench play` in the terminal can",
            )
    lstrip, rstrip, special = (bool(token.get(name)) for name in ("lstrip", "rstrip", "special"))
    return [text, ids[text], lstrip, rstrip, special]
