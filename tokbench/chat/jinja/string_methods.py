"""What methods of strings do to each character: the parts of formatted strings, and sizes after a change of case.

Python does the formatting by `%` and `str.format`; this module recovers which part comes from where, for `traced`: a
literal of the template, or a value. A part that is a slice of the template or an unmodified value keeps its type; any
other part is an ordinary string.

One character may become several in upper case ("ß" is "SS"), lower case ("İ"), and title case ("ŉ"), but none
disappears.
"""

from __future__ import annotations

import re
import string
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

from tokbench.chat.jinja.limits import CHARACTERS, check_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


_DIRECTIVE = re.compile(r"%(?:\(([^()]*)\))?([#0\- +]*)(\d*)(\.\d*)?[hlL]?([diouxXeEfFgGcrsa%])")
_NUMBER = re.compile(r"\d+")


def percent_parts(template: str, values: Any) -> Iterator[str]:
    """Yield the parts of `template % values`.

    Raises:
        IndexError, KeyError, TypeError, ValueError: the template and the values do not match.

    >>> list(percent_parts("<%s|%03d>", ("x", 7)))
    ['<', 'x', '|', '007', '>']
    """
    following = iter(values if isinstance(values, tuple) else (values,))
    start = 0
    for directive in _DIRECTIVE.finditer(template):
        yield template[start : directive.start()]
        start = directive.end()
        key, flags, width, precision, kind = directive.groups()
        if kind == "%":
            yield template[start - 1 : start]
            continue
        value = values[key] if key is not None else next(following, "")
        plain = kind == "s" and not (flags or width or precision)
        yield str(value) if plain else f"%{flags}{width}{precision or ''}{kind}" % (value,)
    yield template[start:]


class Formatter(string.Formatter):
    """`str.format` in parts; a sandbox combines it with its own rule for attributes."""

    def parts(self, template: str, args: Sequence[Any], values: Mapping[str, Any]) -> Iterator[str]:
        """Yield the parts of `template.format(*args, **values)`.

        Raises:
            IndexError, KeyError, TypeError, ValueError: the template and the values do not match.

        >>> list(Formatter().parts("<{}|{x:>3}>", ["a"], {"x": 7}))
        ['<', 'a', '|', '  7', '>']
        """
        numbers = count()
        start = 0
        for literal, name, spec, conversion in self.parse(str.__str__(template)):
            yield template[start : start + len(literal)]
            start += len(literal)
            if name is None:
                start += 1  # the second of two braces
                continue
            start += 1 + len(name) + (2 if conversion else 0)
            start += 2 + len(spec or "") if template[start] == ":" else 1
            value, _ = self.get_field(name or str(next(numbers)), args, values)
            yield self.format_field(self.convert_field(value, conversion), spec or "")

    def format_field(self, value: Any, format_spec: str) -> str:
        """Like `format`, but raise on a field that would be too wide."""
        check_numbers(format_spec)
        text: str = format(value, format_spec)
        return text


def check_numbers(text: str, values: Any = ()) -> None:
    """Raise on widths and precisions that would create huge strings.

    Args:
        text: a template that may contain numbers.
        values: the values to format, among which `*` finds its number.

    Raises:
        LimitError: a number is too large.
    """
    for number in _NUMBER.findall(text):
        check_length(int(number) if len(number) < 20 else CHARACTERS + 1)
    if "*" in text:
        for value in values if isinstance(values, tuple) else (values,):
            if isinstance(value, int):
                check_length(abs(value))


def sizes_of(text: str, method: Callable[[str], str]) -> list[int]:
    """Return the size of each character after `str.upper`, `lower`, `casefold` or `swapcase`.

    A sigma, which depends on its neighbours, becomes one character in any case.

    >>> sizes_of("aß", str.upper)
    [1, 2]
    """
    return [len(method(character)) for character in text]


def capitalize_sizes(text: str) -> list[int]:
    """Return the sizes for `str.capitalize`: the first character in title case, the others in lower case."""
    return [len(text[:1].title()), *sizes_of(text[1:], str.lower)]


def title_sizes(text: str) -> list[int]:
    """Return the sizes for `str.title`, where a character's form depends on the one before it."""
    return [
        len(text[:1].title()),
        *(len((before + character).title()) - len(before.title()) for before, character in pairwise(text)),
    ]


def tab_sizes(text: str, width: int) -> list[int]:
    r"""Return the sizes for `str.expandtabs`.

    >>> tab_sizes("a\tb", 4)
    [1, 3, 1]
    """
    sizes = []
    column = 0
    for character in text:
        size = (width - column % width if width > 0 else 0) if character == "\t" else 1
        column = 0 if character in "\r\n" else column + size
        sizes.append(size)
    return sizes
