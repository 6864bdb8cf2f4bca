"""The process that runs tasks for the local engine.

It reads a line of JSON for each task from stdin and writes lines of JSON to the original stdout: progress, then the
outcome of the task. It ends when its parent does, and removes its folder of temporary files, which is its argument.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from functools import partial
from queue import SimpleQueue
from threading import Thread, main_thread
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

_BETWEEN_REPORTS = 0.2
_READ_BYTES = 1 << 16
_SECONDS_TO_END = 10.0
"""The time for a task to stop after its parent is gone."""


def main() -> None:
    """Run the tasks from stdin, until the process ends."""
    from tokbench.distributed.tasks import TaskContext, at_intervals, run_task

    try:
        signal.signal(signal.SIGTERM, _end)
        tell = _stdout_writer()
        asked: SimpleQueue[bytes] = SimpleQueue()
        Thread(target=_listen, args=(asked,), daemon=True).start()
        while True:
            message = json.loads(asked.get())
            report = at_intervals(_BETWEEN_REPORTS, lambda done: tell({"done": done}))
            context = TaskContext(threads=message["threads"], tell=report)
            tell(run_task(message["task"], message["arguments"], context=context))
    except SystemExit:
        _exit()


def _end(*_: object) -> NoReturn:
    """Raise SystemExit, so that partially written files are removed; a second signal must not break into that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


def _exit() -> NoReturn:
    """Remove the folder of temporary files, and end without waiting for other threads."""
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    os._exit(1)


def _listen(asked: SimpleQueue[bytes]) -> None:
    """Put lines into the queue; at the end of stdin the parent is gone, so end the task and the process."""
    rest = b""
    while data := os.read(
        0, _READ_BYTES
    ):  # not by sys.stdin, whose lock a thread that waits keeps at the end
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            asked.put(line)
    if hasattr(signal, "pthread_kill"):  # else the main thread would not notice while it waits
        signal.pthread_kill(main_thread().ident or 0, signal.SIGTERM)
        time.sleep(_SECONDS_TO_END)
    _exit()


def _stdout_writer() -> Callable[[dict[str, Any]], None]:
    """Return a writer of lines to the original stdout, and redirect stdout to stderr, as libraries may print."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return partial(_write_line, lines)


def _write_line(lines: Any, message: dict[str, Any]) -> None:
    try:
        lines.write(json.dumps(message) + "\n")
        lines.flush()
    except BrokenPipeError:  # the parent is gone, and _listen has not noticed yet
        sys.exit(1)


if __name__ == "__main__":
    main()
