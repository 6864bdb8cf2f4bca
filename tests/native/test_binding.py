"""Misuse of the compiled module: wrong arguments raise, and nothing crashes, hangs or reads out of bounds.

These tests find most when the module is built with sanitizers, as in the project's checks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from support.bpe_module import AB, finished_counter, from_parts, new_counter, new_decoder, new_encoder, train

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray


BYTES = [bytes([value]) for value in range(256)]
HUGE = np.array([2**32 + 97])
RUNS_WITH_SANITIZERS = "asan" in os.environ.get("LD_PRELOAD", "")
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
def test_invalid_argument_is_refused(module: Any, call: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        call(module)


def test_uninitialized_object_is_refused(module: Any) -> None:
    for kernel_class in (module.PretokenCounter, module.Encoder):
        with pytest.warns(RuntimeWarning, match="uninitialized"), pytest.raises(TypeError):
            kernel_class.__new__(kernel_class).encode(
                "text"
            ) if kernel_class is module.Encoder else kernel_class.__new__(kernel_class).finish()


def test_second_initialization_is_refused(module: Any) -> None:
    encoder = new_encoder(module)
    with pytest.warns(RuntimeWarning, match="already-initialized"), pytest.raises(TypeError):
        encoder.__init__(AB, None)
    assert encoder.encode("ab") == [256]


def test_empty_text_is_valid(module: Any) -> None:
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


@pytest.mark.parametrize("kind", ["a", "é", "漢", "🙂", "\ud800"])
@pytest.mark.parametrize("threads", [1, 3])
def test_unmarked_characters_are_found_in_strings_of_every_width(
    module: Any, kind: str, threads: int
) -> None:
    marks = np.zeros(0x110000, np.uint8)
    marks[[ord("a"), ord(kind)]] = 1
    assert module.unmarked([], marks, threads) == ""
    for size in [0, 1, 63, 64, 65, 200]:
        marked = ["a" * size + kind] * 20
        assert module.unmarked(marked, marks, threads) == ""
        assert module.unmarked([*marked, "c" + kind * size + "bc"], marks, threads) == "bc"
    with pytest.raises(ValueError, match="each code point"):
        module.unmarked([kind], marks[:-1], threads)
    with pytest.raises(TypeError):
        module.unmarked([b"a"], marks, threads)


@pytest.mark.parametrize("number", [31, 32, 33, 2000])
@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_unmarked_characters_is_found(module: Any, number: int, threads: int) -> None:
    marks = np.zeros(0x110000, np.uint8)
    wanted = "".join(map(chr, range(0x100, 0x100 + number)))
    texts = ["xy" + wanted[::-1][start::7] for start in range(7)] * 3
    marks[[ord("x"), ord("y")]] = 1
    assert module.unmarked(texts, marks, threads) == wanted


@pytest.mark.parametrize("kind", ["a", "é", "文", "🙂"])
@pytest.mark.parametrize("threads", [1, 3])
def test_encoding_reports_the_unmarked_characters(module: Any, kind: str, threads: int) -> None:
    marks = np.zeros(0x110000, np.uint8)
    marks[[ord("a"), ord("b"), ord(kind)]] = 1
    encoder = new_encoder(module)
    texts = ["ab" * 50 + kind, "", kind * 70_000 + "b" * 70_000]
    endings = {"": "", "c": "c", "a" * 200 + "ç" * 90: "ç", "\U0010ffff文" * 200 + "ç": "ç文\U0010ffff"}
    for more, unmarked in endings.items():
        for all_texts in [[*texts, more], [more, *texts]]:
            ids, offsets, found = encoder.encode_marked_batch(all_texts, threads, marks)
            expected, expected_offsets = encoder.encode_batch(all_texts, threads)
            assert ids.tolist() == expected.tolist()
            assert offsets.tolist() == expected_offsets.tolist()
            assert found == unmarked.replace(kind, "")
    with pytest.raises(ValueError, match="each code point"):
        encoder.encode_marked_batch(texts, threads, marks[:-1])
    with pytest.raises(UnicodeEncodeError):
        encoder.encode_marked_batch([*texts, "a\ud800"], threads, marks)


@pytest.mark.parametrize("threads", [1, 3])
def test_memory_of_large_results_is_reused(module: Any, threads: int) -> None:
    encoder = new_encoder(module)
    sizes = [3_000_000, 2_500_000, 9_000_000, 2_200_000, 1]
    texts = ["".join(f"{letter * 37}\n" for letter in letters) for letters in ("abc", "xyzw", "bca")]

    def encoded(size: int, place: int) -> NDArray[np.uint32]:
        text = texts[place % 3]
        ids, _ = encoder.encode_batch([text * (size // len(text) + 1)], threads)
        return cast("NDArray[np.uint32]", ids)

    def is_right(ids: NDArray[np.uint32], place: int) -> bool:
        expected = np.array(encoder.encode(texts[place % 3]), np.uint32)
        return len(ids) % len(expected) == 0 and bool((ids.reshape(-1, len(expected)) == expected).all())

    kept: list[tuple[NDArray[np.uint32], int]] = []
    for place, size in enumerate([*sizes, *sizes]):
        if place % 4:
            assert is_right(encoded(size, place), place)  # freed before the next iteration
        else:
            kept.append((encoded(size, place), place))
    assert all(is_right(ids, place) for ids, place in kept)


def test_results_outlive_their_encoder_and_counter(module: Any) -> None:
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


def test_counter_can_be_dropped_at_any_time(module: Any) -> None:
    block = b"some text to count " * 40_000
    for threads in (1, 3):
        new_counter(module, threads=threads)
        counter = new_counter(module, threads=threads)
        counter.begin_source("file")
        for _ in range(8):
            counter.feed(block)
        counter.add_texts(["text"])
        del counter


def test_finished_counter_stays_readable(module: Any) -> None:
    counter = finished_counter(module, "a b")
    counter.finish()
    counter.end_source()
    assert sorted(counter.items()) == [(b" b", 1), (b"a", 1)]


def test_fewer_threads_than_requested_give_the_same_result(module: Any, tmp_path: Path) -> None:
    """Stacks of 16 GB in an address space of 40 GB leave room for two threads."""
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


# --- Python threads ---------------------------------------------------------------------------


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


def test_list_may_change_while_it_is_read(module: Any) -> None:
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
