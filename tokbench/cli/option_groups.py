"""Options that commands share in groups: a command takes a dataclass, and its user sees the fields as options."""

from __future__ import annotations

import dataclasses
import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def taking_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are dataclasses are taken apart into their fields, in their places.

    Args:
        command: all that it takes are keywords, but for what typer gives by itself.

    Returns:
        What typer is to be given: it puts the dataclasses together and calls the command.

    >>> @dataclasses.dataclass
    ... class Size:
    ...     width: int = 80
    ...     height: int = 24
    >>> def show(*, name: str, size: Size) -> None:
    ...     print(name, size.width)
    >>> inspect.signature(taking_groups(show))
    <Signature (*, name: str, width: int = 80, height: int = 24)>
    >>> taking_groups(show)(name="a", width=3, height=4)
    a 3
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}

    @wraps(command)
    def taken(**options: Any) -> None:
        made = {
            name: group(**{field.name: options.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        command(**options, **made)

    def parameters() -> Iterator[inspect.Parameter]:
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name in groups:
                yield from _fields_of(groups[parameter.name])
            else:
                yield parameter.replace(annotation=hints[parameter.name])

    flat = list(parameters())
    taken.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    taken.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return taken


def _fields_of(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
        )
