"""Converts errors to messages on stderr with a hint, an exit code and no traceback; the only place that does."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, NoReturn

from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_NO_MORE_THREADS = "can't start new thread"
"""What Python says then: the error has no type of its own."""
_WAITS_AT_THE_END = "py_mini_racer"
"""Its threads may keep an interpreter from its end for ever where an interrupt broke into its work."""


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """End the process with a message and the right exit code, instead of typer's own handling."""
    try:
        with _terminated_as_interrupted():
            yield
    except TokbenchError as error:
        _fail(error.message, hint=error.hint, code=error.exit_code)
    except KeyboardInterrupt as stopped:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not break into the message
        # Where Ctrl-C broke into an `exec` of source text (each dataclass is made by one), CPython notes that
        # and kills the process by the signal at its end, whatever the exit code; another `exec` takes it back.
        exec("")  # noqa: S102
        hint = str(stopped) or "no partial output was left behind"
        if _is_terminated(stopped):
            _tell("terminated", hint=hint)
            signal.raise_signal(signal.SIGTERM)
        _tell("interrupted", hint=hint)
        if _WAITS_AT_THE_END in sys.modules:
            sys.stderr.flush()
            os._exit(130)
        sys.exit(130)
    except BrokenPipeError:  # whoever read our output has gone
        _forget_stdout()
        sys.exit(141)
    except MemoryError:
        _fail("there is not enough memory", hint="use less text, or a smaller --vocab-size", code=1)
    except EOFError as error:  # click would take it for an abort by the user, and not say what happened
        raise RuntimeError(f"EOFError: {error}") from error
    except RuntimeError as error:
        if str(error) != _NO_MORE_THREADS:
            raise
        _fail("the system allows no more threads", hint="use fewer with --threads N", code=1)
    except OSError as error:  # what no layer below knows of, as a full disk behind stdout
        if error.errno == errno.EBADF:
            _fail("standard output is closed", hint="redirect it to a file, or to /dev/null", code=1)
        where = error.filename or ("standard output" if error.errno in _WRITING else "the current folder")
        _fail(f"{where}: {error.strerror or error}", hint=None, code=1)


class _Terminated(KeyboardInterrupt):
    """SIGTERM arrived: whatever cleans up after Ctrl-C does so here, too."""


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Raise an exception on SIGTERM, with which a system shuts down and a cluster ends a job; a second one kills."""
    if signal.getsignal(signal.SIGTERM) != signal.SIG_DFL or current_thread() is not main_thread():
        yield
        return

    def interrupt(*_: object) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise _Terminated

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _is_terminated(stopped: BaseException | None) -> bool:
    """Whether SIGTERM is behind an interrupt, which may have been raised again with a hint."""
    return stopped is not None and (isinstance(stopped, _Terminated) or _is_terminated(stopped.__context__))


def _fail(message: str, *, hint: str | None, code: int) -> NoReturn:
    _tell(message, hint=hint)
    sys.exit(code)


def _tell(message: str, *, hint: str | None) -> None:
    has_colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    bold, plain = ("\033[1;31m", "\033[0m") if has_colours else ("", "")
    with suppress(OSError):  # nobody reads stderr
        print(f"{bold}error:{plain} {_printable(message)}", file=sys.stderr)
        if hint:
            print(f"hint:  {_printable(hint)}", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:
        _forget_stdout()


def _printable(text: str) -> str:
    """The text with control characters escaped: a file's name or contents must not steer the terminal."""
    return "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1]
        for character in text
    )


def _forget_stdout() -> None:
    """Discard what is left in the buffer of stdout, on which the interpreter would otherwise fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
