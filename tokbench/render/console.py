"""Where output goes: consoles that print text as it is, and JSON on stdout."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

ColorChoice = Literal["auto", "always", "never"]

_WIDTH_OF_FILES = 160
"""Columns where the output is no terminal and COLUMNS does not say: a table in a file should not fold at 80."""
_MIN_WIDTH = 20
"""Columns below which nothing can be shown; some terminals say that they have none."""


def make_console(*, color: ColorChoice = "auto", stderr: bool = False) -> Console:
    """A console that never reads markup in what it prints.

    Args:
        color: "auto" is colour on a terminal, unless NO_COLOR is set.
        stderr: whether it prints to stderr.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _WIDTH_OF_FILES
    never = color == "never" or (color == "auto" and bool(os.environ.get("NO_COLOR")))
    console = _plain_console(
        file=stream,
        color_system=None if never else ("truecolor" if color == "always" else "auto"),
        force_terminal=True if color == "always" else None,
        no_color=never,
        width=width,
    )
    console.width = max(console.width, _MIN_WIDTH)
    return console


def as_text(render: Callable[[Console], None]) -> str:
    """The output of a console as plain text, 160 columns wide."""
    from io import StringIO

    text = StringIO()
    render(_plain_console(file=text, width=_WIDTH_OF_FILES, color_system=None))
    return text.getvalue()


def _plain_console(**options: Any) -> Console:
    from rich.console import Console
    from rich.text import Text

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:  # rich would end the process in a way of its own
            raise BrokenPipeError

        def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
            if soft_wrap or len(objects) != 1 or not isinstance(objects[0], Text):
                super().print(*objects, soft_wrap=soft_wrap, **options)
                return
            for row in objects[0].wrap(self, self.width):
                row.rstrip()  # rich leaves the space at which it folds
                super().print(row, soft_wrap=True, **options)

    return PlainConsole(highlight=False, markup=False, emoji=False, **options)


def print_json(document: dict[str, Any]) -> None:
    """One JSON document on a line of stdout; a part that is an iterator is written as it is made."""
    import orjson

    write = sys.stdout.buffer.write
    write(b"{")
    for number, (name, part) in enumerate(document.items()):
        write((b"," if number else b"") + orjson.dumps(name) + b":")
        if isinstance(part, Iterator):
            write(b"[")
            for place, each in enumerate(part):
                write((b"," if place else b"") + orjson.dumps(each))
            write(b"]")
        else:
            write(orjson.dumps(part))
    write(b"}\n")
    sys.stdout.buffer.flush()
