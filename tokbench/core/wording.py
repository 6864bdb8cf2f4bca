"""How messages, findings and tables say things: numbers with nouns, text in quotes, near names, names that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SHOWN = 40
"""Characters of what is shown as it is; of longer ones the first and the length."""
_KEPT = 32
_UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Fillers, joiners and variation selectors: Python takes them for printable."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun, in the plural unless it is one.

    Args:
        number: how many.
        noun: the word for one of them.
        plural: for several, where that is not the word with an "s".

    >>> counted(1, "byte"), counted(1200, "byte"), counted(0, "entry", "entries")
    ('1 byte', '1,200 bytes', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def is_or_are(number: int) -> str:
    """The verb that follows such a number.

    >>> is_or_are(1), is_or_are(2)
    ('is', 'are')
    """
    return "is" if number == 1 else "are"


def was_or_were(number: int) -> str:
    """The same verb in the past tense.

    >>> was_or_were(1), was_or_were(0)
    ('was', 'were')
    """
    return "was" if number == 1 else "were"


def first_of(names: Sequence[str], most: int = 1) -> str:
    """The first of many names, and how many more there are.

    >>> first_of(["a", "b"], 2), first_of(["a", "b", "c"], 2), first_of(["a"])
    ('a, b', 'a, b and 1 more', 'a')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shortened(text: str, *, most: int = 40) -> str:
    r"""A text as Python writes it, cut where it is long.

    >>> shortened("a\n"), shortened("a" * 100, most=4)
    ("'a\\n'", "'aaaa'…")
    """
    return repr(text) if len(text) <= most else f"{text[:most]!r}…"


def bytes_of_name(name: str) -> bytes:
    r"""The bytes of a file's name, in which Python keeps those that are not UTF-8 as lone surrogates.

    >>> bytes_of_name("caf\udce9")
    b'caf\xe9'
    """
    try:
        return name.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # another surrogate, which no name on a disk has
        return name.encode(errors="surrogatepass")


def printable(name: str) -> str:
    r"""A file's name, with the bytes of it that are not UTF-8 written as "\xff": so that it can be written itself.

    >>> printable("caf\udce9")
    'caf\\xe9'
    """
    return bytes_of_name(name).decode(errors="backslashreplace")


def near_names(name: str, known: Iterable[str], *, most: int = 1) -> list[str]:
    """The known names that are like a name, the nearest first, whatever their case.

    Args:
        name: as it was given.
        known: the names to choose from; of names that differ in case alone the first one counts.
        most: how many to return at most.

    >>> near_names("gpt5", ["gpt4", "gpt2", "none"], most=2), near_names("x", ["gpt4"])
    (['gpt4', 'gpt2'], [])
    """
    import difflib  # here, as only mistakes need it

    lowered = {each.lower(): each for each in reversed(list(known))}
    return [lowered[near] for near in difflib.get_close_matches(name.lower(), lowered, n=most)]


def meant(name: str, known: Iterable[str], *, otherwise: str = "there are {}") -> str:
    """The hint for an unknown name: the nearest known name, or all of them.

    Args:
        name: as it was given.
        known: the names that there are.
        otherwise: the hint where none is near; "{}" stands for all of them.

    >>> meant("bep", ["bpe", "wordpiece"]), meant("x", ["bpe", "wordpiece"])
    ("did you mean 'bpe'?", 'there are bpe, wordpiece')
    """
    names = list(known)
    near = near_names(name, names)
    return f"did you mean {near[0]!r}?" if near else otherwise.format(", ".join(names))


def quoted(data: bytes | str, *, most: int = _SHOWN) -> str:
    r"""Text in quotes, with escapes for what is not seen, and `⟨E2⟩` for a byte that is not a whole character.

    Args:
        data: the text, or the bytes of a token.
        most: characters that are shown; a longer one is cut, and its length given.

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
