"""The time until a command prints something, compared to a bare script that uses typer and rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.commands import COMMANDS
from support.processor_time import TOKBENCH, least_seconds, seconds

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.quiet]

OPEN_DEFAULT = "from tokbench.opening.saved import default_tokenizer; default_tokenizer()"
BARE_SCRIPT = """if True:
    import rich.console
    import typer

    app = typer.Typer(rich_markup_mode=None)

    @app.callback()
    def root(*, version: bool = False) -> None:
        "Greet."

    @app.command()
    def hello(name: str, *, loud: bool = False) -> None:
        "Say hello."

    app()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one folder for all timed programs, because bytecode is compiled into it the first time."""
    return tmp_path_factory.mktemp("timed")


def test_help_takes_less_than_twice_the_time_of_a_bare_script(folder: Path) -> None:
    def bare() -> float:
        return seconds(BARE_SCRIPT, "hello", "--help", cwd=folder)

    for command in list(COMMANDS)[::4]:  # `test_imports` checks the imports of all commands

        def helped(command: str = command) -> float:
            return seconds(TOKBENCH, *command.split(), "--help", cwd=folder)

        theirs, ours = least_seconds(bare, helped, enough=lambda theirs, ours: ours < 2 * theirs, fewest=1)
        assert ours < 2 * theirs, f"tokbench {command} --help: {ours:.3f} s, a bare script: {theirs:.3f} s"


def test_first_help_takes_little_more_than_a_bare_script(folder: Path) -> None:
    theirs, ours = least_seconds(
        lambda: seconds(BARE_SCRIPT, "--help", cwd=folder),
        lambda: seconds(TOKBENCH, "--help", cwd=folder),
        enough=lambda theirs, ours: ours < 1.6 * theirs,
    )
    assert ours < 1.6 * theirs


def test_short_count_takes_little_more_than_startup_and_opening(folder: Path) -> None:
    (folder / "short.txt").write_text("The quick brown fox.\n", encoding="utf-8")
    seconds(TOKBENCH, "count", "short.txt", cwd=folder)  # trains the default tokenizer if necessary

    def little(bare: float, nothing: float, opened: float, counted: float) -> bool:
        return counted - (opened - nothing) < 1.6 * bare

    assert little(
        *least_seconds(
            lambda: seconds(BARE_SCRIPT, "hello", "you", cwd=folder),
            lambda: seconds("pass", cwd=folder),
            lambda: seconds(OPEN_DEFAULT, cwd=folder),
            lambda: seconds(TOKBENCH, "count", "short.txt", cwd=folder),
            enough=little,
        )
    )
