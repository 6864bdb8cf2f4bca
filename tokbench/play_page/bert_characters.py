"""What BERT's normaliser and words make of each character, as the installed `tokenizers` has it.

Each character is normalised by itself: what becomes of a text is what becomes of its characters. Marks that stay where
accents are stripped change places with others next to them; they are listed, so that the encoder can order them.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any

from tokbench.play_page.code_points import code_points, ranges

_AT_ONCE = 1 << 13
_BETWEEN = "zxz"
"""No character becomes that."""


@cache
def bert_characters(
    *, clean_text: bool, handle_chinese_chars: bool, strip_accents: bool, lowercase: bool
) -> dict[str, Any]:
    """The fields of `bert_characters.js`: what becomes nothing, a bound, a word, or something else.

    Args:
        clean_text: whether controls go, and white space of all kinds is a space.
        handle_chinese_chars: whether each ideograph is a word.
        strip_accents: whether texts are decomposed, and marks go.
        lowercase: whether capitals go.
    """
    options = (clean_text, handle_chinese_chars, strip_accents, lowercase)
    made = _normalized(*options)
    spaces, alone = _bounds("".join(sorted(set("".join(made)))))
    found: dict[str, list[int]] = {"gone": [], "spaces": [], "alone": []}
    others: dict[str, str] = {}
    for code, inside in zip(code_points(), made, strict=True):
        character = chr(code)
        if inside == character and character not in spaces and character not in alone:
            continue
        written = "".join(
            f" {each} " if each in alone else " " if each in spaces else each for each in inside
        )
        match written.split():
            case []:
                found["spaces" if written else "gone"].append(code)
            case [each] if each == character and written == f" {each} ":
                found["alone"].append(code)
            case _:
                others[character] = written
    moving = [
        code
        for code, inside in zip(code_points(), made, strict=True)
        if any(map(unicodedata.combining, inside))
    ]
    cleaned = [
        code
        for code, inside in zip(code_points(), _normalized(clean_text, False, False, False), strict=True)  # noqa: FBT003
        if not inside
    ]
    return {
        **{name: ranges(codes) for name, codes in found.items()},
        "others": others,
        "moving": ranges(moving) if strip_accents else [],
        "cleaned": ranges(cleaned),
    }


@cache
def _normalized(*options: bool) -> list[str]:
    """What the normaliser makes of each character inside a word."""
    from tokenizers.normalizers import BertNormalizer

    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    normalize = BertNormalizer(**dict(zip(names, options, strict=True))).normalize_str
    codes = list(code_points())
    made: list[str] = []
    for start in range(0, len(codes), _AT_ONCE):
        text = _BETWEEN.join(f"a{chr(code)}b" for code in codes[start : start + _AT_ONCE])
        made += [each[1:-1] for each in normalize(text).split(_BETWEEN)]
    return made


def _bounds(characters: str) -> tuple[set[str], set[str]]:
    """Of some characters those that are between words, and those that are words by themselves."""
    from tokenizers.pre_tokenizers import BertPreTokenizer

    split = BertPreTokenizer().pre_tokenize_str
    kept: set[str] = set()
    alone: set[str] = set()
    for start in range(0, len(characters), _AT_ONCE):
        part = characters[start : start + _AT_ONCE]
        words = [word for word, _ in split(f"aa{'aa'.join(part)}aa")]
        kept.update(*words)
        alone.update(word for word in words if len(word) == 1)
    return set(characters) - kept, alone
