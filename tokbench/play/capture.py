"""Conversion of console output to styled text for widgets."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SYSTEMS: Mapping[str, Literal["256", "truecolor"]] = {"256": "256", "truecolor": "truecolor"}


def captured(render: Callable[[Console], None], like: Console, *, width: int) -> Text:
    """Return the output of a renderer as styled text.

    Args:
        render: writes to a console.
        like: the console whose colours are used.
        width: available columns.
    """
    written = StringIO()
    system = None if like.no_color else like.color_system
    console = Console(
        file=written,
        width=width,
        force_terminal=True,
        color_system=None if system is None else _SYSTEMS.get(system, "standard"),
        no_color=like.no_color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    render(console)
    return Text.from_ansi(written.getvalue())
