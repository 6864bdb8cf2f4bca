"""The values of a conversation as a template sees them, with strings that know their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.chat.conversation import REASONING
from tokbench.chat.jinja.traced import Traced, own
from tokbench.chat.rendered import COMPUTED, ROLES, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEY_IN_PATH = 80
"""Maximum number of characters of a key in a path."""


class Values:
    """Traced copies of plain values.

    The copies are ordinary lists and dictionaries, so templates cannot tell them from others; their origins are stored
    separately, by object identity, while this object keeps them alive.
    """

    def __init__(self) -> None:
        self._containers: dict[int, tuple[Any, Origin]] = {}

    def origin_of(self, container: Any) -> Origin:
        """Return the origin of a container's punctuation; `COMPUTED` for one that the template created."""
        found = self._containers.get(id(container))
        return found[1] if found else COMPUTED

    def variables(self, conversation: Mapping[str, Any]) -> dict[str, Any]:
        """Return all variables that a conversation provides to a template.

        Args:
            conversation: `messages`, `tools`, `documents` and `variables`, plain JSON.

        Returns:
            The variables by name. Tools and documents are None if there are none.
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
        """Return a traced copy of a value, with the path of each string in it.

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
        """Return a traced message without null fields, and with its reasoning under each name that templates use."""
        given = {key: value for key, value in message.items() if value is not None}
        traced: dict[str, Any] = self.traced(given, index, "")
        if given.get("role") in ROLES:
            traced["role"] = Traced(given["role"], Origin(index))
        reasoning = next((traced[name] for name in REASONING if name in traced), None)
        if reasoning is not None:
            aliased = {"thinking": reasoning, **traced, "reasoning_content": reasoning}
            self._containers[id(aliased)] = (aliased, self.origin_of(traced))
            return aliased
        return traced


def template_values(value: Any) -> Any:
    """Return values as the template's own text, such as the texts of special tokens.

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
    """An integer with an origin; results of arithmetic are ordinary integers.

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
    """Return a number with an origin; a bool stays as it is, as it cannot be subclassed."""
    if isinstance(value, bool):
        return value
    traced = TracedInt(value) if isinstance(value, int) else TracedFloat(value)
    traced._origin = origin
    return traced
