"""Modules that a command runs through: `python tests/benchmarks/modules_passed.py viz "some text" -t default`

A module of tokbench counts if one of its functions is called while the command runs, on any thread of this process.
Code that runs only because of an import (the bodies of modules and classes, decorators) does not count, nor do methods
that `dataclass` generates. The number is printed to stderr after the command's output, with the modules and their
calls.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tokbench
from tokbench.cli.app import main as run

if TYPE_CHECKING:
    from types import CodeType, FrameType

PACKAGE = Path(tokbench.__file__).parent
IS_FUNCTION = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS


class Passed(threading.local):
    """The nesting depth of the imports on this thread."""

    depth = 0


def is_import(code: CodeType) -> bool:
    return code.co_name == "<module>" or code.co_filename.startswith("<frozen importlib")


def modules_passed(arguments: list[str]) -> Counter[str]:
    """Return the modules that a command runs through, with the numbers of calls of their functions."""
    calls: Counter[str] = Counter()
    importing = Passed()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if is_import(code):
            importing.depth += (event == "call") - (event == "return")
        elif event == "call" and not importing.depth and code.co_flags & IS_FUNCTION == IS_FUNCTION:
            path = Path(code.co_filename)
            if path.is_relative_to(PACKAGE):
                calls[path.relative_to(PACKAGE).as_posix()] += 1

    sys.argv = ["tokbench", *arguments]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def main() -> None:
    calls = modules_passed(sys.argv[1:])
    for module, number in sorted(calls.items()):
        print(f"{number:9,}  {module}", file=sys.stderr)
    print(f"{len(calls)} modules", file=sys.stderr)


if __name__ == "__main__":
    main()
