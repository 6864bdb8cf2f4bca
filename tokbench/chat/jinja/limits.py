"""The limits of a chat template, which is an untrusted program."""

from __future__ import annotations

SECONDS = 10
"""Of processor time, for one conversation."""

MEMORY = 2 * 2**30
"""Bytes of the process that renders."""

CHARACTERS = 64 * 2**20
"""Of one string in a template, and of a rendered conversation."""

SOURCE_CHARACTERS = 2**20
"""Of a template's own text."""

EXPONENT = 10_000
"""The highest that a template may raise a number to."""


class LimitError(BaseException):
    """A template that exceeds a limit.

    No `Exception`, so that what a template or a library catches is not this.
    """


def check_length(characters: int) -> None:
    """Refuse a string before it is made.

    Raises:
        LimitError: it would be too long.
    """
    if characters > CHARACTERS:
        raise LimitError(f"it creates a string of more than {CHARACTERS:,} characters")
