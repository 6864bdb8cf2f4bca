"""`--help` of every command: it lists each argument and each option, and shows how to use the command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from support.commands import COMMANDS
from typer.testing import CliRunner

from tokbench.cli.app import app

if TYPE_CHECKING:
    from click import Command


def help_of(*arguments: str) -> str:
    shown = CliRunner().invoke(app, [*arguments, "--help"], terminal_width=100)
    assert shown.exit_code == 0
    return shown.stdout


def test_help_lists_every_command_with_a_summary() -> None:
    lines = help_of().splitlines()
    for name in [name for name in COMMANDS if " " not in name]:
        [line] = [line for line in lines if line.split()[:1] == [name]]
        assert len(line.split()) > 2, line
        assert not line.endswith("..."), line


@pytest.mark.parametrize(("name", "command"), COMMANDS.items(), ids=COMMANDS)
def test_help_explains_every_option(name: str, command: Command) -> None:
    text = help_of(*name.split())
    for parameter in command.params:
        if parameter.param_type_name == "option":
            for flag in (*parameter.opts, *parameter.secondary_opts):
                assert flag in text
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} is not explained"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_no_python_types_or_bounds(name: str) -> None:
    text = help_of(*name.split())
    assert "x>=" not in text
    assert not re.search("<(int|float|path|text|str)>", text)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example(name: str) -> None:
    _, _, examples = help_of(*name.split()).partition("Examples:")
    assert f"tokbench {name}" in examples
