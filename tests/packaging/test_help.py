"""`--help` of every command tells everything: each argument, each option, and how the command is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import typer.main
from typer.testing import CliRunner

from tokbench.cli.app import app

if TYPE_CHECKING:
    from click import Command

GROUP = typer.main.get_group(app)


def help_of(*arguments: str) -> str:
    shown = CliRunner().invoke(app, [*arguments, "--help"], terminal_width=100)
    assert shown.exit_code == 0
    return shown.stdout


def test_help_lists_every_command_with_a_summary() -> None:
    lines = help_of().splitlines()
    for name in GROUP.commands:
        [line] = [line for line in lines if line.split()[:1] == [name]]
        assert len(line.split()) > 2, line
        assert not line.endswith("..."), line


@pytest.mark.parametrize(("name", "command"), GROUP.commands.items(), ids=GROUP.commands)
def test_help_tells_what_the_command_takes(name: str, command: Command) -> None:
    text = help_of(name)
    for parameter in command.params:
        if parameter.param_type_name == "option":
            for flag in (*parameter.opts, *parameter.secondary_opts):
                assert flag in text
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} is not explained"


@pytest.mark.parametrize("name", GROUP.commands)
def test_help_shows_an_example(name: str) -> None:
    _, _, examples = help_of(name).partition("Examples:")
    assert f"tokbench {name}" in examples
