"""README.md and docs/: their pages, and the blocks of them that are run.

A page is run from top to bottom in one folder, which initially contains the bundled texts, as a clone does. Of its
blocks

- `console` is a session: each line that begins with `$ ` is run, and its output is compared. A command that
  ends with `# exit code 3` must exit with that code, every other one with 0;
- `sh` is run, and its output is ignored;
- `python` is run, and `python` or `toml` whose first line is a comment with a file name is written to that file;
- anything else is ignored.

Pages that use the tokenizer `mine` say so with a comment, and get it from the README's first session.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
NEEDS_MINE = "<!-- run after the README's session -->"
_KEPT = (
    *("HOME", "PATH", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "VIRTUAL_ENV"),
    *("OPENBLAS_NUM_THREADS", "TOKBENCH_KERNEL"),
)
_FORKING = Path(__file__).with_name("forked_commands.py")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.(?:py|toml))\n")
_EXIT_CODE = re.compile(r"# exit code (\d+)$")
_TIMES = re.compile(r"^(time +).*$", re.MULTILINE)
_SIZES = re.compile(r"\d+\.\d MB")
_TIMED_COMMAND = re.compile(r"^(\$ tokbench bench .*\n)((?:(?!\$ ).*\n)*)", re.MULTILINE)
_TIMED_ROW = re.compile(r"^ (\w+(?: · \w+)?) {2,}[\d.,*]+ ", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, as in ```sh, and its text."""

    language: str
    text: str

    @property
    def file_name(self) -> str | None:
        """The file that the block is written to; None if it is run."""
        comment = _FILE.match(self.text) if self.language in ("python", "toml") else None
        return comment[1] if comment else None


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, except those of "Two commands", which install and test."""
    text = re.sub(r"^## Two commands\n.*?^(?=## )", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [Block(language, text) for language, text in _BLOCK.findall(text)]


def two_commands() -> list[str]:
    """Return the README's two commands, as `.ci/run` reads them."""
    text = README.read_text(encoding="utf-8")
    section = re.findall(r"^## Two commands\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^```sh\n(.*?)\n```$", section[0], re.MULTILINE | re.DOTALL)


class Clone:
    """A folder in which pages are run, with `tokbench` on the path.

    Args:
        folder: an empty folder.
        forked: whether its commands are forked from a process that has imported them, which takes less time.
    """

    def __init__(self, folder: Path, *, forked: bool = False) -> None:
        self.folder = folder
        for name in ("configs", "corpora"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        command = folder / "bin" / "tokbench"
        command.parent.mkdir()
        options = f'-IS "{_FORKING}" call "{_server_of_commands()}"' if forked else "-m tokbench"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {options} "$@"\n', encoding="utf-8")
        command.chmod(0o755)
        self.environment = _environment() | {
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PATH": os.pathsep.join([str(command.parent), os.environ.get("PATH", os.defpath)]),
        }

    def shell(self, script: str, *, code: int = 0) -> str:
        """Run a Bash script, and return its output and error output together."""
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == code, f"exit code {done.returncode}: {script}\n{done.stdout}"
        return done.stdout

    def session(self, text: str) -> str:
        """Run the commands of a session, and return it with their current output."""
        lines = []
        for line in text.splitlines():
            if not line.startswith("$ "):
                continue
            wanted = _EXIT_CODE.search(line)
            printed = self.shell(line.removeprefix("$ "), code=int(wanted[1]) if wanted else 0)
            output = "\n".join(part.rstrip() for part in printed.strip("\n").split("\n"))
            lines += [line, output] if output else [line]
        return "\n".join(lines) + "\n"

    def run(self, block: Block) -> str | None:
        """Run a block; return the current text of a session, and None for any other block."""
        if block.file_name:
            (self.folder / block.file_name).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            return self.session(block.text)
        elif block.language == "sh":
            self.shell(block.text)
        elif block.language == "python":
            command = [sys.executable, "-W", "error", "-c", block.text]
            subprocess.run(command, cwd=self.folder, env=self.environment, check=True)
        return None

    def copy_mine(self) -> None:
        """Copy `mine` here, as trained by the first command of the README's session."""
        shutil.copytree(_trained_mine(), self.folder / "tokenizers")


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {"COLUMNS": "100", "PYTHONUTF8": "1"}


@cache
def _server_of_commands() -> Path:
    """Start the process that commands are forked from, and return its socket; it ends with this process."""
    stack = ExitStack()
    atexit.register(stack.close)
    address = Path(stack.enter_context(TemporaryDirectory())) / "socket"
    command = [sys.executable, "-P", _FORKING, "serve", address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    server = stack.enter_context(subprocess.Popen(command, env=_environment(), **pipes))
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return address


@cache
def _trained_mine() -> Path:
    """Train `mine` once for all pages, and return the folder that contains it."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    clone = Clone(Path(folder.name))
    session = next(block.text for block in blocks(README) if block.language == "console")
    clone.session(session.partition("\n")[0])
    return clone.folder / "tokenizers"


def prepared_for(page: Path, folder: Path) -> Clone:
    """Return a clone in which a page can be run: the README's commands each in a new process, as users run them."""
    clone = Clone(folder, forked=page != README)
    if NEEDS_MINE in page.read_text(encoding="utf-8"):
        clone.copy_mine()
    return clone


def check_page(page: Path, folder: Path) -> None:
    """Run a page, and check that its sessions match the output except for times."""
    clone = prepared_for(page, folder)
    for block in blocks(page):
        printed = clone.run(block)
        if printed is not None:
            assert without_times(printed) == without_times(block.text), page.name


def rewritten(page: Path, folder: Path) -> str:
    """Return a page with its current sessions; lines that differ only in times are kept."""
    clone = prepared_for(page, folder)
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        printed = clone.run(block)
        if printed is not None and without_times(printed) != without_times(block.text):
            text = text.replace(block.text, _with_times_of(block.text, printed))
    return text


def without_times(text: str) -> str:
    """Remove times and sizes from a session; of a benchmark keep only the names of what was timed.

    >>> without_times("time  0.2 s\\n")
    'time  …\\n'
    """
    text = _TIMED_COMMAND.sub(_timed_entrants, text)
    return _SIZES.sub("N MB", _TIMES.sub(r"\1…", text))


def _with_times_of(before: str, now: str) -> str:
    """Return a session with the earlier lines where the lines differ only in times."""
    earlier: dict[str, list[str]] = {}
    for line in reversed(before.splitlines()):
        earlier.setdefault(without_times(line), []).append(line)
    lines = now.splitlines()
    kept = [earlier[same].pop() if earlier.get(same := without_times(line)) else line for line in lines]
    return "\n".join([*kept, ""])


def _timed_entrants(benchmark: re.Match[str]) -> str:
    """Return a benchmark's command and entrants; how its table is wrapped depends on the times, too."""
    return "\n".join([benchmark[1].rstrip(), *dict.fromkeys(_TIMED_ROW.findall(benchmark[2])), ""])
