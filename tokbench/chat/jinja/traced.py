"""Strings that track the origin of each of their characters.

`reference` defines the effect of each operation on origins. The text of a result is always that of `str`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

from tokbench.chat.jinja import string_methods
from tokbench.chat.jinja.limits import check_length
from tokbench.chat.jinja.runs import Runs, cut, gather, join, resize, spread, uniform
from tokbench.chat.jinja.string_methods import Formatter, check_numbers, percent_parts
from tokbench.chat.rendered import COMPUTED, TEMPLATE, Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


class Traced(str):
    """A string with an origin for each character.

    Every method of `str` that returns strings returns traced ones. Characters from an ordinary `str`, such as the
    spaces that `center` adds, are `COMPUTED`.

    >>> greeting = Traced("Hello ", TEMPLATE) + Traced("Ada", Origin(0, "content"))
    >>> greeting.upper()[4:8]
    'O AD'
    >>> greeting.upper()[4:8].runs_of_origins()
    ((2, Origin(message=None, field=None)), (2, Origin(message=0, field='content')))
    """

    __slots__ = ("_runs",)
    _runs: Runs

    def __new__(cls, text: str, origin: Origin | Runs) -> Self:
        """Create a string.

        Args:
            text: its characters.
            origin: the origin of all characters, or runs that cover the text.
        """
        traced = str.__new__(cls, str.__str__(text))
        traced._runs = uniform(len(text), origin) if isinstance(origin, Origin) else origin
        return traced

    def runs_of_origins(self) -> Runs:
        """Return the runs: lengths with origins, in order."""
        return self._runs

    @property
    def _origin(self) -> Origin:
        """The origin of all characters, or `COMPUTED` if they differ."""
        return self._runs[0][1] if len(self._runs) == 1 else COMPUTED

    def _derived(self, text: str, runs: Runs) -> Self:
        traced = str.__new__(type(self), text)
        traced._runs = runs
        return traced

    def _part(self, start: int, stop: int) -> Self:
        return self._derived(str.__getitem__(self, slice(start, stop)), cut(self._runs, start, stop))

    def _parts(self, parts: Iterable[str], *, gap: int = 0) -> list[Self]:
        """Return consecutive parts that are separated by `gap` characters each."""
        found = []
        start = 0
        for part in parts:
            found.append(self._derived(part, cut(self._runs, start, start + len(part))))
            start += len(part) + gap
        return found

    def _words(self, words: Iterable[str]) -> list[Self]:
        """Return consecutive parts that are separated by white space."""
        found = []
        start = 0
        for word in words:
            start = str.index(self, word, start)
            found.append(self._derived(word, cut(self._runs, start, start + len(word))))
            start += len(word)
        return found

    def _changed(self, text: str, sizes: Callable[[str], list[int]]) -> Self:
        """Return the changed text; `sizes` gives the new size of each character, and is called only if needed."""
        if len(text) == len(self):
            return self._derived(text, self._runs)
        if len(self._runs) == 1:
            return self._derived(text, uniform(len(text), self._runs[0][1]))
        return self._derived(text, resize(self._runs, sizes(str.__str__(self))))

    def __str__(self) -> str:
        return self

    def __format__(self, spec: str) -> str:
        return self if not spec else computed(str.__format__(self, spec))

    def __iter__(self) -> Iterator[Self]:
        start = 0
        for length, origin in self._runs:
            run = uniform(1, origin)
            for character in str.__getitem__(self, slice(start, start + length)):
                yield self._derived(character, run)
            start += length

    def __getitem__(self, key: SupportsIndex | slice) -> Self:
        if not isinstance(key, slice):
            character = str.__getitem__(self, key)
            index = range(len(self))[key]
            return self._derived(character, cut(self._runs, index, index + 1))
        start, stop, step = key.indices(len(self))
        if step == 1:
            return self._part(start, max(start, stop))
        return self._derived(str.__getitem__(self, key), gather(spread(self._runs)[key]))

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, str) and hasattr(other, "__radd__"):
            return NotImplemented
        text = str.__add__(self, other)
        check_length(len(text))
        return self._derived(text, join((self._runs, runs_of(other))))

    def __radd__(self, other: Any) -> Self:
        if not isinstance(other, str):
            return NotImplemented
        text = str.__add__(other, self)
        check_length(len(text))
        return self._derived(text, join((runs_of(other), self._runs)))

    def __mul__(self, times: SupportsIndex) -> Self:
        if not hasattr(times, "__index__"):
            return NotImplemented
        count = max(times.__index__(), 0)
        check_length(len(self) * count)
        if len(self._runs) == 1:
            return self._derived(str.__mul__(self, count), uniform(len(self) * count, self._origin))
        return self._derived(str.__mul__(self, count), join([self._runs] * count))

    __rmul__ = __mul__

    def __mod__(self, values: Any) -> Traced:
        check_numbers(self, values)
        return _assembled(str.__mod__(self, values), percent_parts(self, values))

    def __rmod__(self, template: Any) -> Any:
        if not isinstance(template, str):
            return NotImplemented
        return computed(str.__mod__(template, self))

    def format(self, *args: Any, **kwargs: Any) -> Traced:
        """Like `str.format`; in a sandbox `TracedEnvironment` replaces it."""
        return fill(self, Formatter(), args, kwargs)

    def format_map(self, mapping: Mapping[str, Any]) -> Traced:  # type: ignore[override]
        """Like `str.format_map`."""
        return fill(self, Formatter(), (), mapping)

    def join(self, parts: Iterable[str]) -> Self:
        """Like `str.join`."""
        items = list(parts)
        if all(isinstance(item, str) for item in items):
            check_length(sum(map(len, items)) + len(self) * max(len(items) - 1, 0))
        text = str.join(self, items)
        runs = [runs_of(item) for item in items]
        if self._runs and len(runs) > 1:
            separated = [self._runs] * (2 * len(runs) - 1)
            separated[::2] = runs
            runs = separated
        return self._derived(text, join(runs))

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> Self:
        """Like `str.replace`; the replacement has the origin of `new`."""
        most = count.__index__()
        found = str.count(self, old)
        times = found if most < 0 else min(found, most)
        check_length(len(self) + times * (len(new) - len(old)))
        text = str.replace(self, old, new, most)
        if not times or old == new == "":
            return self._derived(text, self._runs)
        parts, start = [], 0
        for number in range(times):
            at = str.index(self, old, start) if old else number
            parts += [cut(self._runs, start, at), runs_of(new)]
            start = at + len(old)
        return self._derived(text, join([*parts, cut(self._runs, start, len(self))]))

    def strip(self, chars: str | None = None, /) -> Self:
        """Like `str.strip`."""
        start = len(self) - len(str.lstrip(self, chars))
        return self._part(start, max(start, len(str.rstrip(self, chars))))

    def lstrip(self, chars: str | None = None, /) -> Self:
        """Like `str.lstrip`."""
        return self._part(len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self, chars: str | None = None, /) -> Self:
        """Like `str.rstrip`."""
        return self._part(0, len(str.rstrip(self, chars)))

    def removeprefix(self, prefix: str, /) -> Self:
        """Like `str.removeprefix`."""
        return self._part(len(self) - len(str.removeprefix(self, prefix)), len(self))

    def removesuffix(self, suffix: str, /) -> Self:
        """Like `str.removesuffix`."""
        return self._part(0, len(str.removesuffix(self, suffix)))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[Self]:  # type: ignore[override]
        """Like `str.split`."""
        parts = str.split(self, sep, maxsplit)
        return self._words(parts) if sep is None else self._parts(parts, gap=len(sep))

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[Self]:  # type: ignore[override]
        """Like `str.rsplit`."""
        parts = str.rsplit(self, sep, maxsplit)
        return self._words(parts) if sep is None else self._parts(parts, gap=len(sep))

    def splitlines(self, keepends: bool = False) -> list[Self]:  # type: ignore[override]  # noqa: FBT001, FBT002
        """Like `str.splitlines`."""
        lines = self._parts(str.splitlines(self, keepends=True))
        if keepends:
            return lines
        return [line._part(0, len(text)) for line, text in zip(lines, str.splitlines(self), strict=True)]

    def partition(self, sep: str, /) -> tuple[Self, Self, Self]:
        """Like `str.partition`."""
        first, middle, last = self._parts(str.partition(self, sep))
        return first, middle, last

    def rpartition(self, sep: str, /) -> tuple[Self, Self, Self]:
        """Like `str.rpartition`."""
        first, middle, last = self._parts(str.rpartition(self, sep))
        return first, middle, last

    def _changed_by_character(self, method: Callable[[str], str]) -> Self:
        return self._changed(method(self), partial(string_methods.sizes_of, method=method))

    def upper(self) -> Self:
        """Like `str.upper`."""
        return self._changed_by_character(str.upper)

    def lower(self) -> Self:
        """Like `str.lower`."""
        return self._changed_by_character(str.lower)

    def casefold(self) -> Self:
        """Like `str.casefold`."""
        return self._changed_by_character(str.casefold)

    def swapcase(self) -> Self:
        """Like `str.swapcase`."""
        return self._changed_by_character(str.swapcase)

    def title(self) -> Self:
        """Like `str.title`."""
        return self._changed(str.title(self), string_methods.title_sizes)

    def capitalize(self) -> Self:
        """Like `str.capitalize`."""
        return self._changed(str.capitalize(self), string_methods.capitalize_sizes)

    def expandtabs(self, tabsize: SupportsIndex = 8) -> Self:
        """Like `str.expandtabs`; the spaces have the origin of the tab."""
        width = tabsize.__index__()
        check_length(len(self) + str.count(self, "\t") * width)
        sizes = string_methods.tab_sizes(str.__str__(self), width)
        return self._derived(str.expandtabs(self, width), resize(self._runs, sizes))

    def translate(self, table: Any, /) -> Self:
        """Like `str.translate`; a changed character is `COMPUTED`."""
        runs = []
        size = 0
        for character in self:
            changed = str.translate(character, table)
            size += len(changed)
            check_length(size)
            runs.append(character._runs if changed == character else uniform(len(changed), COMPUTED))
        return self._derived(str.translate(self, table), join(runs))

    def ljust(self, width: SupportsIndex, fillchar: str = " ", /) -> Self:
        """Like `str.ljust`."""
        return self._padded(str.ljust, width.__index__(), fillchar, left=0)

    def rjust(self, width: SupportsIndex, fillchar: str = " ", /) -> Self:
        """Like `str.rjust`."""
        return self._padded(str.rjust, width.__index__(), fillchar, left=width.__index__() - len(self))

    def center(self, width: SupportsIndex, fillchar: str = " ", /) -> Self:
        """Like `str.center`."""
        total = width.__index__()
        missing = total - len(self)
        return self._padded(str.center, total, fillchar, left=missing // 2 + (missing & total & 1))

    def _padded(self, method: Callable[[str, int, str], str], width: int, fill: str, *, left: int) -> Self:
        check_length(width)
        text = method(self, width, fill)
        if len(text) == len(self):
            return self
        origin = fill._origin if isinstance(fill, Traced) else COMPUTED
        right = len(text) - len(self) - left
        return self._derived(text, join((uniform(left, origin), self._runs, uniform(right, origin))))

    def zfill(self, width: SupportsIndex, /) -> Self:
        """Like `str.zfill`."""
        check_length(width.__index__())
        text = str.zfill(self, width)
        sign = 1 if self[:1] in {"+", "-"} else 0
        zeros = uniform(len(text) - len(self), COMPUTED)
        return self._derived(text, join((cut(self._runs, 0, sign), zeros, cut(self._runs, sign, len(self)))))


def runs_of(text: str) -> Runs:
    """Return the runs of a string; an ordinary string is `COMPUTED`.

    >>> runs_of("4")
    ((1, Origin(message=None, field='computed')),)
    """
    return text._runs if isinstance(text, Traced) else uniform(len(text), COMPUTED)


def computed(text: str) -> Traced:
    """Return a string whose origin is `COMPUTED`."""
    return Traced(text, COMPUTED)


def own(text: str) -> Traced:
    """Return a string of the template's own text."""
    return Traced(text, TEMPLATE)


def concat(parts: Iterable[str]) -> Traced:
    """Concatenate strings.

    >>> concat([own("n = "), "4"]).runs_of_origins()[1]
    (1, Origin(message=None, field='computed'))
    """
    items = list(parts)
    check_length(sum(map(len, items)))
    return Traced("".join(items), join([runs_of(item) for item in items]))


def fill(template: Traced, formatter: Formatter, args: Sequence[Any], values: Mapping[str, Any]) -> Traced:
    """Return `template.format(*args, **values)` by a formatter's rules.

    >>> fill(own("<{}>"), Formatter(), ["x"], {}).runs_of_origins()[1]
    (1, Origin(message=None, field='computed'))
    """
    return _assembled(formatter.vformat(template, args, values), formatter.parts(template, args, values))


def _assembled(text: str, parts: Iterable[str]) -> Traced:
    """Return a text with the origins of its parts if they add up to it, else as `COMPUTED`."""
    try:
        traced = concat(parts)
    except (IndexError, KeyError, TypeError, ValueError):
        return computed(text)
    return traced if traced == text else computed(text)
