"""The filter `tojson` as `transformers` defines it, with origins down to single values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.chat.jinja.limits import check_length
from tokbench.chat.jinja.runs import join, uniform
from tokbench.chat.jinja.traced import Traced, computed, concat, runs_of
from tokbench.chat.jinja.values import TracedFloat, TracedInt
from tokbench.chat.rendered import COMPUTED, Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    OriginOf = Callable[[Any], Origin]


class Layout(NamedTuple):
    """The options of `json.dumps` that a template may set."""

    ensure_ascii: bool = False
    indent: int | str | None = None
    separators: tuple[str, str] | None = None
    sort_keys: bool = False


def json_text(value: Any, layout: Layout, origin_of: OriginOf) -> Traced:
    """Serialize a value as `json.dumps` does.

    Args:
        value: strings, numbers, lists and dictionaries.
        layout: the options.
        origin_of: returns the origin of a list or dictionary, for its punctuation, numbers, and keys without an origin.

    Raises:
        TypeError: the value contains anything else.

    >>> json_text([computed("a"), 1], Layout(), lambda container: COMPUTED) == '["a", 1]'
    True
    """
    text = json.dumps(value, **layout._asdict())
    check_length(len(text))
    if isinstance(value, str):
        return _string(value, layout, COMPUTED)
    origin = value._origin if isinstance(value, TracedInt | TracedFloat) else COMPUTED
    written = concat(_Writer(layout, origin_of).parts(value, origin, 0))
    return written if written == text else computed(text)


class _Writer:
    def __init__(self, layout: Layout, origin_of: OriginOf) -> None:
        self._layout = layout
        self._origin_of = origin_of
        indent = layout.indent
        self._indent = " " * indent if isinstance(indent, int) else indent
        between, colon = layout.separators or ("," if indent is not None else ", ", ": ")
        self._between, self._colon = between, colon

    def parts(self, value: Any, origin: Origin, depth: int) -> Iterator[Traced]:
        if isinstance(value, str):
            yield _string(value, self._layout, origin)
        elif isinstance(value, dict):
            yield from self._container("{}", value, list(self._members(value, depth)), depth)
        elif isinstance(value, list | tuple):
            origin = self._origin_of(value)
            members = [list(self.parts(item, origin, depth + 1)) for item in value]
            yield from self._container("[]", value, members, depth)
        else:
            yield Traced(json.dumps(value), origin)

    def _members(self, value: dict[Any, Any], depth: int) -> Iterator[list[Traced]]:
        origin = self._origin_of(value)
        for key, item in sorted(value.items()) if self._layout.sort_keys else value.items():
            name = key if isinstance(key, str) else json.dumps(key)
            inside = runs_of(name)[0][1] if name and origin != COMPUTED else origin
            yield [
                _string(name, self._layout, origin),
                Traced(self._colon, origin),
                *self.parts(item, inside, depth + 1),
            ]

    def _container(
        self, brackets: str, value: Any, members: list[list[Traced]], depth: int
    ) -> Iterator[Traced]:
        origin = self._origin_of(value)
        inner = outer = ""
        if self._indent is not None and members:
            inner = "\n" + self._indent * (depth + 1)
            outer = "\n" + self._indent * depth
        yield Traced(brackets[0] + inner, origin)
        for number, member in enumerate(members):
            if number:
                yield Traced(self._between + inner, origin)
            yield from member
        yield Traced(outer + brackets[1], origin)


def _string(value: str, layout: Layout, origin: Origin) -> Traced:
    """Serialize a string; the quotes get its origin if it has only one."""
    text = json.dumps(value, ensure_ascii=layout.ensure_ascii)
    if not isinstance(value, Traced) or not value:
        return Traced(text, origin)
    runs = value.runs_of_origins()
    if len(runs) == 1:
        return Traced(text, runs[0][1])
    start = 0
    inside = []
    for length, run_origin in runs:
        part = str.__getitem__(value, slice(start, start + length))
        inside.append(uniform(len(json.dumps(part, ensure_ascii=layout.ensure_ascii)) - 2, run_origin))
        start += length
    quote = uniform(1, COMPUTED)
    return Traced(text, join([quote, *inside, quote]))
