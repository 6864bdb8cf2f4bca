"""Cheap imports: every public name exists, and no heavy module is loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.commands import COMMANDS

import tokbench

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {
    "numpy", "orjson", "pyarrow", "regex", "sentencepiece", "tiktoken", "tokenizers", "transformers", "zstandard",
}  # fmt: skip

RUN = """if True:
    import sys
    from tokbench.cli.app import main

    try:
        main()
    except SystemExit as stopped:
        assert not stopped.code
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""

ALL_HELP = """if True:
    import contextlib, io, sys
    from tokbench.cli.app import main

    for command in ["", *sys.argv[1:]]:
        sys.argv = ["tokbench", *command.split(), "--help"]
        printed = io.StringIO()
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(printed):
            main()
        assert f"Usage: tokbench {command}" in printed.getvalue(), command
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""


def loaded_modules(program: str, *arguments: str, cwd: Path) -> set[str]:
    """Return the top-level modules that a program prints to stderr when it ends."""
    return {name.partition(".")[0] for name in all_loaded_modules(program, *arguments, cwd=cwd)}


def all_loaded_modules(program: str, *arguments: str, cwd: Path) -> set[str]:
    """Return all modules that a program prints to stderr when it ends."""
    finished = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=cwd, capture_output=True, text=True, check=True
    )
    return set(finished.stderr.split())


def test_every_public_name_can_be_imported() -> None:
    for name in tokbench.__all__:
        assert getattr(tokbench, name) is not None
    assert set(tokbench.__all__) <= set(dir(tokbench))
    assert len(set(tokbench.__all__)) == len(tokbench.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        tokbench.trian  # noqa: B018


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    program = 'import sys, tokbench; print(*sys.modules, sep="\\n", file=sys.stderr)'
    loaded = loaded_modules(program, cwd=tmp_path)
    assert "tokbench" in loaded
    assert loaded & (HEAVY | {"rich", "typer"}) == set()


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    """Shows the help of all commands one after another, in one process."""
    loaded = loaded_modules(ALL_HELP, *COMMANDS, cwd=tmp_path)
    assert "typer" in loaded
    assert loaded & HEAVY == set()


def test_command_is_imported_when_it_is_used(tmp_path: Path) -> None:
    program = RUN.replace(
        "*sys.modules", '*(name for name in sys.modules if name.startswith("tokbench.cli."))'
    )
    modules = {f"tokbench.cli.{name.split()[0]}" for name in COMMANDS}

    def imported(*arguments: str) -> set[str]:
        command = [sys.executable, "-c", program, *arguments]
        finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return modules & set(finished.stderr.split())

    assert imported("--help") == set()
    assert imported("shards", "--help") == set()
    assert imported("train", "--help") == {"tokbench.cli.train"}
    assert imported("shards", "verify", "--help") == {"tokbench.cli.shards"}


# Modules that counting a short text with the default tokenizer does not need; `orjson` reads its manifest.
UNNEEDED_TO_COUNT = HEAVY - {"orjson"}


def test_counting_a_short_text_loads_no_unneeded_library(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("The quick brown fox.\n", encoding="utf-8")
    loaded_modules(RUN, "count", "short.txt", cwd=tmp_path)  # trains the default tokenizer if necessary
    loaded = loaded_modules(RUN, "count", "short.txt", cwd=tmp_path)
    assert loaded & UNNEEDED_TO_COUNT == set()


def test_encoding_loads_no_explanations(tmp_path: Path) -> None:
    all_loaded_modules(RUN, "encode", "a text", cwd=tmp_path)  # trains the default tokenizer if necessary
    loaded = all_loaded_modules(RUN, "encode", "a text", cwd=tmp_path)
    assert "tokbench.backends.bpe.tokenizer" in loaded
    assert [name for name in loaded if name.startswith("tokbench.explain")] == []
