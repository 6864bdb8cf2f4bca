"""A process that trains one tokenizer, saves it, and reports its time and peak memory.

It reads JSON from stdin, as written by `candidates.py`, and writes a line of JSON to stdout for each progress
report and for the result or the error. Other lines are output of a library.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_BETWEEN_REPORTS = 0.1


def main() -> None:
    """Run the job described on stdin."""
    from tokbench.core.time_and_memory import training_peak_bytes
    from tokbench.errors import TokbenchError
    from tokbench.evaluation.candidates import TrainingSample
    from tokbench.evaluation.holdout import Side
    from tokbench.registry import get_backend

    asked = json.load(sys.stdin)
    reported_at = 0.0

    def progress(phase: str, done: int, total: int | None, unit: str) -> None:
        nonlocal reported_at
        if time.monotonic() - reported_at >= _BETWEEN_REPORTS:
            reported_at = time.monotonic()
            _tell({"progress": [phase, done, total, unit]})

    try:
        backend = get_backend(asked["backend"])
        texts: Any = Side.of_document(asked["texts"])
        if asked["sample"] is not None:
            texts = TrainingSample(texts, **asked["sample"])
        config = backend.config_type(**asked["config"])
        started = time.perf_counter()
        tokenizer = backend.train(texts, config, progress=progress)
        seconds, peak = time.perf_counter() - started, training_peak_bytes()
        folder = Path(asked["folder"]) / tokenizer.info.name
        tokenizer.save(folder)
    except TokbenchError as error:
        _tell({"error": type(error).__name__, "message": error.message, "hint": error.hint})
    else:
        _tell({"seconds": seconds, "peak_bytes": peak, "folder": str(folder)})


def _tell(document: Mapping[str, Any]) -> None:
    print(json.dumps(document), flush=True)


if __name__ == "__main__":
    main()
