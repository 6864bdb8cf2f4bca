"""Tests that every file and folder that ARCHITECTURE.md names exists, and that it names every package."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\n(\S+/)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(?<![\w./:-])((?:[\w-]+/)*[\w-]+\.(?:py|hpp|cpp)|(?:[\w-]+/)+)(?![\w/'])")
PACKAGES = sorted(path.parent.name for path in (ROOT / "tokbench").glob("*/__init__.py"))


def names() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each name in ARCHITECTURE.md with the folders that it may be in.

    A block begins with its folder. Each line of a block begins with a name in that folder; the other names on
    the line are in the same folder or in the folder that the line describes.
    """
    folders = ["", "tokbench/"]
    for folder, lines in BLOCK.findall(TEXT):
        folders.append(folder)
        subject = ""
        for line in lines.splitlines():
            first = line.split()[0]
            if not line.startswith(" "):
                subject = first
                yield first, (folder,)
            yield from (
                (name, (folder, f"{folder}{subject}")) for name in NAME.findall(line) if name != first
            )
    for span in re.findall(r"`([^`\n]+)`", BLOCK.sub("", TEXT)):
        yield from ((name, tuple(folders)) for name in NAME.findall(span))


def test_every_path_in_architecture_md_exists() -> None:
    paths = list(names())
    assert len(paths) > 150
    missing = {
        name for name, folders in paths if not any((ROOT / folder / name).exists() for folder in folders)
    }
    assert missing == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_a_line_in_the_map(package: str) -> None:
    assert re.search(rf"^{package}/ ", TEXT, re.MULTILINE)


def test_package_order_equals_that_of_the_layers() -> None:
    [order] = re.findall(r"^errors →.*?cli$", TEXT, re.MULTILINE | re.DOTALL)
    layers = (Path(__file__).parent / "test_layers.py").read_text(encoding="utf-8")
    [parts] = re.findall(r"^ORDER = \[(.*?)\]", layers, re.MULTILINE | re.DOTALL)
    assert re.split(r"\s*→\s*", order) == re.findall(r'"(\w+)"', parts)


def test_marks_are_in_the_files_where_ci_looks_for_slow_tests() -> None:
    """`.ci/run` collects the files with these marks, and the folders whose conftest.py has them."""
    marks = re.compile(r"mark\.(slow|real)\b")
    files = {path.name for path in (ROOT / "tests").rglob("*.py") if marks.search(path.read_text("utf-8"))}
    assert len(files) > 50
    assert {name for name in files if not name.startswith("test_")} == {"conftest.py"}
