"""Training in a separate process, so that its peak memory can be measured.

A process that has trained before reuses memory that it did not return to the system: judged by the peak of such a
process, a second training of Unigram on 5 MB takes 3 MB instead of 21, and one of WordPiece 16 instead of 225.
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
from tokbench.core.time_and_memory import module_environment, peak_bytes
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
    """A trained tokenizer, with time and peak memory.

    Attributes:
        tokenizer: the tokenizer.
        seconds: wall time of the training itself.
        peak_bytes: peak resident memory of a separate process, including the interpreter and the library; None for a
            training in this process.
    """

    tokenizer: Tokenizer
    seconds: float
    peak_bytes: int | None = None


def train_in_process(
    name: str,
    texts: Any,
    config: Mapping[str, Any],
    *,
    sample: Mapping[str, Any] | None,
    progress: Progress,
) -> Trained | None:
    """Train in a separate process.

    Args:
        name: name of the backend.
        texts: a `Side` of a corpus; other texts cannot be read by another process.
        config: the backend's options.
        sample: share and seed of a `TrainingSample` of the texts; None for all texts.
        progress: called with the amount of work done.

    Returns:
        None if the texts, the system or a missing interpreter prevents it; the caller then trains in this process.

    Raises:
        TokbenchError: the training raised this error.
        TrainingError: the process was killed, for example because memory ran out.
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
        found = _run_worker(json.dumps(asked), name=name, progress=progress)
        if found is None:
            return None
        tokenizer = load_saved(Path(found["folder"]))
    return Trained(tokenizer, found["seconds"], found["peak_bytes"])


def _run_worker(document: str, *, name: str, progress: Progress) -> dict[str, Any] | None:
    """Run the worker and return its final report; None if it reported nothing or cannot be started."""
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
    # The worker may stop before it has read all of stdin, so a separate thread writes while this one reads.
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
    except OSError:  # the worker has ended
        return


def _message(line: str) -> dict[str, Any]:
    """Parse a line of the worker; return an empty dict for other output, such as a library's."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) and {"progress", "error", "seconds"} & message.keys() else {}


def _error(kind: type[Exception], message: str, hint: str | None) -> TokbenchError:
    """Rebuild an error that the worker raised, without calling the constructor of its class."""
    error = TokbenchError.__new__(kind if issubclass(kind, TokbenchError) else TrainingError)
    TokbenchError.__init__(error, message, hint=hint)
    return error
