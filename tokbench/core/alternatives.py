"""Regular expressions for sets of texts."""

from __future__ import annotations

import re
from os.path import commonprefix
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_FEW = 8
"""So many alternatives are tried one by one."""
_DEEPEST = 20
"""Groups within groups; what they do not separate is tried one by one, as `re` recurses into groups."""


def longest_first(texts: Iterable[str]) -> str:
    r"""Return an expression for `re` that matches the longest of some texts that begins at a position.

    Texts that begin alike share a group: models have tens of thousands of special tokens, such as `<|reserved_1042|>`,
    and `re` tries alternatives in turn, also those whose first characters did not match.

    Args:
        texts: the texts; an empty one matches where no other does. Without any, nothing matches.

    >>> re.findall(longest_first(["<|a|>", "<|a|>b", "c"]), "<|a|>b <|a|> c")
    ['<|a|>b', '<|a|>', 'c']
    """
    found = list(dict.fromkeys(texts))
    return _alternatives(found, depth=_DEEPEST) if found else r"(?!)"


def _alternatives(texts: list[str], *, depth: int) -> str:
    if len(texts) <= _FEW or depth == 0:
        return "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))
    prefix = commonprefix(texts)  # noqa: RUF071 - of characters, not of folders
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(text[len(prefix) : len(prefix) + 1], []).append(text[len(prefix) :])
    shortest = groups.pop("", [])  # the prefix itself, which matches where no longer text does
    parts = [_alternatives(group, depth=depth - 1) for group in groups.values()]
    return f"{re.escape(prefix)}(?:{'|'.join([*parts, *shortest])})"
