"""The reference for `traced`: each operation on a list of characters with origins.

A character of a result is one of an operand's characters, or derived from one, and has its origin; a character that
derives from none is `COMPUTED`. Slow, and only for tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tokbench.chat.rendered import COMPUTED, Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LINE_ENDS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")


class Character(NamedTuple):
    """A character and its origin."""

    text: str
    origin: Origin


Characters = list[Character]


def characters(text: str, origins: Iterable[Origin] | None = None) -> Characters:
    """Return the characters of a string with their origins; without origins they are `COMPUTED`.

    >>> characters("a")
    [Character(text='a', origin=Origin(message=None, field='computed'))]
    """
    return list(map(Character, text, [COMPUTED] * len(text) if origins is None else origins))


def text_of(string: Characters) -> str:
    """Return the text without origins."""
    return "".join(character.text for character in string)


def _is_at(string: Characters, part: str, start: int) -> bool:
    return text_of(string[start : start + len(part)]) == part


def join(separator: Characters, parts: Sequence[Characters]) -> Characters:
    """Reference for `str.join`."""
    joined: Characters = []
    for number, part in enumerate(parts):
        joined += (separator if number else []) + part
    return joined


def replace(string: Characters, old: str, new: Characters, count: int = -1) -> Characters:
    """Reference for `str.replace`."""
    replaced: Characters = []
    at = 0
    while at <= len(string):
        if count != 0 and _is_at(string, old, at):
            replaced += new
            count -= 1
            if old:
                at += len(old)
                continue
        replaced += string[at : at + 1]
        at += 1
    return replaced


def strip(
    string: Characters, chars: str | None = None, *, left: bool = True, right: bool = True
) -> Characters:
    """Reference for `str.strip`, `lstrip` and `rstrip`."""

    def is_stripped(character: Character) -> bool:
        return character.text.isspace() if chars is None else character.text in chars

    string = list(string)
    while left and string and is_stripped(string[0]):
        del string[0]
    while right and string and is_stripped(string[-1]):
        del string[-1]
    return string


def split(string: Characters, separator: str, maxsplit: int = -1) -> list[Characters]:
    """Reference for `str.split` at a separator."""
    parts: list[Characters] = [[]]
    at = 0
    while at < len(string):
        if len(parts) - 1 != maxsplit and _is_at(string, separator, at):
            parts.append([])
            at += len(separator)
        else:
            parts[-1].append(string[at])
            at += 1
    return parts


def words(string: Characters, maxsplit: int = -1) -> list[Characters]:
    """Reference for `str.split` at white space."""
    rest = strip(string, right=False)
    found: list[Characters] = []
    while rest:
        if len(found) == maxsplit:
            return [*found, rest]
        size = next((at for at, character in enumerate(rest) if character.text.isspace()), len(rest))
        found.append(rest[:size])
        rest = strip(rest[size:], right=False)
    return found


def reverse_split(string: Characters, separator: str | None, maxsplit: int = -1) -> list[Characters]:
    """Reference for `str.rsplit`: `split` of the reversed string."""
    backwards = string[::-1]
    parts = words(backwards, maxsplit) if separator is None else split(backwards, separator[::-1], maxsplit)
    return [part[::-1] for part in parts[::-1]]


def splitlines(string: Characters, *, keepends: bool) -> list[Characters]:
    """Reference for `str.splitlines`."""
    lines: list[Characters] = []
    line: Characters = []
    at = 0
    while at < len(string):
        size = 2 if _is_at(string, "\r\n", at) else 1
        if string[at].text in LINE_ENDS:
            lines.append(line + (string[at : at + size] if keepends else []))
            line = []
        else:
            line.append(string[at])
            size = 1
        at += size
    return [*lines, line] if line else lines


def partition(string: Characters, separator: str) -> tuple[Characters, Characters, Characters]:
    """Reference for `str.partition`."""
    for at in range(len(string)):
        if _is_at(string, separator, at):
            end = at + len(separator)
            return string[:at], string[at:end], string[end:]
    return string, [], []


def reverse_partition(string: Characters, separator: str) -> tuple[Characters, Characters, Characters]:
    """Reference for `str.rpartition`."""
    last, middle, first = (part[::-1] for part in partition(string[::-1], separator[::-1]))
    return first, middle, last


def change(string: Characters, method: Callable[[str], str]) -> Characters:
    """Reference for `str.upper`, `lower`, `casefold` and `swapcase`: each character by itself.

    The lower-case form of a final sigma depends on its neighbours, and is taken from the whole text.
    """
    sizes = [len(method(character.text)) for character in string]
    return _resized(string, method(text_of(string)), sizes)


def title(string: Characters) -> Characters:
    """Reference for `str.title`: the first letter of each run of letters in title case, the others in lower case."""
    sizes = []
    inside = False
    for character in string:
        sizes.append(len(character.text.lower() if inside else character.text.title()))
        inside = (character.text + "a").title().endswith("a")
    return _resized(string, text_of(string).title(), sizes)


def capitalize(string: Characters) -> Characters:
    """Reference for `str.capitalize`."""
    sizes = [
        len((character.text.lower if at else character.text.title)()) for at, character in enumerate(string)
    ]
    return _resized(string, text_of(string).capitalize(), sizes)


def _resized(string: Characters, text: str, sizes: list[int]) -> Characters:
    origins = [character.origin for character, size in zip(string, sizes, strict=True) for _ in range(size)]
    return characters(text, origins)


def expandtabs(string: Characters, width: int) -> Characters:
    """Reference for `str.expandtabs`."""
    expanded: Characters = []
    column = 0
    for character in string:
        if character.text == "\t":
            spaces = 0 if width <= 0 else width - column % width
            expanded += [Character(" ", character.origin)] * spaces
            column += spaces
        else:
            expanded.append(character)
            column = 0 if character.text in "\r\n" else column + 1
    return expanded


def pad(string: Characters, left: int, right: int, fill: Character) -> Characters:
    """Reference for `str.center`, `ljust` and `rjust`: add this many characters on each side."""
    return [fill] * left + string + [fill] * right


def zfill(string: Characters, width: int) -> Characters:
    """Reference for `str.zfill`."""
    sign = 1 if string and string[0].text in "+-" else 0
    return string[:sign] + characters("0" * (width - len(string))) + string[sign:]


def translate(string: Characters, table: dict[int, str | None]) -> Characters:
    """Reference for `str.translate`."""
    translated: Characters = []
    for character in string:
        mapped = table.get(ord(character.text), character.text) or ""
        translated += [character] if mapped == character.text else characters(mapped)
    return translated
