"""Wording for messages, findings and tables: numbers with nouns, quoted text, similar names, unique names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SHOWN = 40
"""The most characters that are shown in full; of longer text the beginning and the length are shown."""
_KEPT = 32
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Fillers, joiners and variation selectors, which `str.isprintable` accepts."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is one.

    >>> counted(1, "byte"), counted(1200, "byte")
    ('1 byte', '1,200 bytes')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def is_or_are(number: int) -> str:
    """Return the verb that follows a number.

    >>> is_or_are(1), is_or_are(2)
    ('is', 'are')
    """
    return "is" if number == 1 else "are"


def was_or_were(number: int) -> str:
    """Return the verb in the past tense that follows a number.

    >>> was_or_were(1), was_or_were(0)
    ('was', 'were')
    """
    return "was" if number == 1 else "were"


def enumerated(names: Sequence[str]) -> str:
    """Return names as a list in a sentence.

    >>> enumerated(["a"]), enumerated(["a", "b"]), enumerated(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def first_of(names: Sequence[str], most: int = 1) -> str:
    """Return the first of many names, and how many more there are.

    >>> first_of(["a", "b"], 2), first_of(["a", "b", "c"], 2), first_of(["a"])
    ('a, b', 'a, b and 1 more', 'a')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shortened(text: str, *, most: int = 40) -> str:
    r"""Return the repr of a text, shortened if it is long.

    >>> shortened("a\n"), shortened("a" * 100, most=4)
    ("'a\\n'", "'aaaa'…")
    """
    return repr(text) if len(text) <= most else f"{text[:most]!r}…"


def bytes_of_name(name: str) -> bytes:
    r"""Return the bytes of a file name, in which Python represents bytes that are not UTF-8 as lone surrogates.

    >>> bytes_of_name("caf\udce9")
    b'caf\xe9'
    """
    try:
        return name.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # another surrogate, which no name on a disk has
        return name.encode(errors="surrogatepass")


def printable(name: str) -> str:
    r"""Return a file name with bytes that are not UTF-8 written as "\xff", so that it can be encoded.

    >>> printable("caf\udce9")
    'caf\\xe9'
    """
    return bytes_of_name(name).decode(errors="backslashreplace")


def near_names(name: str, known: Iterable[str], *, most: int = 1) -> list[str]:
    """Return the known names most similar to a name, the nearest first, ignoring case.

    Args:
        name: the name as the user gave it.
        known: the names to choose from; of names that differ only in case the first one counts.
        most: the most names to return.

    >>> near_names("gpt5", ["gpt4", "gpt2", "none"], most=2), near_names("x", ["gpt4"])
    (['gpt4', 'gpt2'], [])
    """
    import difflib  # imported here, as only mistakes need it

    lowered = {known_name.lower(): known_name for known_name in reversed(list(known))}
    return [lowered[near] for near in difflib.get_close_matches(name.lower(), lowered, n=most)]


def meant(name: str, known: Iterable[str], *, otherwise: str = "available: {}") -> str:
    """Return the hint for an unknown name: the most similar known name, or all names.

    Args:
        name: the name as the user gave it.
        known: the existing names.
        otherwise: the hint where no name is similar; "{}" stands for all names.

    >>> meant("bep", ["bpe", "wordpiece"]), meant("x", ["bpe", "wordpiece"])
    ("did you mean 'bpe'?", 'available: bpe, wordpiece')
    """
    names = list(known)
    near = near_names(name, names)
    return f"did you mean {near[0]!r}?" if near else otherwise.format(", ".join(names))


def quoted(data: bytes | str, *, most: int = _SHOWN) -> str:
    r"""Return text in quotes, with escapes for invisible characters, and `⟨E2⟩` for a byte of an incomplete character.

    Args:
        data: the text, or the bytes of a token.
        most: the most characters to show; a longer text is cut, and its length added.

    >>> print(quoted(b" caf\xc3\xa9\n"), quoted(b"\xe2\x82!"), quoted("\u200b"), quoted("-" * 64))
    " café\n" "⟨E2⟩⟨82⟩!" "\u200b" "--------------------------------…" (64 characters)
    """
    text = data if isinstance(data, str) else data.decode(errors="surrogateescape")
    if len(text) <= most:
        return f'"{_escaped(text)}"'
    length = f"{len(data):,} bytes" if any(map(_is_byte, text)) else f"{len(text):,} characters"
    return f'"{_escaped(text[: min(most, _KEPT)])}…" ({length})'


def _escaped(text: str) -> str:
    return "".join(map(_escaped_character, text))


def _escaped_character(character: str) -> str:
    if _is_byte(character):
        return f"⟨{ord(character) - 0xDC00:02X}⟩"
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable() and character not in _INVISIBLE and character != "⟨":
        return character
    return ascii(character)[1:-1]


def _is_byte(character: str) -> bool:
    return "\udc80" <= character <= "\udcff"


def unique_names(names: Sequence[str]) -> list[str]:
    """Make names unique by appending numbers.

    >>> unique_names(["a", "b", "a", "a"])
    ['a', 'b', 'a#2', 'a#3']
    """
    unique: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in unique:
            number += 1
            candidate = f"{name}#{number}"
        unique.append(candidate)
    return unique
