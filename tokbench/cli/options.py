"""Building blocks for options: number formats, and option groups that commands share."""

from __future__ import annotations

import dataclasses
import inspect
import re
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from tokbench.cli import completion
from tokbench.config import whole_number
from tokbench.core.argument_types import MAX_THREADS
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

ThreadsOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=MAX_THREADS, help="The number of threads, by default all."),
]
PadOption = Annotated[
    int,
    typer.Option(metavar="N", min=1, help="Round the number of embedding rows up to a multiple of N."),
]


def taking_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass by the fields of the dataclass.

    Args:
        command: a command whose parameters are keyword-only, except those that typer supplies.

    Returns:
        The command for typer, which constructs the dataclasses from its options and calls `command`.

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


_SIZE = re.compile(r"([0-9]{1,15})(?:([KMGT])(I?)B?|B)?")
_MAX_DIGITS = 18
"""Of a number of tokens, as `whole_number` reads it."""
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}


def num_tokens(text: str) -> int:
    """Parse a number of tokens, at least 1.

    Raises:
        typer.BadParameter: it is none.

    >>> num_tokens("32k"), num_tokens("1_000")
    (32000, 1000)
    """
    try:
        number = whole_number(str(text))
    except ValueError:
        if len(str(text)) > _MAX_DIGITS and str(text).isdecimal():
            raise typer.BadParameter(
                f"{text!r:.40} is too large a number of tokens: write at most {_MAX_DIGITS} digits"
            ) from None
        number = 0
    if number < 1:
        raise typer.BadParameter(
            f"{text!r:.40} is not a number of tokens: write at least 1, such as 32000, 32_000 or 32k"
        )
    return number


def tokens_option(*names: str, help: str, **options: Any) -> Any:
    """Return an option for a number of tokens, to annotate a parameter."""
    return typer.Option(*names, parser=num_tokens, metavar="N", help=help, **options)


def name_option(complete: Callable[[str], Iterable[str]], *names: str, help: str, **options: Any) -> Any:
    """Return an option for a name with shell completion, to annotate a parameter."""
    return typer.Option(*names, autocompletion=complete, metavar="NAME", help=help, **options)


def tokenizer_argument(metavar: str, *, help: str) -> Any:
    """Return an argument that names a tokenizer, to annotate a parameter."""
    return typer.Argument(autocompletion=completion.tokenizers, metavar=metavar, help=help)


def first_given(options: Mapping[str, object]) -> str | None:
    """Return the first of some options, by their names with their values, that is given."""
    given = (name for name, value in options.items() if value not in (None, []) and value is not False)
    return next(given, None)


def refuse_combined(
    questions: Mapping[str, object], options: Mapping[str, object], *, taken: Mapping[str, Collection[str]]
) -> None:
    """Raise `ConfigError` if several questions are asked, or one with an option that has no meaning beside it.

    Args:
        questions: options that ask for something else than usual, with their values; false if not given.
        options: other options, likewise.
        taken: question → the options that have a meaning beside it.
    """
    asked = [name for name, value in questions.items() if value]
    if len(asked) > 1:
        raise ConfigError(f"{asked[0]} and {asked[1]} cannot be combined", hint="give one of them")
    for name, value in options.items():
        if asked and value and name not in taken.get(asked[0], ()):
            raise ConfigError(
                f"{name} cannot be used with {asked[0]}", hint=f"leave out {name}, or {asked[0]}"
            )


def parse_bytes(text: str, *, option: str) -> int:
    """Parse a number of bytes with an optional unit. Raises `ConfigError`.

    >>> parse_bytes("64MB", option="--max"), parse_bytes("1KiB", option="--max"), parse_bytes("7", option="--max")
    (64000000, 1024, 7)
    """
    match = _SIZE.fullmatch(text.strip().upper())
    if match is None or not int(match[1]):
        raise ConfigError(f"{option} {text!r} is not a size", hint="write it as 64MB, 1GiB or 1000000")
    unit = 1024 if match[3] else 1000
    return int(match[1]) * int(unit ** _POWERS.get(match[2], 0))
