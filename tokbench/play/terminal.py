"""Queries and settings of the terminal before the session starts: its keyboard, and its background."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

_SECONDS, _SECONDS_OVER_SSH = 1.0, 4.0
"""Maximum time to wait for an answer, for terminals that give none; over SSH an answer takes a round trip.

The session would take an answer that arrives later for typed text.
"""
_QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
"""A query for the background and one for the terminal type: every terminal answers the second, which ends the wait."""
_TYPE_ANSWER = re.compile(rb"\x1b\[\?[0-9;]*c")
_COLOUR = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_SHARES = (0.2126, 0.7152, 0.0722)
"""Weights of red, green and blue in perceived brightness (ITU-R BT.709)."""
_MOST_BYTES = 4_096
_DISABLE_REORDERING, _ENABLE_REORDERING = "\x1b[8l", "\x1b[8h"
_LIGHT_NUMBERS = {"7", "15"}
"""The endings of COLORFGBG in a terminal with a light background."""


def take_keyboard() -> None:
    """Make the controlling terminal of the process its standard input.

    Raises:
        ConfigError: the process has no controlling terminal.
    """
    try:
        terminal = os.open(os.ctermid(), os.O_RDWR)
    except (AttributeError, OSError):
        raise ConfigError(
            "`tokbench play` has no keyboard: standard input is not a terminal, and there is no other",
            hint="`tokbench viz` prints the tokens of a text",
        ) from None
    os.dup2(terminal, 0)
    os.close(terminal)


@contextmanager
def characters_in_place(screen: TextIO) -> Iterator[None]:
    """Keep terminals from reordering right-to-left text across tokens and under the cursor.

    Terminals that do not know the mode (ECMA-48's BDSM) ignore it.

    Args:
        screen: the terminal.
    """
    screen.write(_DISABLE_REORDERING)
    screen.flush()
    try:
        yield
    finally:
        screen.write(_ENABLE_REORDERING)
        screen.flush()


def has_light_background() -> bool:
    """Whether the background is light, according to the terminal or, if it does not answer, to COLORFGBG."""
    answered = is_light(_answer())
    if answered is None:
        return os.environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_NUMBERS
    return answered


def is_light(answer: bytes) -> bool | None:
    r"""Whether a terminal's answer reports a light background; None if it reports none.

    >>> is_light(b"\x1b]11;rgb:ffff/fafa/f0f0\x1b\\"), is_light(b"\x1b]11;rgb:1c/1c/1c\x07"), is_light(b"\x1b[?6c")
    (True, False, None)
    """
    match = _COLOUR.search(answer)
    if match is None:
        return None
    brightness = 0.0
    for share, part in zip(_SHARES, match.groups(), strict=True):
        brightness += share * int(part, 16) / (16.0 ** len(part) - 1)
    return brightness > 0.5


def _answer() -> bytes:
    """Return the terminal's answer to the queries; empty if it cannot be queried."""
    try:
        import termios
        import tty
    except ImportError:  # Windows
        return b""
    keyboard, screen = 0, sys.stdout.fileno()
    try:
        before = termios.tcgetattr(keyboard)
    except termios.error:
        return b""
    try:
        tty.setcbreak(keyboard, termios.TCSANOW)
        os.write(screen, _QUESTION)
        return _read_answer(keyboard)
    except OSError:
        return b""
    finally:
        termios.tcsetattr(keyboard, termios.TCSANOW, before)


def _read_answer(keyboard: int) -> bytes:
    seconds = _SECONDS_OVER_SSH if "SSH_CONNECTION" in os.environ else _SECONDS
    answer, deadline = b"", time.monotonic() + seconds
    while _TYPE_ANSWER.search(answer) is None and len(answer) < _MOST_BYTES:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([keyboard], [], [], left)[0]:
            break
        answer += os.read(keyboard, _MOST_BYTES)
    return answer
