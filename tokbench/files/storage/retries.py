"""Trying again what may pass by itself: a store that is busy, a connection that breaks."""

from __future__ import annotations

import errno
import random
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

ATTEMPTS = 4
_FIRST_WAIT = 0.5
_PERMANENT = (
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    FileExistsError,
    NotImplementedError,
    ImportError,
    ValueError,
    TypeError,
)
_NO_CREDENTIALS = {"NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError"}
_PERMANENT_NAMES = {*_NO_CREDENTIALS, "ProfileNotFound", "FileExpired"}
"""Of classes that libraries have, whose modules may not be there to import."""
_LONGEST_REASON = 300

_T = TypeVar("_T")


def retried(what: Callable[[], _T], *, place: str) -> _T:
    """What a call returns, tried four times within about four seconds.

    Libraries of stores raise what they like; all but what surely stays wrong is tried again.

    Args:
        what: to be called.
        place: what the error names.

    Raises:
        OSError: of the kind that tells what is wrong, with a reason in `strerror` and the place in `filename`.

    >>> retried(lambda: 1, place="s3://bucket/a")
    1
    """
    for attempt in range(ATTEMPTS):
        try:
            if attempt:
                time.sleep(_FIRST_WAIT * 2 ** (attempt - 1) * random.uniform(0.8, 1.2))  # noqa: S311 - no secret
            return what()
        except Exception as raised:
            error = _unreached(raised) or raised
            if isinstance(error, _PERMANENT) or type(error).__name__ in _PERMANENT_NAMES:
                raise _told(error, place) from raised
            last = error
    raise _told(last, place, more=f", tried {ATTEMPTS} times") from last


def _unreached(error: Exception) -> OSError | None:
    """Why a store was not reached, of which fsspec says for the web that there is no such file."""
    cause = error.__cause__ if isinstance(error, FileNotFoundError) else None
    return cause if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError) else None


def _told(error: Exception, place: str, *, more: str = "") -> OSError:
    for kind, code, reason in (
        (FileNotFoundError, errno.ENOENT, "there is no such file"),
        (PermissionError, errno.EACCES, "access is denied"),
    ):
        if isinstance(error, kind):
            return kind(code, reason, place)
    if type(error).__name__ in _NO_CREDENTIALS:
        return PermissionError(errno.EACCES, "no credentials were found", place)
    lines = (str(error) or type(error).__name__).splitlines()
    return OSError(errno.EIO, lines[0][:_LONGEST_REASON] + more, place)
