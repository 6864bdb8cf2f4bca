"""How long it takes until something is printed, against a bare script of typer and rich."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import pytest
import typer.main
from support.processor_time import TOKBENCH, seconds

from tokbench.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.quiet]

COMMANDS = sorted(typer.main.get_group(app).commands)

OPEN_DEFAULT = "from tokbench.defaults import default_tokenizer; default_tokenizer()"
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
    """One for all that is timed, as what a program imports is compiled into it the first time."""
    return tmp_path_factory.mktemp("timed")


def test_help_comes_in_less_than_twice_the_time_of_a_bare_script(folder: Path) -> None:
    seconds(BARE_SCRIPT, "hello", "--help", cwd=folder)
    seconds(TOKBENCH, COMMANDS[0], "--help", cwd=folder)
    bare = statistics.median(seconds(BARE_SCRIPT, "hello", "--help", cwd=folder) for _ in range(3))
    for command in COMMANDS:
        ours = seconds(TOKBENCH, command, "--help", cwd=folder)
        if ours >= 2 * bare:  # once more, as something else may have been in the way
            ours = statistics.median(seconds(TOKBENCH, command, "--help", cwd=folder) for _ in range(3))
        assert ours < 2 * bare, f"tokbench {command} --help: {ours:.3f} s, a bare script: {bare:.3f} s"


def test_the_first_help_and_a_short_count_take_little_more_than_a_bare_script(folder: Path) -> None:
    """At most 1.6 times as long, and for a count what opening the tokenizer takes.

    In turns, so that whatever else the machine does strikes all of them; of the ratios the median.
    """
    (folder / "short.txt").write_text("The quick brown fox.\n", encoding="utf-8")
    seconds(BARE_SCRIPT, "hello", "you", cwd=folder)
    seconds(TOKBENCH, "count", "short.txt", cwd=folder)  # trains the default tokenizer, where it has to
    helped, counted = [], []
    for _ in range(5):
        bare_help = seconds(BARE_SCRIPT, "--help", cwd=folder)
        bare = seconds(BARE_SCRIPT, "hello", "you", cwd=folder)
        helped.append(seconds(TOKBENCH, "--help", cwd=folder) / bare_help)
        loading = seconds(OPEN_DEFAULT, cwd=folder) - seconds("pass", cwd=folder)
        counted.append((seconds(TOKBENCH, "count", "short.txt", cwd=folder) - max(loading, 0.0)) / bare)
    assert statistics.median(helped) < 1.6
    assert statistics.median(counted) < 1.6
