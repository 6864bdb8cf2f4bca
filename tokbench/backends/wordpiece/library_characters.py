"""How the installed `tokenizers` treats single characters, asked when each first occurs."""

from __future__ import annotations

from functools import cache
from typing import Any

_MOVERS = "\u302e\U0001d165"
"""Characters of the combining classes 224 and 216 that stay: each of another class changes places with one of them."""


def library_words(
    text: str, *, clean_text: bool, handle_chinese_chars: bool, strip_accents: bool, lowercase: bool
) -> list[str]:
    """The words of a text, by BertNormalizer and BertPreTokenizer.

    >>> rules = dict(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    >>> library_words("Café-Bar", **rules)
    ['cafe', '-', 'bar']
    """
    normal = _normalizer(clean_text, handle_chinese_chars, strip_accents, lowercase).normalize_str(text)
    return [word for word, _ in _splitter().pre_tokenize_str(normal)]


@cache
def is_movable(code_point: int) -> bool:
    """Whether a character, or a part of it, stays under strip_accents, and marks around may change places with that.

    A musical note is taken apart: a mark after it comes to stand between, and the library says that what follows
    stood where the mark does.

    >>> is_movable(0x302E), is_movable(0x1D15E), is_movable(0x301), is_movable(ord("a"))
    (True, True, False, False)
    """
    strip = _normalizer(False, False, True, False).normalize_str  # noqa: FBT003
    kept = strip(chr(code_point))
    return any(
        strip(f"{mover}{part}{mover}") != f"{mover}{part}{mover}" for part in kept for mover in _MOVERS
    )


@cache
def _normalizer(*options: bool) -> Any:
    from tokenizers.normalizers import BertNormalizer

    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    return BertNormalizer(**dict(zip(names, options, strict=True)))


@cache
def _splitter() -> Any:
    from tokenizers.pre_tokenizers import BertPreTokenizer

    return BertPreTokenizer()
