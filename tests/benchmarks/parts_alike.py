"""Check that parts and engines change no result: `python tests/benchmarks/parts_alike.py TEXT… [--steps words,shards]`

For each text, whose lines are documents, each step is done by one process, and then in 1, 2, 8 and 32 parts on each
engine: its words are counted ("words": the bytes of the folder, and the merges learned from it), its ids are written as
shards ("shards": all ids in order, and for the same number of parts the bytes of the folder), and two tokenizers are
compared ("figures": all that `tokbench compare --json` prints). It prints a line for each run, with its seconds, and
fails at the end if one differed.

The tokenizers have 32,768 and 8,192 entries, learned from the first ten megabytes of the text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from speed_table import heading

import tokbench

if TYPE_CHECKING:
    from collections.abc import Iterator

TRAINING_BYTES = 10_000_000
SIZES = (32_768, 8_192)
STEPS = ("words", "shards", "figures")
ENGINES = ("local-1", "local-2", "dask-2", "ray-2")
PARTS = (1, 2, 8, 32)


class Runs:
    """Runs of commands on one text, in a temporary folder."""

    def __init__(self, text: Path, folder: Path) -> None:
        self.text, self.folder = text, folder
        with text.open("rb") as file:
            head = file.read(TRAINING_BYTES).decode(errors="ignore")
        for size in SIZES:
            tokbench.train(head.splitlines(), vocab_size=size).save(folder / str(size))

    def command(self, *arguments: str) -> bytes:
        """Run a command and return its output."""
        line = [sys.executable, "-m", "tokbench", *arguments, "--progress", "none"]
        return subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout

    def words(self, parts: list[str]) -> dict[str, str]:
        out, model = self.folder / "words", self.folder / "model"
        self.command(
            "count-words", str(self.text), "--documents", "lines", "--out", str(out), "--force", *parts
        )
        self.command(
            "train", "--counts", str(out), "--vocab-size", str(SIZES[0]), "--out", str(model), "--force"
        )
        return {"words": digest(out), "merges": digest(model)}

    def shards(self, parts: list[str]) -> dict[str, str]:
        out = self.folder / "shards"
        shutil.rmtree(out, ignore_errors=True)
        self.command(
            *(
                "shards",
                "write",
                str(self.text),
                "--documents",
                "lines",
                "-t",
                str(self.folder / str(SIZES[0])),
            ),
            *("--out", str(out), *parts),
        )
        found = hashlib.sha256()
        for array in tokbench.open_shards(out).arrays():
            found.update(memoryview(array).cast("B"))
        return {"ids": found.hexdigest(), "folder": digest(out)}

    def figures(self, parts: list[str]) -> dict[str, str]:
        tokenizers = [argument for size in SIZES for argument in ("-t", str(self.folder / str(size)))]
        printed = self.command(
            "compare", str(self.text), "--documents", "lines", *tokenizers, "--no-times", "--json", *parts
        )
        return {"figures": hashlib.sha256(json.dumps(json.loads(printed)).encode()).hexdigest()}


def digest(folder: Path) -> str:
    """Hash the names and bytes of all files of a folder except its lock."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"):
        found.update(str(path.relative_to(folder)).encode() + b"\0")
        with path.open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def runs_of(size: int, engines: list[str], numbers: list[int]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the options of each run."""
    for number in numbers:
        for engine in engines:
            name, _, workers = engine.partition("-")
            part_bytes = str(-(-size // number))
            yield (
                f"{number} parts, {name}, {workers} workers",
                ["--engine", name, "--workers", workers, "--part-bytes", part_bytes],
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--steps", default=",".join(STEPS), help="by default all")
    parser.add_argument(
        "--engines", default=",".join(ENGINES), help="and how many workers, by default %(default)s"
    )
    parser.add_argument("--parts", default=",".join(map(str, PARTS)), help="by default %(default)s")
    arguments = parser.parse_args()
    with suppress(ValueError):
        print(heading("distributed", "ray"), flush=True)
    differing = 0
    for text in arguments.texts:
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
            runs = Runs(text, Path(folder))
            for step in arguments.steps.split(","):
                do = getattr(runs, step)
                alone = do([])
                known: dict[tuple[str, str], str] = {}
                for name, options in runs_of(
                    text.stat().st_size,
                    arguments.engines.split(","),
                    list(map(int, arguments.parts.split(","))),
                ):
                    started = time.monotonic()
                    found = do(options)
                    seconds = time.monotonic() - started
                    wrong = [
                        what
                        for what, value in found.items()
                        if value != known.setdefault((what, name.partition(",")[0]), value)
                        or (what != "folder" and value != alone[what])
                    ]
                    differing += bool(wrong)
                    told = f"OTHER {', '.join(wrong)}" if wrong else f"the same {', '.join(found)}"
                    print(f"{text.name}, {step}, {name}: {told} ({seconds:.0f} s)", flush=True)
    if differing:
        sys.exit(f"{differing} runs differed")


if __name__ == "__main__":
    main()
