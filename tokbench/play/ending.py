"""Ends a session on signals, so that the terminal is restored first."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_SHELLS_OFFSET = 128
"""What shells add to the number of the signal that ended a process."""


def end_on_signals(app: App[Any]) -> None:
    """Let the signals that end a process end the app, whose return code then names the signal.

    By default, SIGTERM would leave the terminal on its second screen, without a cursor, and reporting the mouse.
    """
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows; not the main thread
            loop.add_signal_handler(number, partial(app.exit, return_code=_SHELLS_OFFSET + number))


def raise_again(return_code: int | None) -> None:
    """Send this process the signal that ended an app, if one did.

    Args:
        return_code: the return code of the app.
    """
    for number in _SIGNALS:
        if return_code == _SHELLS_OFFSET + number:
            signal.raise_signal(number)
