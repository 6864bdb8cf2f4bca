"""Special and added tokens, which are matched before anything else, as data of `special_tokens.js`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import PageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.core.descriptions import TokenFlags


def cannot_run(what: str, why: str) -> PageError:
    """Return the error for a model that the page has no encoder for."""
    return PageError(f"the page cannot run this {what}: {why}", hint="`tokbench play` in the terminal can")


def special_fields(tokens: Mapping[str, int], flags: Mapping[str, TokenFlags]) -> list[list[Any]]:
    """Return the fields of special tokens; a token without flags strips no white space."""
    return [
        [text, id, text in flags and flags[text].lstrip, text in flags and flags[text].rstrip, True]
        for text, id in tokens.items()
    ]


def added_fields(document: Mapping[str, Any], ids: Mapping[str, int]) -> list[list[Any]]:
    """Return the fields of the added tokens of a `tokenizer.json`; non-special ones are matched under every policy.

    Args:
        document: the parsed `tokenizer.json`.
        ids: the id of each token by its spelling.

    Raises:
        PageError: a token has a flag that the encoder does not support.
    """
    return [_added(token, ids) for token in document.get("added_tokens") or []]


def _added(token: Mapping[str, Any], ids: Mapping[str, int]) -> list[Any]:
    text = token["content"]
    for flag, reason in (
        ("normalized", "is looked for in the normalized text"),
        ("single_word", "matches whole words only"),
    ):
        if token.get(flag, flag == "normalized" and not token.get("special")):
            raise PageError(
                f"the page cannot find the added token {text!r}, which {reason}",
                hint="`tokbench play` in the terminal can",
            )
    lstrip, rstrip, special = (bool(token.get(name)) for name in ("lstrip", "rstrip", "special"))
    return [text, ids[text], lstrip, rstrip, special]
