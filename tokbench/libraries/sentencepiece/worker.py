"""The main module of the process in which SentencePiece trains; `training.py` starts it.

Standard input: a line of JSON, {"arguments": …, "threads": …}, then the text, line by
line. Standard output: the model, or the library's message if the exit code is `FAILED`. Standard
error: the library's log.
"""

from __future__ import annotations

import json
import os
import signal
import sys

FAILED = 3


def main() -> int:
    """Train by the job on standard input, and return the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's handler would not run inside the library
    job = json.loads(sys.stdin.buffer.readline())
    if job["threads"] and hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, processors[: job["threads"]])
    import sentencepiece

    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sys.stdin.buffer), model_writer=sys.stdout.buffer, **job["arguments"]
        )
    except (RuntimeError, ValueError, IndexError, MemoryError) as error:
        sys.stdout.write(str(error) or type(error).__name__)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
