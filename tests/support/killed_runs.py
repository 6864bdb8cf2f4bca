"""Runs that write shards and are killed midway."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

import tokbench

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer

KILLED = 137
PROGRAM = """if True:
    # For each line of standard input, write shards in a forked process, which dies when the disk has been asked for
    # something for the n-th time; print its exit code. Everything is imported once, which takes longer than a run.
    import json, os, signal, sys
    from pathlib import Path
    import tokbench
    from tokbench.shards import run

    def counted(function):
        def call(*arguments, **options):
            global calls
            calls += 1
            if calls == moment and how == "before":
                os._exit(137)
            result = function(*arguments, **options)
            if calls == moment:
                os._exit(137)
            return result
        return call

    for line in sys.stdin:
        folder, moment, how = json.loads(line)
        tokbench.load(f"{folder}/tokenizer")
        if hasattr(os, "fork") and (process := os.fork()):
            print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
        else:
            break
    else:
        sys.exit()
    if hasattr(signal, "alarm"):
        signal.alarm(120)  # ends a run that waits for ever
    calls = 0
    run._BATCH_CHARACTERS = 500
    os.fsync = counted(os.fsync)
    for name in ("replace", "unlink", "mkdir"):
        setattr(Path, name, counted(getattr(Path, name)))
    run.ShardFile.add = counted(run.ShardFile.add)
    tokenizer = tokbench.load(f"{folder}/tokenizer")
    corpus = tokbench.open_corpus(f"{folder}/corpus", documents="lines", errors="replace")
    resume = os.path.exists(f"{folder}/shards")
    tokbench.write_shards(
        tokenizer, corpus, f"{folder}/shards", eos=True, shard_tokens=700, resume=resume, threads=1
    )
"""
COMMAND = [sys.executable, "-W", "error", "-c", PROGRAM]


def corpus_of(folder: Path, **options: Any) -> tokbench.Corpus:
    settings: dict[str, Any] = {"documents": "lines", "errors": "replace", **options}
    return tokbench.open_corpus(folder / "corpus", **settings)


def tokenizer_of(folder: Path) -> Tokenizer:
    return tokbench.load(folder / "tokenizer")


def write(folder: Path, **options: Any) -> Any:
    settings = {"eos": True, "shard_tokens": 700, **options}
    return tokbench.write_shards(tokenizer_of(folder), corpus_of(folder), folder / "shards", **settings)


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(tokbench.__file__).parents[1])}


@cache
def running_program() -> tuple[subprocess.Popen[str], IO[str]]:
    """Start the program, which ends with this process; return it, and the file of its error messages."""
    stack = ExitStack()
    atexit.register(stack.close)
    told = stack.enter_context(TemporaryFile("w+"))  # noqa: SIM115 -- the stack closes it
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": told}
    process = stack.enter_context(subprocess.Popen(COMMAND, env=environment(), text=True, **pipes))  # type: ignore[call-overload]
    return process, told


def run_until_killed(folder: Path, moment: int, how: str = "after") -> int:
    line = json.dumps([str(folder), moment, how]) + "\n"
    if not hasattr(os, "fork"):
        done = subprocess.run(COMMAND, env=environment(), input=line, text=True, check=False, timeout=120)
        assert done.returncode in (0, KILLED)
        return done.returncode
    process, told = running_program()
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(line)
    process.stdin.flush()
    code = process.stdout.readline()
    told.seek(0)
    assert code.strip() in ("0", str(KILLED)), told.read()
    return int(code)
