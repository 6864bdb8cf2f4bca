"""Numbers with their nouns, as messages and tables say them."""

from __future__ import annotations


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


def shortened(text: str, *, most: int = 40) -> str:
    r"""A text as Python writes it, cut where it is long.

    >>> shortened("a\n"), shortened("a" * 100, most=4)
    ("'a\\n'", "'aaaa'…")
    """
    return repr(text) if len(text) <= most else f"{text[:most]!r}…"
