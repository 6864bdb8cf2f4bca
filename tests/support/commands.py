"""The commands of the command line, including those of its groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer.main

from tokbench.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click import Command, Group


def _commands(group: Group, before: tuple[str, ...]) -> Iterator[tuple[str, Command]]:
    for name in group.list_commands(None):  # type: ignore[arg-type]
        command = group.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        path = (*before, name)
        yield " ".join(path), command
        if hasattr(command, "list_commands"):
            yield from _commands(command, path)


COMMANDS: dict[str, Command] = dict(_commands(typer.main.get_group(app), ()))
"""The words after `tokbench` → the command; "shards" is a group, "shards write" one of its commands."""
