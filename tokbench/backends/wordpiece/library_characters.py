"""BERT's normalization and splitting by the installed `tokenizers`, and its treatment of single characters."""

from __future__ import annotations

from functools import cache
from typing import Any

_MOVERS = "\u302e\U0001d165"
"""Characters of the combining classes 224 and 216 that strip_accents keeps.

A mark of any other class is reordered with one of them.
"""


def library_words(
    text: str, *, clean_text: bool, handle_chinese_chars: bool, strip_accents: bool, lowercase: bool
) -> list[str]:
    """Return the words of a text after BertNormalizer and BertPreTokenizer.

    >>> rules = dict(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    >>> library_words("Café-Bar", **rules)
    ['cafe', '-', 'bar']
    """
    normal = _normalizer(clean_text, handle_chinese_chars, strip_accents, lowercase).normalize_str(text)
    return [word for word, _ in _splitter().pre_tokenize_str(normal)]


@cache
def is_movable(code_point: int) -> bool:
    """Return whether strip_accents keeps a character or a part of it, which may be reordered with the marks around it.

    A musical note is decomposed: a mark after it moves between its parts, and the library reports the position of the
    mark for the part after it.

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
