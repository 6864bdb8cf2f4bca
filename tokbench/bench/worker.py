"""A process that opens one tokenizer, encodes the sample once and reports its peak memory.

Standard input: JSON with the recipe of an `Entrant` and the file of the texts. Standard output: a number of bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.bench.runner import Runner


def main() -> None:
    """Run the job from standard input."""
    from tokbench.core.time_and_memory import peak_bytes

    job = json.load(sys.stdin)
    runner = _opened(job["recipe"])
    with Path(job["texts"]).open(encoding="utf-8", newline="") as lines:
        for line in lines:
            runner.encode(json.loads(line))
    print(peak_bytes() or 0)


def _opened(recipe: Mapping[str, Any]) -> Runner:
    if "peer" in recipe:
        from tokbench.bench.peers import PEERS

        return PEERS[recipe["peer"]].opened(Path(recipe["folder"]))
    from tokbench.bench.runner import runner_of
    from tokbench.workbench.open import load

    return runner_of(load(**recipe["tokenizer"]))


if __name__ == "__main__":
    main()
