"""Subprocesses that run a module of this package with limits on time and memory, for work that may exceed them."""

from __future__ import annotations

import os
import sys


def module_environment() -> dict[str, str]:
    """Return the environment in which `python -P -m MODULE` finds the modules that this process finds.

    >>> module_environment().keys() >= os.environ.keys()
    True
    """
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}  # "" is this folder


def limit_memory(num_bytes: int) -> None:
    """Limit the data size of this process, and disable its core dumps. Does nothing on Windows."""
    try:
        import resource
    except ImportError:
        return
    _lower_limit(resource.RLIMIT_DATA, num_bytes)
    _lower_limit(resource.RLIMIT_CORE, 0)


def limit_time(seconds: float) -> None:
    """Kill this process after so many more seconds of processor time. Does nothing on Windows.

    A later, longer limit replaces an earlier one.
    """
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _lower_limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds))


def _lower_limit(what: int, most: int) -> None:
    """Set a limit of this process, at most its hard limit, which stays unchanged."""
    import resource

    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
