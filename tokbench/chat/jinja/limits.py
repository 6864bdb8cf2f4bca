"""The limits of chat templates, which are untrusted programs."""

from __future__ import annotations

SECONDS = 10
"""Processor time for one conversation."""

MEMORY = 2 * 2**30
"""Memory of the rendering process in bytes."""

CHARACTERS = 64 * 2**20
"""Maximum length of a string in a template, and of a rendered conversation."""

SOURCE_CHARACTERS = 2**20
"""Maximum length of a template's source."""

EXPONENT = 10_000
"""The highest exponent that a template may use."""


class LimitError(BaseException):
    """A template exceeds a limit.

    This is not an `Exception`, so templates and libraries cannot catch it by accident.
    """


def check_length(characters: int) -> None:
    """Raise before a string is created that would be too long.

    Raises:
        LimitError: the string would be too long.
    """
    if characters > CHARACTERS:
        raise LimitError(f"it creates a string of more than {CHARACTERS:,} characters")
