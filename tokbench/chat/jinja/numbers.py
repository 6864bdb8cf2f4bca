"""Numbers of a conversation, which know where they are from when they become text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.chat.jinja.traced import Traced

if TYPE_CHECKING:
    from tokbench.chat.rendered import Origin


class TracedInt(int):
    """An integer with an origin; what is computed of it is an ordinary one.

    >>> from tokbench.chat.rendered import Origin
    >>> number = traced_number(4, Origin(0, "arguments.n"))
    >>> str(number) == "4", type(number + 1)
    (True, <class 'int'>)
    """

    _origin: Origin

    def __str__(self) -> str:
        return Traced(int.__repr__(self), self._origin)

    def __format__(self, spec: str) -> str:
        return int.__format__(self, spec) if spec else str(self)


class TracedFloat(float):
    """A floating-point number with an origin."""

    _origin: Origin

    def __str__(self) -> str:
        return Traced(float.__repr__(self), self._origin)

    def __format__(self, spec: str) -> str:
        return float.__format__(self, spec) if spec else str(self)


def traced_number(value: float, origin: Origin) -> float:
    """A number with an origin; a truth value as it is, as Python has no others."""
    if isinstance(value, bool):
        return value
    traced = TracedInt(value) if isinstance(value, int) else TracedFloat(value)
    traced._origin = origin
    return traced
