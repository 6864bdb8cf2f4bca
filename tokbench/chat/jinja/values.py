"""What a template is given: a conversation whose strings know which field they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.chat.jinja.traced import Traced, own
from tokbench.chat.rendered import COMPUTED, ROLES, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEY_IN_PATH = 80
"""Characters of a key that are shown in a path."""

_REASONING = ("reasoning_content", "thinking", "reasoning")
"""The names of a message's reasoning. Templates find it under the first two, whatever it was given as."""


class Values:
    """Traced copies of plain values.

    They are ordinary lists and dictionaries, so that a template cannot tell them from others; the origin of each
    is kept beside it, by its identity, as long as this object holds them.
    """

    def __init__(self) -> None:
        self._containers: dict[int, tuple[Any, Origin]] = {}

    def origin_of(self, container: Any) -> Origin:
        """Of the punctuation of a list or dictionary; `COMPUTED` for one that the template made."""
        found = self._containers.get(id(container))
        return found[1] if found else COMPUTED

    def variables(self, conversation: Mapping[str, Any]) -> dict[str, Any]:
        """All that a conversation gives a template.

        Args:
            conversation: `messages`, `tools`, `documents` and `variables`, plain JSON.

        Returns:
            By the names by which templates know them. Tools and documents are None where there are none.
        """
        return {
            **{
                name: self.traced(value, None, f"variables.{name}")
                for name, value in conversation["variables"].items()
            },
            "messages": [
                self._message(message, index) for index, message in enumerate(conversation["messages"])
            ],
            "tools": self.traced(conversation["tools"] or None, None, "tools"),
            "documents": self.traced(conversation["documents"] or None, None, "documents"),
        }

    def traced(self, value: Any, message: int | None, path: str) -> Any:
        """A copy of a value, with the path of each string in it.

        >>> Values().traced({"city": "Rome"}, 0, "arguments")["city"].runs_of_origins()
        ((4, Origin(message=0, field='arguments.city')),)
        """
        if isinstance(value, str):
            return Traced(value, Origin(message, path))
        if isinstance(value, int | float):
            return traced_number(value, Origin(message, path))
        copy: Any
        if isinstance(value, dict):
            copy = {}
            for key, item in value.items():
                inner = f"{path}.{key[:_KEY_IN_PATH]}" if path else key[:_KEY_IN_PATH]
                copy[Traced(key, Origin(message, inner))] = self.traced(item, message, inner)
        elif isinstance(value, list):
            copy = [self.traced(item, message, f"{path}[{index}]") for index, item in enumerate(value)]
        else:
            return value
        self._containers[id(copy)] = (copy, Origin(message, path or "message"))
        return copy

    def _message(self, message: Mapping[str, Any], index: int) -> dict[str, Any]:
        """A message without what is None; its reasoning under each name that templates ask for."""
        given = {key: value for key, value in message.items() if value is not None}
        traced: dict[str, Any] = self.traced(given, index, "")
        if given.get("role") in ROLES:
            traced["role"] = Traced(given["role"], Origin(index))
        reasoning = next((traced[name] for name in _REASONING if name in traced), None)
        if reasoning is not None:
            aliased = {"thinking": reasoning, **traced, "reasoning_content": reasoning}
            self._containers[id(aliased)] = (aliased, self.origin_of(traced))
            return aliased
        return traced


def template_values(value: Any) -> Any:
    """Values that are the template's own, as the texts of special tokens.

    >>> template_values({"bos_token": "<s>"})["bos_token"].runs_of_origins()
    ((3, Origin(message=None, field=None)),)
    """
    if isinstance(value, str):
        return own(value)
    if isinstance(value, list):
        return [template_values(item) for item in value]
    if isinstance(value, dict):
        return {key: template_values(item) for key, item in value.items()}
    return value


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
