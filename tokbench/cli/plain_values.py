"""Commands whose arguments are not converted where there is nothing to convert.

Newer versions of typer convert every value of a command by pydantic, those that are not given too. Importing it
takes longer than opening a tokenizer and encoding a short text, so a value that is already what its parameter is
annotated with goes around it. Versions without `get_runtime_param` convert by themselves and are left alone.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Callable


class PlainCommand(TyperCommand):
    """A command that converts what needs it."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, the option of help included."""
        return _sparing(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands that converts what needs it."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, the option of help included."""
        return _sparing(super().get_params(ctx))


class PlainFirst:
    """Stands where typer's own conversion of a parameter does.

    Args:
        converting: makes the conversion of typer, which loads pydantic.
    """

    def __init__(self, converting: Callable[[], Any]) -> None:
        self._converting = converting

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """What the command is called with."""
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        annotation = param.type_descriptor.annotation
        if annotation == list[str] and isinstance(value, list | tuple) and {*map(type, value)} <= {str}:
            return list(value)
        if not is_list and _is_already(value, annotation) and _is_within(value, param.type_descriptor):
            return value
        try:
            return self._converting().coerce(value, param=param, ctx=ctx)
        except typer.BadParameter as error:
            known = param.type_descriptor.parameter_info
            if annotation == list[int]:
                annotation, value = int, next((one for one in value if not _is_whole(one)), None)
            if known.parser is None and isinstance(value, str):
                error.message = _what_is_wrong(value, annotation, known) or error.message
            raise


def _is_whole(text: Any) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def _is_within(value: Any, described: Any) -> bool:
    """Whether a value needs no look at its bounds, as a default that keeps to them."""
    known = described.parameter_info
    return not described.is_ranged or (
        (known.min is None or value >= known.min) and (known.max is None or value <= known.max)
    )


def _what_is_wrong(value: str, annotation: Any, known: Any) -> str | None:
    """What is wrong with the value of a parameter, in our words; None for a type that has no words here."""
    if choices := _choices(annotation):
        from tokbench.core.near_names import meant  # here, as only mistakes need it

        nearest = meant(value, choices, otherwise="")
        return f"{value!r} is not one of {', '.join(choices)}" + (f"; {nearest}" if nearest else "")
    if annotation not in (int, float):
        return None
    bounds = [
        f"{word} {bound:g}" for word, bound in (("from", known.min), ("to", known.max)) if bound is not None
    ]
    return " ".join([f"{value!r} is not a", *(["whole"] if annotation is int else []), "number", *bounds])


def _choices(annotation: Any) -> list[str]:
    """What may be written for a value of an Enum or a Literal; nothing for any other type."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(choice.value) for choice in annotation]
    return [str(choice) for choice in get_args(annotation)] if get_origin(annotation) is Literal else []


def _is_already(value: object, annotation: Any) -> bool:
    if get_origin(annotation) is Literal:
        return value in get_args(annotation)
    if annotation in (str, int, float, bool):
        return type(value) is annotation
    return isinstance(annotation, type) and issubclass(annotation, Enum) and isinstance(value, annotation)


def _sparing(params: list[Any]) -> list[Any]:
    for param in params:
        own = getattr(param, "get_runtime_param", None)
        if own is not None and not isinstance(own, partial):
            param.get_runtime_param = partial(PlainFirst, own)
    return params
