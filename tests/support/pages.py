"""README.md and docs/: their pages, and what is run of them.

A page is run from top to bottom in one folder, which begins as a clone does: with the bundled texts. Of its blocks

- `console` is a session: each line that begins with `$ ` is run, and what it prints is compared. A command that
  ends with `# exit code 3` must end with that code, every other one with 0;
- `sh` is run, and what it prints is not looked at;
- `python` is run, and `python` or `toml` whose first line is a comment with a file's name is written as that file;
- anything else is only read.

Pages that use the tokenizer `mine` say so with a comment, and have it from the README's first session.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
NEEDS_MINE = "<!-- run after the README's session -->"
_KEPT = (
    "HOME",
    "OPENBLAS_NUM_THREADS",
    "PATH",
    "PYTHONPATH",
    "PYTHONPYCACHEPREFIX",
    "TOKBENCH_KERNEL",
    "VIRTUAL_ENV",
)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.(?:py|toml))\n")
_EXIT_CODE = re.compile(r"# exit code (\d+)$")
_TIMES = re.compile(r"^(time +).*$", re.MULTILINE)
_SIZES = re.compile(r"\d+\.\d MB")
_TIMED_COMMAND = re.compile(r"^(\$ tokbench bench .*\n)((?:(?!\$ ).*\n)*)", re.MULTILINE)
_TIMED_ROW = re.compile(r"^ (\w+(?: · \w+)?) {2,}[\d.,*]+ ", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, as ```sh says it, and its text."""

    language: str
    text: str

    @property
    def file_name(self) -> str | None:
        """The file that it is to be written to; None for what is run."""
        found = _FILE.match(self.text) if self.language in ("python", "toml") else None
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    """The blocks of a page; without those of "Two commands", which install and test."""
    text = re.sub(r"^## Two commands\n.*?^(?=## )", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [Block(language, text) for language, text in _BLOCK.findall(text)]


def two_commands() -> list[str]:
    """The README's two commands, as `.ci/run` takes them from it."""
    text = README.read_text(encoding="utf-8")
    section = re.findall(r"^## Two commands\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    commands: list[str] = re.findall(r"^```sh\n(.*?)\n```$", section[0], re.MULTILINE | re.DOTALL)
    return commands


class Clone:
    """A folder in which pages are run, with `tokbench` on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("configs", "corpora"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        command = folder / "bin" / "tokbench"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tokbench "$@"\n', encoding="utf-8")
        command.chmod(0o755)
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self.environment = kept | {
            "XDG_CACHE_HOME": str(folder / "cache"),
            "COLUMNS": "100",
            "PYTHONUTF8": "1",
            "PATH": os.pathsep.join([str(command.parent), kept.get("PATH", os.defpath)]),
        }

    def shell(self, script: str, *, code: int = 0) -> str:
        """What a script of bash prints on both its streams."""
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
        """A session with the output of each of its commands written after it."""
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
        """Run a block; the session that it is now, for one that is a session."""
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
        """Put `mine` here, as the first command of the README's session trains it."""
        shutil.copytree(_trained_mine(), self.folder / "tokenizers")


@cache
def _trained_mine() -> Path:
    """A folder with `mine`, which is trained once for all pages."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    clone = Clone(Path(folder.name))
    session = next(block.text for block in blocks(README) if block.language == "console")
    clone.session(session.partition("\n")[0])
    return clone.folder / "tokenizers"


def prepared_for(page: Path, folder: Path) -> Clone:
    """A clone in which a page can be run."""
    clone = Clone(folder)
    if NEEDS_MINE in page.read_text(encoding="utf-8"):
        clone.copy_mine()
    return clone


def check_page(page: Path, folder: Path) -> None:
    """Run a page; its sessions must be what is printed, but for times."""
    clone = prepared_for(page, folder)
    for block in blocks(page):
        printed = clone.run(block)
        if printed is not None:
            assert without_times(printed) == without_times(block.text), page.name


def rewritten(page: Path, folder: Path) -> str:
    """A page with the sessions that it has now; lines that differ in times alone stay."""
    clone = prepared_for(page, folder)
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        printed = clone.run(block)
        if printed is not None and without_times(printed) != without_times(block.text):
            text = text.replace(block.text, _with_times_of(block.text, printed))
    return text


def without_times(text: str) -> str:
    """A session without times, and without sizes of memory and disk; of a benchmark who was timed is left.

    >>> without_times("time  0.2 s\\n")
    'time  …\\n'
    """
    text = _TIMED_COMMAND.sub(_who_was_timed, text)
    return _SIZES.sub("N MB", _TIMES.sub(r"\1…", text))


def _with_times_of(before: str, now: str) -> str:
    """A session with the lines of an earlier one where they differ in times alone."""
    earlier: dict[str, list[str]] = {}
    for line in reversed(before.splitlines()):
        earlier.setdefault(without_times(line), []).append(line)
    lines = now.splitlines()
    kept = [earlier[same].pop() if earlier.get(same := without_times(line)) else line for line in lines]
    return "\n".join([*kept, ""])


def _who_was_timed(found: re.Match[str]) -> str:
    """A benchmark's command and entrants: how its table is wrapped depends on the times, too."""
    return "\n".join([found[1].rstrip(), *dict.fromkeys(_TIMED_ROW.findall(found[2])), ""])
