"""The output of `tokbench compare` on the bundled texts, byte for byte except for what depends on the machine.

`python tests/golden/test_compare_golden.py` rewrites the files.
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
METRICS = "bytes_per_token,unk_rate,renyi_efficiency"
FORMS = ["json", "csv", "markdown"]
SUFFIXES = {"json": "json", "csv": "csv", "markdown": "md"}
COUNTS = ["documents", "tokens", "bytes", "words"]
DIGITS = 9
"""Significant digits of a figure: logarithms and powers may differ in further digits."""


def golden(form):
    return HERE / f"compare.{SUFFIXES[form]}"


def tokbench(folder, *arguments):
    kept = (
        "HOME",
        "OPENBLAS_NUM_THREADS",
        "PATH",
        "PYTHONPATH",
        "TOKBENCH_KERNEL",
        "VIRTUAL_ENV",
        "LD_LIBRARY_PATH",
    )
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "tokbench", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def compared(folder, form):
    arguments = ["-t", "default", "-t", "byte", "--no-times", "--metrics", METRICS]
    return STABLE[form](tokbench(folder, "compare", *arguments, f"--{form}"))


def rounded(value):
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def stable_json(text):
    """Remove versions, kernels, hashes and intervals, whose random draws may differ between numpy releases."""
    document = json.loads(text)
    del document["versions"]
    for tokenizer in document["tokenizers"]:
        del tokenizer["kernel"]
        for figure in tokenizer["metrics"].values():
            for name in ("interval", "difference_interval"):
                figure[name] = None if figure[name] is None else "…"
        for counts in (tokenizer["counts"], *tokenizer["group_counts"].values()):
            for name in counts.keys() - COUNTS:
                del counts[name]
    return json.dumps(without_long_numbers(document), indent=1, ensure_ascii=False) + "\n"


def without_long_numbers(document):
    if isinstance(document, dict):
        return {key: without_long_numbers(value) for key, value in document.items()}
    if isinstance(document, list):
        return [without_long_numbers(value) for value in document]
    return rounded(document)


def stable_csv(text):
    """Remove the ends of intervals."""
    head, *rows = csv.reader(io.StringIO(text))
    ends = [head.index(name) for name in ("low", "high", "difference_low", "difference_high")]
    numbers = [head.index(name) for name in ("value", "difference")]
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        for place in ends:
            row[place] = "…" if row[place] else ""
        for place in numbers:
            row[place] = rounded(float(row[place])) if row[place] else ""
        writer.writerow(row)
    return lines.getvalue()


STABLE = {"json": stable_json, "csv": stable_csv, "markdown": str}


def prepared(folder):
    """Train the tokenizer `byte` in a folder, and return the folder."""
    tokbench(folder, "train", "--backend", "byte", "--name", "byte")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("golden"))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_output_equals_the_golden_file(folder, form):
    assert compared(folder, form) == golden(form).read_text(encoding="utf-8")


def write_files():
    """Write the current output to the files."""
    with tempfile.TemporaryDirectory() as name:
        folder = prepared(Path(name))
        for form in FORMS:
            golden(form).write_text(compared(folder, form), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write_files()
