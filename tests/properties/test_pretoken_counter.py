"""Counting: both kernels count the pre-tokens of the textbook, however the text reaches them."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import counted, counted_by_definition, learn, new_counter
from support.texts import bundled_texts, texts, words

from tokbench.backends.bpe.split_patterns import PATTERN_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tokbench.backends.bpe.kernel import Kernel, PretokenCounter

MIB = 1 << 20
NUM_THREADS = [1, 2, 5]

SPECIAL_TOKENS = ["<|end of text|>", "stop\nhere", "aba", "ab a", "<e>", "é"]
"""Some overlap, and some contain a good place to cut: a space or a line end between letters."""

special_tokens = st.lists(st.sampled_from(SPECIAL_TOKENS), unique=True, max_size=3)
documents = st.lists(
    st.lists(st.sampled_from([*SPECIAL_TOKENS, "a", "b", " ", "\n", "a b"]) | words, max_size=12).map("".join)
    | texts,
    max_size=6,
)


def counts_of(counter: PretokenCounter) -> Counter[bytes]:
    items = counter.items()
    counts = Counter(dict(items))
    assert len(counts) == len(items) == counter.distinct_pretokens
    return counts


# Counting


@pytest.mark.parametrize("name", PATTERN_NAMES)
@given(documents=documents, special_tokens=special_tokens)
def test_counts_equal_the_definition(
    kernel: Kernel, name: str, documents: list[str], special_tokens: list[str]
) -> None:
    counter = counted(kernel, documents, pattern=name, special_tokens=special_tokens)
    expected = counted_by_definition(documents, pattern=name, special_tokens=special_tokens)
    assert counts_of(counter) == expected
    assert counter.pretokens == expected.total()
    assert counter.documents == sum(1 for text in documents if text)
    assert counter.num_bytes == sum(len(text.encode()) for text in documents)


@given(documents=documents, special_tokens=special_tokens, order=st.randoms(use_true_random=False))
def test_result_does_not_depend_on_threads_seed_or_document_order(
    kernel: Kernel, documents: list[str], special_tokens: list[str], order: random.Random
) -> None:
    def trained(threads: int, seed: int) -> tuple[object, ...]:
        counter = counted(kernel, documents, special_tokens=special_tokens, threads=threads, seed=seed)
        merges, num_tokens = learn(kernel, counter, num_merges=30, seed=seed)
        return counts_of(counter), counter.pretokens, counter.documents, merges, num_tokens

    expected = trained(threads=1, seed=0)
    for threads in NUM_THREADS:
        order.shuffle(documents)
        assert trained(threads, seed=order.getrandbits(63)) == expected


# Sources: bytes in blocks, or read from a file


def blocks_of(data: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    start = 0
    for size in sizes:
        yield data[start : start + size]
        start += size
    yield data[start:]


def feed(counter: PretokenCounter, blocks: Iterable[bytes], *, documents: str = "file") -> None:
    counter.begin_source(documents)
    for block in blocks:
        counter.feed(block)
    counter.end_source()


def lines(text: str) -> list[str]:
    """Return the lines without line ends and without blank lines; "\\r\\n" is one line end."""
    return [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]


@given(documents=documents, special_tokens=special_tokens, sizes=st.lists(st.integers(0, 9)))
def test_source_may_arrive_in_any_blocks(
    kernel: Kernel, documents: list[str], special_tokens: list[str], sizes: list[int]
) -> None:
    counter = new_counter(kernel, special_tokens=special_tokens)
    for text in documents:
        feed(counter, blocks_of(text.encode(), sizes))
    counter.finish()
    assert counts_of(counter) == counted_by_definition(documents, special_tokens=special_tokens)
    assert counter.documents == sum(1 for text in documents if text)
    assert counter.num_bytes == sum(len(text.encode()) for text in documents)
    assert counter.invalid is None


@given(
    text=st.lists(texts | st.sampled_from(["\n", "\r\n", "\r", " ", "\x1c", "\u3000", "<e>"])).map("".join)
)
def test_each_line_may_be_a_document(kernel: Kernel, text: str) -> None:
    counter = new_counter(kernel, special_tokens=["<e>"])
    feed(counter, [text.encode()], documents="lines")
    counter.finish()
    expected = lines(text)
    assert counts_of(counter) == counted_by_definition(expected, special_tokens=["<e>"])
    assert counter.documents == len(expected)
    assert counter.num_bytes == sum(len(line.encode()) for line in expected)


def test_blank_lines_are_no_documents(kernel: Kernel) -> None:
    counter = new_counter(kernel)
    feed(counter, [b"a\r\n\n \t\n\x1c\x1d\n\xe3\x80\x80\nb\rc\r\n\r\n\xe2\x80\x8b\nd\r"], documents="lines")
    counter.finish()
    assert counter.documents == 4
    assert counts_of(counter) == Counter([b"a", b"b", b"\r", b"c", b"\xe2\x80\x8b", b"d", b"\r"])


def write_and_close(fd: int, data: bytes) -> None:
    with os.fdopen(fd, "wb") as file:
        file.write(data)


def test_file_and_pipe_are_read_unchanged(kernel: Kernel, tmp_path: Path) -> None:
    data = "".join(bundled_texts().values()).encode()
    path = tmp_path / "text"
    path.write_bytes(data)
    from_file, from_pipe = new_counter(kernel), new_counter(kernel)
    with path.open("rb", buffering=0) as file:
        assert from_file.add_file(file.fileno(), "file", None) == len(data)
    reading, writing = os.pipe()
    writer = threading.Thread(target=write_and_close, args=(writing, data))
    writer.start()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        assert from_pipe.add_file(pipe.fileno(), "file", None) == len(data)
    writer.join()
    from_file.finish()
    from_pipe.finish()
    assert counts_of(from_file) == counts_of(from_pipe) == counted_by_definition([data.decode()])


def test_reading_reports_its_progress(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"some words \n" * (3_000_000 if kernel.name == "native" else 30_000))
    reported: list[int] = []
    counter = new_counter(kernel)
    with path.open("rb", buffering=0) as file:
        size = counter.add_file(file.fileno(), "file", reported.append)
    assert size == path.stat().st_size
    assert reported == sorted(reported)
    assert 0 < reported[0] <= reported[-1] <= size


# Texts of several batches, whose borders are near every place where a cut could be wrong


def words_between_special_tokens(size: int) -> str:
    source = random.Random(1)
    parts: list[str] = []
    while size > 0:
        part = source.choice(
            [*SPECIAL_TOKENS, *SPECIAL_TOKENS, "word ", "a b", "\nab", " 12", "\t", "ab", "日本"]
        )
        parts.append(part)
        size -= len(part.encode())
    return "".join(parts)


LONG_TEXTS = {
    "special tokens alone": lambda size: "<|end of text|>stop\nhere" * (size // 24),
    "words between special tokens": words_between_special_tokens,
    "words": lambda size: "it's a quiet place, isn't it? \n\n  yes\r\n" * (size // 40),
    "CJK and line ends": lambda size: "日本語のテキスト。\n東京\u3000大阪\n" * (size // 43),
    "no place to cut": lambda size: "12 34\t...\r\n" * (size // 11),
    "one place to cut": lambda size: "1 " * (size // 4) + "a b" + " 1" * (size // 4),
    "one letter": lambda size: "a" * size,
    "white space": lambda size: " \n\t" * (size // 3),
    "letters and line ends": lambda size: "a\n\nb \n c\n" * (size // 9),
}

CUT_IN_EVERY_WAY = ("words between special tokens", "one place to cut", "one letter")


def assert_counts_match_definition(native: Kernel, text: str, *, pattern: str, block_size: int) -> None:
    specials = [token for token in SPECIAL_TOKENS if token in text]
    data = text.encode()
    blocks = [data[start : start + block_size] for start in range(0, len(data), block_size)]
    expected = counted_by_definition([text], pattern=pattern, special_tokens=specials)
    for threads in (1, 2):
        counter = new_counter(native, pattern=pattern, special_tokens=specials, threads=threads)
        feed(counter, blocks)
        counter.finish()
        assert counts_of(counter) == expected
        assert (counter.documents, counter.num_bytes) == (1, len(data))


@pytest.mark.parametrize(
    "kind",
    [
        *CUT_IN_EVERY_WAY,
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in LONG_TEXTS if kind not in CUT_IN_EVERY_WAY),
    ],
)
def test_long_text_is_split_for_threads_without_changing_the_counts(native: Kernel, kind: str) -> None:
    text = LONG_TEXTS[kind](5 * MIB // 4)
    assert_counts_match_definition(native, text, pattern="gpt4", block_size=77_777)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PATTERN_NAMES if name != "gpt4"])
def test_long_text_is_split_for_threads_with_any_pattern(native: Kernel, name: str) -> None:
    text = words_between_special_tokens(5 * MIB // 4)
    assert_counts_match_definition(native, text, pattern=name, block_size=MIB // 2)


borders = st.lists(
    st.sampled_from([*" \n\ra.1'é亜", "\n", " a", "a b", "\r\n", ".\n", "\u3000", "\u0301", *SPECIAL_TOKENS]),
    max_size=10,
).map("".join)


@pytest.mark.parametrize("name", PATTERN_NAMES)
@given(border=borders, special_tokens=special_tokens)
def test_split_inside_any_text_does_not_change_the_counts(
    native: Kernel, name: str, border: str, special_tokens: list[str]
) -> None:
    # A whole batch of one letter leaves the border as the only place to cut; the expected counts
    # have a short pre-token in place of the long one.
    after = "." * 20
    counter = new_counter(native, pattern=name, special_tokens=special_tokens)
    feed(counter, [("b" * MIB + border + after).encode()])
    counter.finish()
    expected = counted_by_definition(["bbb" + border + after], pattern=name, special_tokens=special_tokens)
    long, short = b"b" * MIB, b"bbb"
    assert Counter({key.replace(long, short): count for key, count in counts_of(counter).items()}) == expected


@pytest.mark.parametrize(
    "kind",
    [
        "words between special tokens",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("CJK and line ends", "one letter")),
    ],
)
def test_long_texts_are_counted_by_line(native: Kernel, kind: str) -> None:
    text = LONG_TEXTS[kind](5 * MIB // 4)
    counter = new_counter(native, special_tokens=SPECIAL_TOKENS, threads=2)
    feed(counter, blocks_of(text.encode(), [100_003] * 20), documents="lines")
    counter.finish()
    expected = lines(text)
    assert counts_of(counter) == counted_by_definition(expected, special_tokens=SPECIAL_TOKENS)
    assert counter.documents == len(expected)


def test_many_documents_fill_several_batches(native: Kernel) -> None:
    texts = list(bundled_texts().values()) * 6
    counter = counted(native, texts, pattern="gpt4o", threads=2)
    once = counted_by_definition(bundled_texts().values(), pattern="gpt4o")
    assert counts_of(counter) == Counter({pretoken: 6 * count for pretoken, count in once.items()})
    assert counter.documents == len(texts)


# Errors are the same on both kernels


def first_invalid(data: bytes) -> int:
    with pytest.raises(UnicodeDecodeError) as caught:
        data.decode()
    return caught.value.start


@pytest.mark.parametrize("mode", ["file", "lines"])
@pytest.mark.parametrize(
    "bad",
    [
        b"\xff",
        b"\x80",
        b"\xc3",
        b"\xe4\xb8",
        b"\xed\xa0\x80",
        b"\xf0\x9f\x99",
        b"\xc0\xaf",
        b"\xf4\x90\x80\x80",
    ],
)
def test_invalid_utf8_is_reported_by_source_and_offset(kernel: Kernel, mode: str, bad: bytes) -> None:
    counter = new_counter(kernel)
    feed(counter, [b"good \xe4\xb8\x80\n"], documents=mode)
    assert counter.invalid is None
    feed(counter, [b"caf\xc3", b"\xa9 " + bad, b"\nx", b"\xff"], documents=mode)
    feed(counter, [b"\xff"], documents=mode)
    counter.finish()
    assert counter.invalid == (1, len("café ".encode()))


@given(data=st.binary(max_size=60), sizes=st.lists(st.integers(0, 9)))
def test_invalid_utf8_is_found_where_decoding_finds_it(kernel: Kernel, data: bytes, sizes: list[int]) -> None:
    data += b"\xff"
    counter = new_counter(kernel)
    feed(counter, blocks_of(data, sizes))
    counter.finish()
    assert counter.invalid == (0, first_invalid(data))


@pytest.mark.parametrize("threads", NUM_THREADS)
@pytest.mark.parametrize("places", [[2_500_000], [1_048_570, 1_048_580], [0, 3_000_000], [3_145_730]])
def test_first_invalid_byte_of_a_long_source_is_found(
    native: Kernel, threads: int, places: list[int]
) -> None:
    data = bytearray("words and 文字 \nagain ".encode() * 150_000)
    for place in places:
        data[place] = 0xFF
    counter = new_counter(native, threads=threads)
    feed(counter, blocks_of(bytes(data), [MIB] * 4))
    counter.finish()
    assert counter.invalid == (0, first_invalid(bytes(data)))


@pytest.mark.parametrize("name", ["gpt5", "", "custom", r"\w+|\W"])
def test_only_named_patterns_run_on_a_kernel(kernel: Kernel, name: str) -> None:
    with pytest.raises(ValueError, match=r'^no scanner for the pattern "'):
        new_counter(kernel, pattern=name)
    with pytest.raises(ValueError, match=r'^no scanner for the pattern "'):
        kernel.split(name, b"a")
    with pytest.raises(ValueError, match=r'^no scanner for the pattern "'):
        kernel.encoder_from_ranks([bytes([value]) for value in range(256)], name)


def test_empty_special_token_is_refused(kernel: Kernel) -> None:
    with pytest.raises(ValueError, match=r"^a special token is empty$"):
        new_counter(kernel, special_tokens=["<e>", ""])


@pytest.mark.parametrize("count", [0, -1])
def test_count_that_is_not_positive_is_refused(kernel: Kernel, count: int) -> None:
    with pytest.raises(ValueError, match=r"^a count must be positive$"):
        new_counter(kernel, pattern=None).add_counted("ab", count)


def test_unknown_document_unit_is_refused(kernel: Kernel) -> None:
    with pytest.raises(ValueError, match=r'^documents must be "file" or "lines", not "words"$'):
        new_counter(kernel).begin_source("words")


def test_lone_surrogates_are_refused(kernel: Kernel) -> None:
    with pytest.raises(UnicodeEncodeError):
        new_counter(kernel).add_texts(["good", "bad \ud800"])
    with pytest.raises(UnicodeEncodeError):
        new_counter(kernel, pattern=None).add_counted("\udfff", 1)
