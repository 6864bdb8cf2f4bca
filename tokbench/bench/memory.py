"""Measure the peak memory of a tokenizer in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tokbench.core.python_processes import module_environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokbench.bench.entrants import Entrant

_PATIENCE_SECONDS = 600


def write_texts(texts: Sequence[str], path: Path) -> None:
    """Write one text per line, so that a reader needs only one in memory."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{json.dumps(text)}\n" for text in texts)


def peak_of(entrant: Entrant, texts: Path) -> int | None:
    """Return the peak resident bytes of a process that opens the tokenizer and encodes the texts once.

    This includes the interpreter, the library and one text at a time. Return None if the system does not report it.
    """
    job = json.dumps({"recipe": dict(entrant.recipe), "texts": str(texts)})
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tokbench.bench.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=module_environment(),
        encoding="utf-8",
    )
    try:
        answer, _ = process.communicate(job, timeout=_PATIENCE_SECONDS)
        return int(answer) or None
    except (subprocess.SubprocessError, OSError, ValueError):
        return None
    finally:
        process.kill()
        process.communicate()  # `subprocess.run` would not wait for it after Ctrl-C
