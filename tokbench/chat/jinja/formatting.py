"""The parts of strings formatted by `%` and `str.format`: literals of the template, and the values between them.

Python does the formatting; this module recovers which part comes from where, for `traced`. A part that is a slice of
the template or an unmodified value keeps its type; any other part is an ordinary string.
"""

from __future__ import annotations

import re
import string
from itertools import count
from typing import TYPE_CHECKING, Any

from tokbench.chat.jinja.limits import CHARACTERS, check_length

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
