"""Names of groups and tokenizers in charts: as values, and as labels that can be told apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

_CUT = "…"
_OF_EVERY_OBJECT = frozenset({
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString",
    "valueOf", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
})  # fmt: skip
"""Names that every JavaScript object has: a chart with one of them as a value, or in an expression, is not drawn."""


def value_of(name: str) -> str:
    """Return the value that stands for a name in the data of a chart.

    >>> value_of("en"), value_of("toString")
    ('en', ' toString')
    """
    return f" {name}" if name in _OF_EVERY_OBJECT else name


def label_expression(names: Sequence[str], *, most: int) -> str:
    """Return the Vega expression that turns the value of each name into its label; see `labels_of`."""
    labels = labels_of(names, most=most)
    values, shown = (
        [value_of(text) for text in texts] for texts in (names, (labels[name] for name in names))
    )
    return f"{json.dumps(shown)}[indexof({json.dumps(values)}, datum.label)]"


def labels_of(names: Sequence[str], *, most: int) -> dict[str, str]:
    """Shorten long names to labels, different ones for different names.

    A long name loses its middle. Names that would then look alike lose what they have in common instead, after a few
    characters of the beginning; names that even then look alike, as they differ too far apart, are numbered.

    Args:
        names: the names.
        most: the most columns of a label; a number is added to that.

    >>> list(labels_of(["data/of/2026/en", "data/of/2026/de"], most=11).values())
    ['data/…26/en', 'data/…26/de']
    >>> list(labels_of(["data/of/2026/en/web", "data/of/2027/en/web"], most=11).values())
    ['da…6/en/web', 'da…7/en/web']
    """
    labels = {name: _without_middle(name, most) for name in names}
    for label in {*labels.values()}:
        alike = [name for name in labels if labels[name] == label and name != label]
        if len(alike) > 1:
            start = _common(alike)
            labels |= {name: _from(name, start, most) for name in alike}
    taken = {name for name in names if labels[name] == name}
    for name in labels:
        if name not in taken:
            labels[name] = _unlike(labels[name], taken)
            taken.add(labels[name])
    return labels


def _common(names: Sequence[str]) -> int:
    """Return the number of characters with which all names begin."""
    return next(
        (n for n, letters in enumerate(zip(*names, strict=False)) if len({*letters}) > 1),
        min(map(len, names)),
    )


def _without_middle(name: str, most: int) -> str:
    if cell_len(name) <= most:
        return name
    after = most // 2
    return f"{_first(name, most - len(_CUT) - after)}{_CUT}{_last(name, after)}"


def _from(name: str, start: int, most: int) -> str:
    """Return the beginning of a name, and what follows a position in it."""
    before = _first(name, most // 4)
    room = most - cell_len(before) - len(_CUT)
    rest = name[start:]
    return f"{before}{_CUT}{rest if cell_len(rest) <= room else _first(rest, room - len(_CUT)) + _CUT}"


def _unlike(label: str, taken: set[str]) -> str:
    number, found = 1, label
    while found in taken:
        number += 1
        found = f"{label} ({number})"
    return found


def _first(text: str, columns: int) -> str:
    return next(iter(chop_cells(text, columns)), "")


def _last(text: str, columns: int) -> str:
    return _first(text[::-1], columns)[::-1]
