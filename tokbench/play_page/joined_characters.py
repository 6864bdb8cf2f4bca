"""Which characters `tokenizers` takes for one with their neighbours where it applies a table of replacements.

It looks each such cluster up as a whole where it is short. Which characters join depends on the Unicode of its year, so
the installed library is asked, by what it makes of each character beside one that a table composes.
"""

from __future__ import annotations

import unicodedata
from itertools import chain
from typing import TYPE_CHECKING

from tokbench.errors import PageError
from tokbench.play_page.code_points import code_points, ranges

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_ONCE = 1 << 13
_BETWEEN = "\tzxz\t"
_MADE = " zxz "
_DECOMPOSED, _COMPOSED, _MARK = "a\u0301", "\u00e1", "\u0301"
_MOST_JOINED = 10_000


def joined_characters(charsmap: bytes) -> dict[str, list[int]]:
    """Ranges of characters that join the one before, that join the one behind, and that nothing joins.

    Args:
        charsmap: a table of replacements; empty for none.

    Raises:
        PageError: the table does not compose or does not make tabs spaces, so that nothing can be asked.
    """
    if not charsmap:
        return {"joining": [], "prepended": [], "controls": []}
    from tokenizers.normalizers import Precompiled

    normalize: Callable[[str], str] = Precompiled(charsmap).normalize_str
    if normalize(f"{_DECOMPOSED}{_BETWEEN}") != f"{_COMPOSED}{_MADE}":
        raise PageError(
            "no encoder of the page runs this Unigram: its table of replacements is not one of NFKC",
            hint="`tokbench play` in the terminal does",
        )
    alone = _each(normalize, "{}")
    behind, before = _each(normalize, _DECOMPOSED + "{}"), _each(normalize, "{}" + _DECOMPOSED)
    marked = _each(normalize, "{}" + _MARK)
    found: dict[str, list[int]] = {"joining": [], "prepended": [], "controls": []}
    for code, own, after, prior, with_mark in zip(code_points(), alone, behind, before, marked, strict=True):
        if after != _COMPOSED + own:
            found["joining"].append(code)
        elif prior != own + _COMPOSED:
            found["prepended"].append(code)
        elif own != chr(code) and with_mark == own + _MARK and _is_short(code):
            found["controls"].append(code)
    if len(found["joining"]) > _MOST_JOINED:
        raise PageError("no encoder of the page runs this Unigram: its table of replacements is unusual")
    return {name: ranges(codes) for name, codes in found.items()}


def _is_short(code: int) -> bool:
    """Whether a character with a mark is short enough to be looked up with it; of others only controls are told."""
    return code < 0x10000 or unicodedata.category(chr(code)) == "Cf"


def _each(normalize: Callable[[str], str], form: str) -> list[str]:
    codes = list(code_points())
    parts = (codes[start : start + _AT_ONCE] for start in range(0, len(codes), _AT_ONCE))
    texts = (_BETWEEN.join(form.format(chr(code)) for code in part) for part in parts)
    return list(chain.from_iterable(normalize(text).split(_MADE) for text in texts))
