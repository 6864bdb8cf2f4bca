"""Files and callbacks: progress is reported, and errors and interrupts end the module's work."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from support.bpe_module import new_counter, train

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

needs_posix_signals = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")


# --- files ------------------------------------------------------------------------------------


def test_unreadable_file_is_an_os_error(module: Any, tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    os.close(write_end)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        for fd in (-1, 10**6, read_end, folder):
            counter = new_counter(module)
            with pytest.raises(OSError, match=r"Bad file descriptor|Is a directory"):
                counter.add_file(fd, "file", None)
            counter.finish()
    finally:
        os.close(folder)


@contextmanager
def trickling(*, blocks: int, block: bytes = b"text " * 2000, pause: float = 0.06) -> Iterator[int]:
    """Yield the read end of a pipe into which a thread writes blocks, with a pause before each."""
    read_end, write_end = os.pipe()
    is_over = threading.Event()

    def write() -> None:
        with os.fdopen(write_end, "wb", buffering=0) as file, suppress(BrokenPipeError):
            for _ in range(blocks):
                if is_over.wait(pause):
                    return
                file.write(block)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield read_end
    finally:
        os.close(read_end)
        is_over.set()
        writer.join()


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt from a signal handler after some seconds, as Ctrl-C does."""

    def interrupt(signum: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_progress_is_reported_while_a_file_is_read(module: Any) -> None:
    told: list[int] = []
    counter = new_counter(module)
    with trickling(blocks=4) as fd:
        assert counter.add_file(fd, "file", told.append) == 40_000
    counter.finish()
    assert told == sorted(told)
    assert told
    assert counter.num_bytes == 40_000


def test_exception_of_the_callback_stops_counting(module: Any) -> None:
    def fail(done: int) -> None:
        raise RuntimeError(f"enough at {done}")

    counter = new_counter(module)
    with trickling(blocks=4) as fd, pytest.raises(RuntimeError, match="enough at"):
        counter.add_file(fd, "file", fail)
    counter.begin_source("file")
    counter.feed(b"a b")
    counter.end_source()
    counter.finish()
    assert sorted(counter.items()) == [(b" b", 1), (b"a", 1)]


def test_callback_that_is_not_callable_stops_counting(module: Any) -> None:
    with trickling(blocks=4) as fd, pytest.raises(TypeError, match="not callable"):
        new_counter(module).add_file(fd, "file", 3)


@needs_posix_signals
def test_interrupt_stops_counting(module: Any) -> None:
    with trickling(blocks=50, pause=0.02) as fd, interrupted_after(0.1), pytest.raises(KeyboardInterrupt):
        new_counter(module).add_file(fd, "file", None)


@pytest.mark.timed
@needs_posix_signals
def test_interrupt_stops_waiting_for_a_pipe(module: Any) -> None:
    started = time.monotonic()
    with trickling(blocks=1, pause=5) as fd, interrupted_after(0.1), pytest.raises(KeyboardInterrupt):
        try:
            new_counter(module).add_file(fd, "file", None)
        finally:
            waited = time.monotonic() - started
    assert waited < 4


# --- training ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many_words(module: Any) -> Any:
    """Return a counter that takes some tenths of a second to train on."""
    rng = random.Random(1)
    counter = new_counter(module)
    counter.add_texts([" ".join("".join(rng.choices("abcdefghij", k=9)) for _ in range(150_000))])
    counter.finish()
    return counter


def test_exception_of_the_callback_stops_training(module: Any, many_words: Any) -> None:
    def fail(done: int) -> None:
        raise RuntimeError(f"enough at {done}")

    before = train(module, many_words)
    with pytest.raises(RuntimeError, match="enough at"):
        train(module, many_words, num_merges=100_000, progress=fail)
    after = train(module, many_words)
    assert before[0].tolist() == after[0].tolist()


@needs_posix_signals
def test_interrupt_stops_training(module: Any, many_words: Any) -> None:
    with interrupted_after(0.01), pytest.raises(KeyboardInterrupt):
        train(module, many_words, num_merges=100_000)
