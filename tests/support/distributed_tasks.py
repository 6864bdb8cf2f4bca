"""Tasks for the tests of engines: each writes a whole file, as real tasks do, or fails in some way."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.errors import CorpusError
from tokbench.files.atomic import write_file

if TYPE_CHECKING:
    from tokbench.distributed.tasks import TaskContext


def square(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Write the square of a number into a file, and append each run to a log beside it."""
    number, folder = arguments["number"], Path(arguments["folder"])
    with (folder / "runs").open("a") as runs:
        runs.write(f"{number}\n")
    context.tell(1)
    write_file(folder / f"{number}.txt", str(number**2).encode())
    of_numpy = os.environ.get("OPENBLAS_NUM_THREADS")
    return {"square": number**2, "threads": context.threads, "of_numpy": of_numpy}


def square_or_die_once(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Do the same as `square`, but kill the first process that gets number 3, as the system may."""
    mark = Path(arguments["folder"]) / "died"
    if arguments["number"] == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(arguments, context)


def die_once_with_temporary_files(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Leave a temporary file behind; the first process that gets number 3 is killed, after naming its file."""
    descriptor, name = tempfile.mkstemp(suffix=".part")
    os.close(descriptor)
    mark = Path(arguments["folder"]) / "died"
    if arguments["number"] == 3 and not mark.exists():
        mark.write_text(name)
        os.kill(os.getpid(), signal.SIGKILL)
    if arguments["number"] != 5:
        Path(name).unlink()
    return square(arguments, context)


def end_while_it_ends(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Be terminated, and once more before the partial file is removed."""
    half = Path(arguments["folder"]) / "half"
    half.touch()
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        half.unlink()
    return {}


def fail_on_odd(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    if arguments["number"] % 2:
        raise CorpusError(f"{arguments['number']}.txt: not UTF-8", hint="write it again")
    return square(arguments, context)


def fail_in_three_ways(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    ways = {1: ("not UTF-8", "write it again"), 2: ("truncated", "load it again"), 3: ("gone", None)}
    number = arguments["number"]
    if number in ways:
        message, hint = ways[number]
        raise CorpusError(f"{number}.txt: {message}", hint=hint)
    return square(arguments, context)


def die_on_three(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    if arguments["number"] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(arguments, context)


def sleep(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Write the process id, and sleep longer than any test; at its end the half-written file is removed."""
    folder = Path(arguments["folder"])
    try:
        (folder / "half").touch()
        (folder / "pid").write_text(str(os.getpid()))
        time.sleep(600)
    finally:
        (folder / "half").unlink()
    return {}


def wait_for(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Write the process id, and wait for a file."""
    folder = Path(arguments["folder"])
    (folder / f"pid-{arguments['number']}").write_text(str(os.getpid()))
    while not (folder / "go").exists():
        time.sleep(0.02)
    return square(arguments, context)


def report_and_wait(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Report progress repeatedly until the test confirms that it has seen it."""
    while not (Path(arguments["folder"]) / "heard").exists():
        context.tell(5)
        time.sleep(0.05)
    return square(arguments, context)


def print_large_output(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    print("a library prints")
    os.system("echo a child prints")
    return square(arguments, context)


def raise_error(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    raise ZeroDivisionError("a mistake of ours")


def return_2012_bytes(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    return {"much": "x" * 2000}


def write_large_file(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Fill up a disk, simulated by a limit on this process's file size."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        write_file(Path(arguments["folder"]) / f"{arguments['number']}.txt", b"x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    return {}
