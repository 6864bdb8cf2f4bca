"""Commands that are imported when they are used: `tokbench --help` imports none, `tokbench train` one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import typer
import typer.main

from tokbench.cli.command import Command
from tokbench.cli.error_messages import errors_as_messages
from tokbench.cli.plain_values import PlainGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Entry:
    """A command.

    Attributes:
        module: the module that is imported for it.
        function: the name of its function there.
        summary: what the list of commands says of it.
        examples: command lines, without `tokbench`.
    """

    module: str
    function: str
    summary: str
    examples: Sequence[str]


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """A command that has commands of its own.

    Attributes:
        summary: what the list of commands says of it.
        help: what its help begins with.
        examples: command lines, without `tokbench`.
        entries: its commands by name.
    """

    summary: str
    help: str
    examples: Sequence[str]
    entries: Mapping[str, Entry]


def lazy_group(entries: Mapping[str, Entry | EntryGroup]) -> type[PlainGroup]:
    """The class of a group that has these commands, for `typer.Typer(cls=…)`."""
    return type("LazyGroup", (_LazyGroup,), {"entries": entries})


class _LazyGroup(PlainGroup):
    entries: ClassVar[Mapping[str, Entry | EntryGroup]] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands(self.entries)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Their names; what it overrides would import each."""
        return list(self.entries)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Their names with their summaries, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])


class _Commands(Mapping[str, Any]):
    """Name → command, which is made when it is asked for."""

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
        function = getattr(import_module(entry.module), entry.function)
    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    made.command(name, cls=Command, epilog=_examples(entry))(_guarded(function))
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
    """The function, whose errors become messages inside typer, which would show them in ways of its own."""

    @wraps(function)
    def guarded(*args: Any, **options: Any) -> None:
        with errors_as_messages():
            function(*args, **options)
            sys.stdout.flush()

    return guarded
