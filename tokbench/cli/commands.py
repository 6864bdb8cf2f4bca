"""Commands for typer: a table of lazily imported commands, their help, and the conversion of their values.

`tokbench --help` imports no command, `tokbench train` one.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, get_origin

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from tokbench.cli.error_messages import errors_as_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_USAGE_ERROR: Any = typer.BadParameter.__base__
"""Wrong usage, for which typer has no public name."""
_BOUNDS = re.compile(r"  \[([\d.]+<=?)?x[<>]=?[\d.]+\]$|; ([\d.]+<=?)?x[<>]=?[\d.]+(?=\]$)")
"""The bounds of a number in its help, as `[x>=1]` or `[1<=x<=9]`: a value outside them gets a message that says them
in words."""
_NUMBERS = {int: re.compile(r"-?[0-9]{1,18}"), float: re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")}
"""What is a number without a doubt."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A command.

    Attributes:
        function: the function that runs it, as `module:name`.
        summary: its line in the list of commands.
        examples: command lines, without `tokbench`.
        elsewhere: options that it does not have → the command to use instead, which the error names.
    """

    function: str
    summary: str
    examples: Sequence[str]
    elsewhere: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """A command with subcommands.

    Attributes:
        summary: its line in the list of commands.
        help: the start of its help.
        examples: command lines, without `tokbench`.
        entries: its commands by name.
    """

    summary: str
    help: str
    examples: Sequence[str]
    entries: Mapping[str, Entry]


class PlainCommand(TyperCommand):
    """A command that skips typer's conversion of values that need none."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, including the help option."""
        return _sparing(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands that skips typer's conversion of values that need none."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, including the help option."""
        return _sparing(super().get_params(ctx))


class PlainFirst:
    """Replaces typer's conversion of a parameter, and skips it if there is nothing to convert.

    Newer versions of typer convert every value of a command by pydantic, those that are not given too. Importing it
    takes longer than opening a tokenizer and encoding a short text, so a value that is already what its parameter is
    annotated with goes around it. Versions without `get_runtime_param` convert by themselves and are left alone.

    Args:
        converting: makes the conversion of typer, which loads pydantic.
    """

    def __init__(self, converting: Callable[[], Any]) -> None:
        self._converting = converting

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the arguments that the command is called with."""
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        annotation = param.type_descriptor.annotation
        writes = annotation is Path or param.name == "out"
        if writes and isinstance(value, str) and value.startswith("~/"):
            value = os.path.expanduser(value)  # noqa: PTH111 -- shells leave it in --out=~/x
        if annotation == list[str] and isinstance(value, list | tuple) and {*map(type, value)} <= {str}:
            return list(value)
        try:
            if not is_list:
                plain = _as_written(value, annotation, param.type_descriptor.parameter_info)
                if _is_already(plain, annotation) and _is_within(plain, param.type_descriptor):
                    return plain
            return self._converting().coerce(value, param=param, ctx=ctx)
        except typer.BadParameter as error:
            known = param.type_descriptor.parameter_info
            if is_list and isinstance(value, list | tuple):
                annotation = get_args(annotation)[0]
                value = next((one for one in value if not _is_taken(one, annotation, known)), None)
            if known.parser is None and isinstance(value, str):
                error.message = _what_is_wrong(value, annotation, known) or error.message
            raise


def _as_written(value: Any, annotation: Any, known: Any) -> Any:
    """Convert a text that needs no validation: digits, a choice, an unconditional path; otherwise return the text."""
    if not isinstance(value, str):
        return value
    found: Any = value
    if known.parser is not None:
        found = known.parser(value)
    elif annotation in _NUMBERS and _NUMBERS[annotation].fullmatch(value):
        found = annotation(value)
    elif annotation is Path and _is_plain_path(value, known):
        found = Path(value)
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        found = next((choice for choice in annotation if choice.value == value), value)
    return found


def _is_plain_path(path: str, known: Any) -> bool:
    """Whether any path is accepted, whatever exists there."""
    if (
        known.exists
        or known.resolve_path
        or known.allow_dash
        or known.path_type is not None
        or known.writable
    ):
        return False
    return known.file_okay and known.dir_okay and (not Path(path).exists() or os.access(path, os.R_OK))


def _is_taken(text: Any, annotation: Any, known: Any) -> bool:
    """Whether a value of a list is accepted, as far as its type is known here."""
    if annotation is not int:
        return text in (_choices(annotation) or [text])
    try:
        return _is_between(int(text), known)
    except ValueError:
        return False


def _is_within(value: Any, described: Any) -> bool:
    """Whether a value is within its bounds, as valid defaults are."""
    return not described.is_ranged or _is_between(value, described.parameter_info)


def _is_between(value: Any, known: Any) -> bool:
    return (known.min is None or value >= known.min) and (known.max is None or value <= known.max)


def _what_is_wrong(value: str, annotation: Any, known: Any) -> str | None:
    """Return our own error message for an invalid value, or None for other types."""
    if choices := _choices(annotation):
        from tokbench.core.wording import meant  # here, as only mistakes need it

        nearest = meant(value, choices, otherwise="")
        return f"{value!r} is not one of {', '.join(choices)}" + (f"; {nearest}" if nearest else "")
    if annotation not in (int, float):
        return None
    bounds = [
        f"{word} {bound:g}" for word, bound in (("from", known.min), ("to", known.max)) if bound is not None
    ]
    return " ".join([f"{value!r} is not a", *(["whole"] if annotation is int else []), "number", *bounds])


def _choices(annotation: Any) -> list[str]:
    """Return the choices of an Enum or a Literal; empty for any other type."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(choice.value) for choice in annotation]
    return [str(choice) for choice in get_args(annotation)] if get_origin(annotation) is Literal else []


def _is_already(value: object, annotation: Any) -> bool:
    if get_origin(annotation) is Literal:
        return value in get_args(annotation)
    if annotation in (str, int, float, bool):
        return type(value) is annotation
    if annotation is Path:
        return isinstance(value, Path)
    return isinstance(annotation, type) and issubclass(annotation, Enum) and isinstance(value, annotation)


def _sparing(params: list[Any]) -> list[Any]:
    for param in params:
        own = getattr(param, "get_runtime_param", None)
        if own is not None and not isinstance(own, partial):
            param.get_runtime_param = partial(PlainFirst, own)
    return params


class Command(PlainCommand):
    """A command that refuses repeated options that take one value; typer would silently use the last one.

    Attributes:
        elsewhere: as in `Entry`.
    """

    elsewhere: ClassVar[Mapping[str, str]] = {}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options without the Python types and bounds that typer would add.

        Options with a panel of their own (`rich_help_panel`) follow the others, below its name.
        """
        arguments: list[tuple[str, str]] = []
        panels: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            if parameter.param_type_name == "argument":
                several = "…" if parameter.nargs == -1 else ""
                arguments.append((name.partition(" <")[0].removesuffix("...") + several, text))
            else:
                panel = getattr(parameter, "rich_help_panel", None) or "Options"
                panels.setdefault(panel, []).append((name, _BOUNDS.sub("", text)))
        for title, rows in (("Arguments", arguments), *panels.items()):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def make_parser(self, ctx: Any) -> Any:
        """Return a parser that detects repeated options."""
        parser = super().make_parser(ctx)
        parse: Callable[..., tuple[Any, Any, list[Any]]] = parser.parse_args

        def parse_once(args: list[str]) -> tuple[Any, Any, list[Any]]:
            try:
                options, rest, order = parse(args)
            except _USAGE_ERROR as error:
                _name_command(error, self.elsewhere)
                raise
            if not ctx.resilient_parsing:
                _refuse_repeated(ctx, order)
            return options, rest, order

        parser.parse_args = parse_once  # type: ignore[method-assign]
        return parser


def _name_command(error: Any, elsewhere: Mapping[str, str]) -> None:
    """Name the command to use in the error for an unknown option, instead of similar options."""
    option = getattr(error, "option_name", "")
    if option in elsewhere:
        error.message = f"No such option: {option}. Did you mean 'tokbench {elsewhere[option]}'?"
        error.possibilities = None


def _refuse_repeated(context: Any, order: list[Any]) -> None:
    """Raise a usage error for the first repeated option; flags without an opposite may be repeated."""
    times = Counter(id(parameter) for parameter in order)
    for parameter in order:
        if times[id(parameter)] > 1 and parameter.param_type_name == "option" and _takes_one(parameter):
            raise typer.BadParameter(
                "it takes one value, but is given more than once",
                ctx=context,
                param_hint=[*parameter.opts, *parameter.secondary_opts],
            )


def _takes_one(option: Any) -> bool:
    return not (option.multiple or (option.is_flag and not option.secondary_opts))


def lazy_group(entries: Mapping[str, Entry | EntryGroup]) -> type[PlainGroup]:
    """Return a group class with these commands, for `typer.Typer(cls=…)`."""
    return type("LazyGroup", (_LazyGroup,), {"entries": entries})


class _LazyGroup(PlainGroup):
    entries: ClassVar[Mapping[str, Entry | EntryGroup]] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands(self.entries)  # type: ignore[assignment]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of a name; the error for a subcommand without its group (`verify`) names both."""
        try:
            return super().resolve_command(ctx, args)
        except _USAGE_ERROR as error:
            groups = [
                name
                for name, entry in self.entries.items()
                if isinstance(entry, EntryGroup) and args and args[0] in entry.entries
            ]
            if groups:
                error.message = f"No such command {args[0]!r}. Did you mean '{groups[0]} {args[0]}'?"
            raise

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of the commands without importing them."""
        return list(self.entries)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write names and summaries from the table, without importing commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])


class _Commands(Mapping[str, Any]):
    """A mapping from names to commands, which are created on access."""

    def __init__(self, entries: Mapping[str, Entry | EntryGroup]) -> None:
        self._entries = entries
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            entry = self._entries[name]
            self._made[name] = _command(name, entry) if isinstance(entry, Entry) else _group(name, entry)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _command(name: str, entry: Entry) -> Any:
    with errors_as_messages():  # it may be interrupted while it is imported
        module, _, name_there = entry.function.partition(":")
        function = getattr(import_module(module), name_there)
    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    made.command(
        name, cls=type("Command", (Command,), {"elsewhere": entry.elsewhere}), epilog=_examples(entry)
    )(_guarded(function))
    return typer.main.get_command(made)


def _group(name: str, entry: EntryGroup) -> Any:
    made = typer.Typer(
        name=name,
        cls=lazy_group(entry.entries),
        help=entry.help,
        epilog=_examples(entry),
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    return typer.main.get_group(made)


def _examples(entry: Entry | EntryGroup) -> str:
    lines = "\n".join(f"  tokbench {example}" for example in entry.examples)
    return f"\b\nExamples:\n{lines}"


def _guarded(function: Callable[..., None]) -> Callable[..., None]:
    """Wrap a function so that its errors become messages before typer handles them in its own way."""

    @wraps(function)
    def guarded(*args: Any, **options: Any) -> None:
        with errors_as_messages():
            from tokbench.cli.written_files import refuse_lost_files, refuse_unwritable_files

            refuse_lost_files(options)
            refuse_unwritable_files(options)
            function(*args, **options)
            sys.stdout.flush()

    return guarded
