r"""Where paragraphs, lines, sentences and words of a text end, as byte offsets.

A paragraph ends behind blank lines, a line behind its line end. A sentence ends behind ".", "!", "?" or "…" with
the closing quotes and brackets after it, where white space follows, and behind the full stops of Chinese, Japanese
and Indian scripts; the white space after it belongs to it. A word ends before white space.

>>> data = "One. Two!\n\nThree".encode()
>>> [unit_ends(data, unit) for unit in UNITS]
[[11], [10, 11], [5, 11], [4, 9]]
"""

from __future__ import annotations

import re

UNITS = ("paragraphs", "lines", "sentences", "words")
"""The units, each finer than the one before."""

_CLOSING = "[\"')\\]}]|" + "|".join("”’»」』）】")
_RULES = {
    "paragraphs": r"(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))+",
    "lines": r"\r\n|\n|\r",
    "sentences": rf"(?:[.!?]|…)+(?:{_CLOSING})*\s+|(?:{'|'.join('。！？｡।॥؟۔')})+(?:{_CLOSING})*\s*|\n\s*",
    "words": r"(?<=\S)(?=\s)",
}
_PATTERNS = {unit: re.compile(rule.encode()) for unit, rule in _RULES.items()}


def unit_ends(data: bytes, unit: str) -> list[int]:
    """The byte offsets at which units of a text in UTF-8 end, ascending; the end of the text is left out.

    Args:
        data: the text.
        unit: one of `UNITS`.
    """
    ends = [match.end() for match in _PATTERNS[unit].finditer(data)]
    return ends[:-1] if ends and ends[-1] == len(data) else ends
