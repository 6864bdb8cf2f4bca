"""The compiled module under hostile use: wrong arguments raise, and nothing crashes, hangs or reads astray.

These tests show most when the module is built with sanitizers, as the checks of the project do.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tokbench.backends.bpe.kernel import Kernel

BYTES = [bytes([value]) for value in range(256)]
AB = np.array([[97, 98]], dtype=np.uint32)
HUGE = np.array([2**32 + 97])
RUNS_WITH_SANITIZERS = "asan" in os.environ.get("LD_PRELOAD", "")

needs_posix_signals = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")


@pytest.fixture(scope="module")
def module(native: Kernel) -> Any:
    """The compiled module itself."""
    from tokbench.native import _bpe

    return _bpe


def new_counter(module: Any, **options: Any) -> Any:
    return module.PretokenCounter(
        **{"pattern": "gpt4", "special_tokens": [], "threads": 2, "seed": 0} | options
    )


def finished_counter(module: Any, text: str) -> Any:
    counter = new_counter(module)
    counter.add_texts([text])
    counter.finish()
    return counter


def train(module: Any, counter: Any, **options: Any) -> Any:
    defaults = {"num_merges": 5, "min_frequency": 1, "max_token_length": 0, "seed": 0, "progress": None}
    return module.train(counter, **defaults | options)


def new_encoder(module: Any) -> Any:
    return module.Encoder(AB, "gpt4")


def new_decoder(module: Any) -> Any:
    return module.Decoder([bytes([value]) for value in range(256)] + [b"ab"])


def from_parts(module: Any, tokens: list[bytes], merges: object) -> Any:
    return module.Encoder.from_parts(tokens, merges, whole_tokens_first=False, pattern=None)


# --- arguments --------------------------------------------------------------------------------

WRONG_CALLS: dict[str, Callable[[Any], object]] = {
    "split a string": lambda m: m.split("gpt4", "text"),
    "split by no pattern": lambda m: m.split("gpt5", b"text"),
    "class of a negative number": lambda m: m.class_of(-1),
    "class of no code point": lambda m: m.class_of(0x110000),
    "counter with negative threads": lambda m: new_counter(m, threads=-1),
    "counter with 2**64 as its seed": lambda m: new_counter(m, seed=2**64),
    "counter of no pattern": lambda m: new_counter(m, pattern="gpt5"),
    "counter with an empty special token": lambda m: new_counter(m, special_tokens=[""]),
    "counter with a surrogate in a special token": lambda m: new_counter(m, special_tokens=["\ud800"]),
    "counter with a number as special token": lambda m: new_counter(m, special_tokens=[1]),
    "texts that are one string": lambda m: new_counter(m).add_texts("text"),
    "texts that are bytes": lambda m: new_counter(m).add_texts(["a", b"b"]),
    "texts with a surrogate": lambda m: new_counter(m).add_texts(["a", "\ud800"]),
    "a block that is a string": lambda m: new_counter(m).feed("text"),
    "no such mode of documents": lambda m: new_counter(m).begin_source("words"),
    "a count of zero": lambda m: new_counter(m).add_counted("a", 0),
    "a count above 64 bits": lambda m: new_counter(m).add_counted("a", 2**63),
    "counts above what can be added up": lambda m: new_counter(m).add_counted("ab", 2**62),
    "a counted pre-token that is bytes": lambda m: new_counter(m).add_counted(b"a", 1),
    "items of an unfinished counter": lambda m: new_counter(m).items(),
    "size of an unfinished counter": lambda m: new_counter(m).distinct_pretokens,
    "train with an unfinished counter": lambda m: train(m, new_counter(m)),
    "train with no counter": lambda m: train(m, None),
    "train below one": lambda m: train(m, finished_counter(m, "ab"), min_frequency=0),
    "train negative merges": lambda m: train(m, finished_counter(m, "ab"), num_merges=-1),
    "merges of 64 bits": lambda m: m.Encoder(AB.astype(np.int64), None),
    "merges that are floats": lambda m: m.Encoder(AB.astype(np.float64), None),
    "merges in three columns": lambda m: m.Encoder(np.zeros((1, 3), np.uint32), None),
    "merges in one dimension": lambda m: m.Encoder(np.zeros(2, np.uint32), None),
    "merges in a list": lambda m: m.Encoder([[97, 98]], None),
    "merges that are not contiguous": lambda m: m.Encoder(np.zeros((4, 4), np.uint32)[:, ::2], None),
    "a merge of an id that comes later": lambda m: m.Encoder(np.array([[97, 256]], np.uint32), None),
    "merges for no pattern": lambda m: m.Encoder(AB, "gpt5"),
    "merges that double a token 40 times": lambda m: m.Encoder(doubling(40), None),
    "parts with merges of two columns": lambda m: from_parts(m, BYTES, AB),
    "parts that lack an id": lambda m: from_parts(m, BYTES, np.array([[97, 98, 256]], np.uint32)),
    "parts that do not fit": lambda m: from_parts(m, [*BYTES, b"aa"], np.array([[97, 98, 256]], np.uint32)),
    "parts with a gap that merges": lambda m: from_parts(
        m, [*BYTES, b""], np.array([[97, 98, 256]], np.uint32)
    ),
    "parts without a byte": lambda m: from_parts(m, BYTES[:-1], np.empty((0, 3), np.uint32)),
    "parts of 64 bits": lambda m: from_parts(m, [*BYTES, b"ab"], np.array([[97, 98, 256]])),
    "ranks without a byte": lambda m: m.Encoder.from_ranks(BYTES[1:], None),
    "ranks with an empty token": lambda m: m.Encoder.from_ranks([*BYTES, b""], None),
    "ranks with a token twice": lambda m: m.Encoder.from_ranks([*BYTES, b"ab", b"ab"], None),
    "ranks with a string": lambda m: m.Encoder.from_ranks([*BYTES, "ab"], None),
    "ranks with None": lambda m: m.Encoder.from_ranks([None], None),
    "encode bytes": lambda m: new_encoder(m).encode(b"ab"),
    "encode None": lambda m: new_encoder(m).encode(None),
    "encode a surrogate": lambda m: new_encoder(m).encode("\ud800"),
    "encode a batch that is a string": lambda m: new_encoder(m).encode_batch("ab", 1),
    "encode a batch with a surrogate": lambda m: new_encoder(m).encode_batch(["ab", "\ud800"], 2),
    "encode on negative threads": lambda m: new_encoder(m).encode_batch(["ab"], -1),
    "pre-tokens that end too early": lambda m: new_encoder(m).encode_split("ab", [1]),
    "pre-tokens that end too late": lambda m: new_encoder(m).encode_split("ab", [3]),
    "pre-tokens that go back": lambda m: new_encoder(m).encode_split("ab", [2, 1, 2]),
    "a pre-token of nothing": lambda m: new_encoder(m).encode_split("", [0]),
    "a pre-token that ends below zero": lambda m: new_encoder(m).encode_split("ab", [-1]),
    "decode the first unknown id": lambda m: new_decoder(m).decode(np.array([257], np.uint32)),
    "decode the greatest id": lambda m: new_decoder(m).decode(np.array([2**32 - 1], np.uint32)),
    "decode to what is no bytes": lambda m: m.Decoder([b"a", "b"]),
    "decode ids of 64 bits": lambda m: new_decoder(m).decode(HUGE),
    "decode floats": lambda m: new_decoder(m).decode(np.array([97.5])),
    "decode in two dimensions": lambda m: new_decoder(m).decode(AB),
    "decode what is not contiguous": lambda m: new_decoder(m).decode(np.zeros(4, np.uint32)[::2]),
    "decode in another byte order": lambda m: new_decoder(m).decode(np.array([97], ">u4")),
    "decode on negative threads": lambda m: new_decoder(m).decode(np.array([97], np.uint32), -1),
    "decode a list": lambda m: new_decoder(m).decode([97]),
}


def doubling(times: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    first = np.concatenate([[97], np.arange(256, 255 + times)]).astype(np.uint32)
    return np.stack([first, first], axis=1)


@pytest.mark.parametrize("call", WRONG_CALLS.values(), ids=WRONG_CALLS.keys())
def test_a_wrong_argument_is_an_error(module: Any, call: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        call(module)


def test_an_object_that_was_not_made_is_an_error(module: Any) -> None:
    for made in (module.PretokenCounter, module.Encoder):
        with pytest.warns(RuntimeWarning, match="uninitialized"), pytest.raises(TypeError):
            made.__new__(made).encode("text") if made is module.Encoder else made.__new__(made).finish()


def test_what_is_made_once_is_not_made_again(module: Any) -> None:
    encoder = new_encoder(module)
    with pytest.warns(RuntimeWarning, match="already-initialized"), pytest.raises(TypeError):
        encoder.__init__(AB, None)
    assert encoder.encode("ab") == [256]


def test_nothing_is_a_text_too(module: Any) -> None:
    encoder = new_encoder(module)
    assert module.split("gpt4", b"").tolist() == []
    assert encoder.encode("") == []
    assert encoder.encode_split("", []).tolist() == []
    assert new_decoder(module).decode(np.empty(0, np.uint32)) == b""
    assert module.Decoder([]).decode(np.empty(0, np.uint32)) == b""
    assert [array.tolist() for array in encoder.encode_batch([], 4)] == [[], [0]]
    assert [array.tolist() for array in encoder.encode_batch(["", ""], 4)] == [[], [0, 0, 0]]
    pairs, counts, num_tokens = train(module, finished_counter(module, ""))
    assert (pairs.shape, counts.shape, num_tokens) == ((0, 2), (0,), 0)
    assert len(module.Encoder(np.empty((0, 2), np.uint32), None)) == 256


@pytest.mark.parametrize("kind", ["a", "é", "漢", "🙂"])
def test_marks_are_looked_up_in_strings_of_every_width(module: Any, kind: str) -> None:
    marks = np.zeros(0x110000, np.uint8)
    marks[[ord("a"), ord(kind)]] = 1
    for size in [0, 1, 63, 64, 65, 200]:
        assert module.all_marked("a" * size + kind, marks)
        assert not module.all_marked("a" * size + kind + "b", marks)
        assert not module.all_marked("b" + kind * size, marks)
    with pytest.raises(ValueError, match="each code point"):
        module.all_marked(kind, marks[:-1])
    with pytest.raises(TypeError):
        module.all_marked(kind.encode(), marks)


def test_results_outlive_what_made_them(module: Any) -> None:
    encoder = new_encoder(module)
    ids, offsets = encoder.encode_batch(["abab"] * 1000, 2)
    ends = module.split("gpt4", b"a b " * 1000)
    pairs, counts, _ = train(module, finished_counter(module, "abab " * 100))
    del encoder
    assert (ids == 256).all()
    assert offsets[-1] == len(ids) == 2000
    assert ends[-1] == 4000
    assert pairs[0].tolist() == [97, 98]
    assert counts[0] == 200


# --- counters ---------------------------------------------------------------------------------


def test_a_counter_can_be_dropped_at_any_time(module: Any) -> None:
    block = b"some text to count " * 40_000
    for threads in (1, 3):
        new_counter(module, threads=threads)
        counter = new_counter(module, threads=threads)
        counter.begin_source("file")
        for _ in range(8):
            counter.feed(block)
        counter.add_texts(["text"])
        del counter


def test_a_finished_counter_stays_readable(module: Any) -> None:
    counter = finished_counter(module, "a b")
    counter.finish()
    counter.end_source()
    assert sorted(counter.items()) == [(b" b", 1), (b"a", 1)]


def test_fewer_threads_than_asked_for_do_the_same(module: Any, tmp_path: Path) -> None:
    """Stacks of 16 GB in an address space of 40: the system grants two threads."""
    if sys.platform != "linux" or RUNS_WITH_SANITIZERS:
        pytest.skip("address space cannot be made scarce here")
    program = tmp_path / "program.py"
    program.write_text("""if True:
        import os, resource, sys, threading, time

        if len(sys.argv) == 1:  # the size of stacks is read when a program starts
            resource.setrlimit(resource.RLIMIT_STACK, (16 << 30, resource.getrlimit(resource.RLIMIT_STACK)[1]))
            os.execv(sys.executable, [sys.executable, __file__, "again"])
        import numpy
        from tokbench.native import _bpe

        resource.setrlimit(resource.RLIMIT_AS, (40 << 30,) * 2)
        texts = ["ab" * 50_000] * 40
        counter = _bpe.PretokenCounter(pattern="gpt4", special_tokens=[], threads=8, seed=0)
        counter.add_texts(texts)
        try:
            for _ in range(8):
                threading.Thread(target=time.sleep, args=[1], daemon=True).start()
        except RuntimeError:
            print("no more threads")
        counter.finish()
        assert counter.items() == [(texts[0].encode(), 40)]
        encoder = _bpe.Encoder(numpy.array([[97, 98]], dtype=numpy.uint32), None)
        ids, _ = encoder.encode_batch(texts, 8)
        assert len(ids) == 40 * 50_000
    """)
    finished = subprocess.run(
        [sys.executable, program], check=True, timeout=60, capture_output=True, text=True
    )
    assert finished.stdout == "no more threads\n"


# --- files ------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_an_os_error(module: Any, tmp_path: Path) -> None:
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
    """A pipe into which blocks come one by one, with a pause before each; its end to read from."""
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
    """Let KeyboardInterrupt come as from Ctrl-C, out of a signal's handler."""

    def interrupt(signum: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_progress_is_told_while_a_file_is_read(module: Any) -> None:
    told: list[int] = []
    counter = new_counter(module)
    with trickling(blocks=4) as fd:
        assert counter.add_file(fd, "file", told.append) == 40_000
    counter.finish()
    assert told == sorted(told)
    assert told
    assert counter.num_bytes == 40_000


def test_an_error_of_the_callback_ends_counting(module: Any) -> None:
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


def test_a_callback_that_cannot_be_called_ends_counting(module: Any) -> None:
    with trickling(blocks=4) as fd, pytest.raises(TypeError, match="not callable"):
        new_counter(module).add_file(fd, "file", 3)


@needs_posix_signals
def test_an_interrupt_ends_counting(module: Any) -> None:
    with trickling(blocks=50, pause=0.02) as fd, interrupted_after(0.1), pytest.raises(KeyboardInterrupt):
        new_counter(module).add_file(fd, "file", None)


@needs_posix_signals
def test_an_interrupt_ends_waiting_for_a_pipe(module: Any) -> None:
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
    """A counter that takes some tenths of a second to train on."""
    rng = random.Random(1)
    counter = new_counter(module)
    counter.add_texts([" ".join("".join(rng.choices("abcdefghij", k=9)) for _ in range(150_000))])
    counter.finish()
    return counter


def test_an_error_of_the_callback_ends_training(module: Any, many_words: Any) -> None:
    def fail(done: int) -> None:
        raise RuntimeError(f"enough at {done}")

    before = train(module, many_words)
    with pytest.raises(RuntimeError, match="enough at"):
        train(module, many_words, num_merges=100_000, progress=fail)
    after = train(module, many_words)
    assert before[0].tolist() == after[0].tolist()


@needs_posix_signals
def test_an_interrupt_ends_training(module: Any, many_words: Any) -> None:
    with interrupted_after(0.01), pytest.raises(KeyboardInterrupt):
        train(module, many_words, num_merges=100_000)


# --- threads of Python ------------------------------------------------------------------------


def test_one_encoder_serves_many_threads(module: Any) -> None:
    encoder = new_encoder(module)
    texts = [f"ab {number} " * 50 for number in range(50)]
    expected = [encoder.encode(text) for text in texts]
    found: list[list[list[int]]] = []

    def encode() -> None:
        found.append([encoder.encode(text) for text in texts])

    workers = [threading.Thread(target=encode) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 4


def test_a_list_may_change_while_it_is_read(module: Any) -> None:
    encoder = new_encoder(module)
    texts = [f"ab {number} " * 200 for number in range(2000)]
    shrinking = list(texts)

    def shrink() -> None:
        while shrinking:
            shrinking.pop()

    worker = threading.Thread(target=shrink)
    counter = new_counter(module)
    worker.start()
    counter.add_texts(shrinking)
    _, offsets = encoder.encode_batch(shrinking, 2)
    worker.join()
    counter.finish()
    assert len(offsets) <= len(texts) + 1
    assert counter.documents <= len(texts)
