"""Train in a separate process, so that its peak memory can be measured.

A process that has trained before holds memory that it no longer needs, and takes from there: by its high-water mark
the second training of a Unigram on 5 MB takes 3 MB instead of 21, a WordPiece 16 instead of 225.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from tokbench import errors
from tokbench.core.python_processes import module_environment
from tokbench.core.time_and_memory import peak_bytes
from tokbench.errors import TokbenchError, TrainingError
from tokbench.evaluation.holdout import Side
from tokbench.opening.saved import load_saved

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress


@dataclass(frozen=True, slots=True)
class Trained:
    """A tokenizer trained in a separate process, with time and peak memory.

    Attributes:
        tokenizer: as it opens from the folder that the process saved.
        seconds: wall time of the training itself.
        peak_bytes: that the process which trains had resident at its peak, with the interpreter and the library.
    """

    tokenizer: Tokenizer
    seconds: float
    peak_bytes: int


def train_in_process(
    name: str,
    texts: Any,
    config: Mapping[str, Any],
    *,
    sample: Mapping[str, Any] | None,
    progress: Progress,
) -> Trained | None:
    """Train in a process of its own.

    Args:
        name: the backend.
        texts: a side of a corpus; others cannot be read by another process.
        config: the backend's options.
        sample: the share and the seed of a `TrainingSample` of the texts; None for all of them.
        progress: called with how much of the work is done.

    Returns:
        None where the system does not tell the peak of a process, or no process can be had: train here then.

    Raises:
        TokbenchError: whatever the training raises.
        TrainingError: the process was killed, as one is that takes more memory than there is.
    """
    if (
        peak_bytes() is None
        or not isinstance(texts, Side)
        or not texts.can_be_read_again
        or not sys.executable
    ):
        return None
    with tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
        asked = {
            "backend": name,
            "texts": texts.to_json(),
            "sample": sample,
            "config": dict(config),
            "folder": folder,
        }
        found = _asked(json.dumps(asked), name=name, progress=progress)
        if found is None:
            return None
        tokenizer = load_saved(Path(found["folder"]))
    return Trained(tokenizer, found["seconds"], found["peak_bytes"])


def _asked(document: str, *, name: str, progress: Progress) -> dict[str, Any] | None:
    """What the process reports at its end; None where it reported nothing."""
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tokbench.evaluation.training_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=module_environment(),
            encoding="utf-8",
            errors="replace",
        )
    except OSError:
        return None
    assert process.stdin is not None
    assert process.stdout is not None
    found: dict[str, Any] | None = None
    # It may not read before it is asked to end, so whoever writes may not be whoever reads.
    writer = Thread(target=_write, args=(process.stdin, document), daemon=True)
    try:
        writer.start()
        for line in process.stdout:
            message = _message(line)
            if "progress" in message:
                progress(*message["progress"])
            elif message:
                found = message
        code = process.wait()
    finally:
        process.kill()
        process.wait()
        writer.join()
        process.stdout.close()
    if found is not None and "error" in found:
        kind = getattr(errors, found["error"], TrainingError)
        raise _error(kind, found["message"], found["hint"])
    if code < 0:
        raise TrainingError(
            f"the process that trained {name} was killed (signal {-code})",
            hint="did it run out of memory? use less text, or --no-times to train in this process",
        )
    return found


def _write(stdin: IO[str], document: str) -> None:
    try:
        with stdin:
            stdin.write(document)
    except OSError:  # it has ended
        return


def _message(line: str) -> dict[str, Any]:
    """A line of the process; empty where it is a library's."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) and {"progress", "error", "seconds"} & message.keys() else {}


def _error(kind: type[Exception], message: str, hint: str | None) -> TokbenchError:
    """An error as the process raised it, of its class where that takes a message."""
    error = TokbenchError.__new__(kind if issubclass(kind, TokbenchError) else TrainingError)
    TokbenchError.__init__(error, message, hint=hint)
    return error
