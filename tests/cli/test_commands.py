"""Arguments that need no conversion bypass typer's conversion, with the same result."""

from __future__ import annotations

import os
import subprocess
import sys
from enum import Enum
from pathlib import Path  # noqa: TC003 -- typer reads it
from typing import TYPE_CHECKING, Annotated, Any

import pytest
import typer
from support.commands import COMMANDS
from typer.core import TyperOption
from typer.testing import CliRunner

from tokbench.cli.app import app
from tokbench.cli.commands import PlainCommand, PlainGroup

if TYPE_CHECKING:
    from collections.abc import Callable


CONVERTS_BY_PYDANTIC = hasattr(TyperOption, "get_runtime_param")


class Colour(Enum):
    """An arbitrary choice."""

    red = "red"
    blue = "blue"


def called(cls: Callable[..., Any] | None, group: Callable[..., Any] | None, arguments: list[str]) -> Any:
    """Return the arguments that a command is called with, or the message that refuses them."""
    app = typer.Typer(cls=group, rich_markup_mode=None) if group else typer.Typer(rich_markup_mode=None)
    given: list[Any] = []

    @app.callback()
    def root(*, loud: bool = False) -> None:
        given.append(loud)

    @app.command(**({"cls": cls} if cls else {}))
    def command(
        text: str,
        more: Annotated[list[str] | None, typer.Argument()] = None,
        *,
        name: str | None = None,
        names: list[str] | None = None,
        size: int = 7,
        some: Annotated[int, typer.Option(min=1)] = 3,
        share: float | None = None,
        colour: Colour = Colour.red,
        path: Path | None = None,
        flag: bool = False,
    ) -> None:
        given.append([text, more, name, names, size, some, share, colour, path, flag])

    result = CliRunner().invoke(app, arguments)
    return given, result.exit_code, result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["command", "a"],
        ["command", "a", "b", "c"],
        ["command", ""],
        ["--loud", "command", "7", "--size", "8", "--flag"],
        ["command", "a", "--names", "x", "--names", "y", "--name", "z"],
        ["command", "a", "--colour", "blue", "--path", "p", "--share", "0.5", "--some", "4"],
        ["command", "a", "--share", "-1", "--size", "-007", "--path", "", "--some", "1"],
        ["command", "a", "--share", "1e3", "--size", "1_000", "--path", "/", "--some", "+4"],
        ["command", "a", "--share", "inf", "--size", str(10**30), "--path", "\t", "--colour", "blue"],
        ["command"],
        ["command", "--help"],
        ["--help"],
        [],
    ],
)
def test_plain_command_parses_arguments_as_typer(arguments: list[str]) -> None:
    assert called(PlainCommand, PlainGroup, arguments) == called(None, None, arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "many"], "'many' is not a whole number"),
        (["--size", "1.5"], "'1.5' is not a whole number"),
        (["--some", "0"], "'0' is not a whole number from 1"),
        (["--share", "half"], "'half' is not a number"),
        (["--colour", "green"], "'green' is not one of red, blue"),
        (["--colour", "bleu"], "'bleu' is not one of red, blue; did you mean 'blue'?"),
    ],
)
@pytest.mark.skipif(not CONVERTS_BY_PYDANTIC, reason="this typer has words of its own")
def test_invalid_value_has_a_message_in_plain_words(arguments: list[str], message: str) -> None:
    given, code, output = called(PlainCommand, PlainGroup, ["command", "a", *arguments])
    assert (given, code) == ([False], 2)
    assert output.endswith(f"Error: Invalid value for {arguments[0]!r}: {message}\n")


@pytest.fixture(scope="module")
def with_default_tokenizer(environment: dict[str, str]) -> dict[str, str]:
    """Return an environment whose cache has the default tokenizer, as training it loads more than plain commands do."""
    arguments = [sys.executable, "-m", "tokbench", "encode", "two words"]
    subprocess.run(arguments, env=environment, capture_output=True, check=True)
    return environment


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode", "two words"],
        ["count", "two words"],
        ["encode", "--help"],
        ["viz", "two words", "--html", "page.html", "--ids"],
        ["count", "two words", "--limit", "7"],
    ],
)
def test_plain_command_loads_neither_pydantic_nor_numpy(
    with_default_tokenizer: dict[str, str], tmp_path: Path, arguments: list[str]
) -> None:
    program = (
        "import sys; from tokbench.cli.app import main\n"
        "try: main()\n"
        "finally: print(*sorted({'pydantic', 'numpy', 'tiktoken'} & set(sys.modules)), file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=tmp_path,
        env=with_default_tokenizer,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr.strip()) == (0, "")


def test_every_command_is_a_plain_command() -> None:
    assert isinstance(typer.main.get_group(app), PlainGroup)
    assert all(isinstance(command, PlainCommand | PlainGroup) for command in COMMANDS.values())


@pytest.mark.parametrize(("before", "then"), [(None, "1"), ("3", "3")])
def test_numpy_uses_one_thread_unless_set_by_the_user(run, monkeypatch, before, then):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", before or "")
    if before is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    run("backends").good()
    assert os.environ["OPENBLAS_NUM_THREADS"] == then
