"""Processes of Python that run a module of this package, with what this process can import."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from threading import Thread


def module_environment() -> dict[str, str]:
    """Return the environment in which `python -P -m MODULE` finds the modules that this process finds.

    >>> module_environment().keys() >= os.environ.keys()
    True
    """
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}  # "" is this folder


def start_module(module: str, *arguments: str, **options: Any) -> subprocess.Popen[Any]:
    """Start a module in a process of its own, with pipes for its standard input and output.

    Args:
        module: its name, such as "tokbench.bench.worker".
        arguments: the arguments of the process.
        options: further arguments of `subprocess.Popen`; by default, standard error is discarded.

    Raises:
        OSError: the process cannot be started.
    """
    defaults: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
        "env": module_environment(),
    }
    return subprocess.Popen([sys.executable, "-P", "-m", module, *arguments], **(defaults | options))  # noqa: S603 - ours


def end_process(process: subprocess.Popen[Any], threads: Iterable[Thread] = ()) -> None:
    """Kill a process unless it has ended, wait for it, and close its pipes.

    Args:
        process: the process.
        threads: threads that read or write its pipes, and end when it has ended; they are joined before the pipes
            are closed.
    """
    process.kill()
    process.wait()
    for thread in threads:
        thread.join()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):  # what was not written cannot be flushed
                stream.close()
