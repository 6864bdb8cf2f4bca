"""A notice for users who type the input of a command."""

from __future__ import annotations

import os
import sys

STDIN = "-"
"""The argument that stands for standard input."""
_END = "Ctrl-Z and Enter end it" if os.name == "nt" else "Ctrl-D on a new line ends it"


def tell_of_stdin(what: str) -> None:
    """Report on stderr that standard input is read and how to end it, if it is a terminal.

    Args:
        what: what is read, such as "text".
    """
    if sys.stdin is not None and sys.stdin.isatty():
        print(f"reading {what} from stdin; {_END}", file=sys.stderr)
