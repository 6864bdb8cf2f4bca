"""Text and tokens in quotes, as findings, causes and messages show them: in one way everywhere."""

from __future__ import annotations

_SHOWN = 40
"""Characters of what is shown as it is; of longer ones the first and the length."""
_KEPT = 32
_UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Fillers, joiners and variation selectors: Python takes them for printable."""


def quoted(data: bytes | str, *, most: int = _SHOWN) -> str:
    r"""Text in quotes, with escapes for what is not seen, and `⟨E2⟩` for a byte that is no whole character.

    Args:
        data: the text, or the bytes of a token.
        most: characters that are shown; a longer one is cut, and its length told.

    >>> print(quoted(b" caf\xc3\xa9\n"), quoted(b"\xe2\x82!"), quoted("\u200b"), quoted("-" * 64))
    " café\n" "⟨E2⟩⟨82⟩!" "\u200b" "--------------------------------…" (64 characters)
    """
    text = data if isinstance(data, str) else data.decode(errors="surrogateescape")
    if len(text) <= most:
        return f'"{_seen(text)}"'
    length = f"{len(data):,} bytes" if any(map(_is_byte, text)) else f"{len(text):,} characters"
    return f'"{_seen(text[: min(most, _KEPT)])}…" ({length})'


def _seen(text: str) -> str:
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if _is_byte(character):
        return f"⟨{ord(character) - 0xDC00:02X}⟩"
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable() and character not in _UNSEEN and character != "⟨":
        return character
    return ascii(character)[1:-1]


def _is_byte(character: str) -> bool:
    return "\udc80" <= character <= "\udcff"
