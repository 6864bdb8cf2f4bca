"""Processes that are forked while other threads encode, as those of data loaders are."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORKS = """
import os, signal, sys, threading
import tokbench

texts = [" ".join(f"word{number % 97}" for number in range(start, start + 500)) for start in range(200)]
tokenizer = tokbench.train(texts, backend=sys.argv[1], vocab_size=400)
short = [text[:100] for text in texts]  # mutexes are locked for each text
expected = tokenizer.encode_batch(short).ids.tolist()

def encode():
    while True:
        tokenizer.encode_batch(short * 9, threads=2)

for _ in range(2):
    threading.Thread(target=encode, daemon=True).start()
for _ in range(200):
    if (process := os.fork()) == 0:
        signal.alarm(10)  # ends a process that waits for ever
        os._exit(tokenizer.encode_batch(short, threads=2).ids.tolist() != expected)
    _, status = os.waitpid(process, 0)
    if status:
        print(f"a forked process ended with status {status}", flush=True)
        os._exit(1)
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("backend", ["bpe", "wordpiece", "unigram", "sentencepiece"])
def test_encoding_continues_in_a_process_forked_while_threads_encode(backend: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKS, backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
