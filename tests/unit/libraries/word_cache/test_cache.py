"""Texts encoded word by word: the arrays are those of whole texts, and the library is asked once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import KERNEL_NAMES, chosen, kernel_named
from support.toys import Toy

from tokbench.core.token_arrays import segmented
from tokbench.errors import TextError
from tokbench.libraries.word_cache.cache import WordCache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.core.encoded import EncodedSpans

TOY = Toy("a", "ab", "é", " b")
CUT = "white space"


@pytest.fixture(params=KERNEL_NAMES, autouse=True)
def cutter(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test runs with the compiled numbering and with its twin."""
    kernel_named(request.param)  # skips where it is absent
    with chosen(request.param):
        yield


class Library:
    """Encodes, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.threads: int | None = None

    def encode(self, words: list[str], *, threads: int | None) -> EncodedSpans:
        self.asked += words
        self.threads = threads
        return segmented(TOY, words)


def same(one: EncodedSpans, other: EncodedSpans) -> bool:
    pairs = [
        (one.encoded.ids, other.encoded.ids),
        (one.encoded.offsets, other.encoded.offsets),
        *((getattr(one, name), getattr(other, name)) for name in ("starts", "stops", "kinds")),
    ]
    return all(np.array_equal(left, right) and left.dtype == right.dtype for left, right in pairs)


@given(
    batches=st.lists(st.lists(st.text("ab é\n", max_size=12), max_size=6), max_size=4), most=st.integers(0, 9)
)
def test_texts_are_as_they_are_without_it(batches: list[list[str]], most: int) -> None:
    cache = WordCache(cut=CUT, encode=Library().encode, most_tokens=most)
    for texts in batches:
        expected = segmented(TOY, texts)
        assert same(cache.encode_spans(texts), expected)
        found = cache.encode_batch(texts)
        assert found.ids.tolist() == expected.encoded.ids.tolist()
        assert found.offsets.tolist() == expected.encoded.offsets.tolist()


def test_the_library_is_asked_for_each_word_once_until_all_are_forgotten() -> None:
    library = Library()
    cache = WordCache(cut=CUT, encode=library.encode, most_tokens=6)
    cache.encode_spans(["a b", "a b a"])
    assert library.asked == ["a", " b", " a"]
    cache.encode_spans(["a a"])
    assert library.asked == ["a", " b", " a"]
    cache.encode_spans(["ab b aa"])
    cache.encode_spans(["a"])
    assert library.asked == ["a", " b", " a", "ab", " aa", "a"]


@pytest.mark.parametrize("bound", [{"most_tokens": 3}, {"most_bytes": 9}], ids=str)
def test_words_without_tokens_are_forgotten_too(bound: dict[str, int]) -> None:
    library = Library()

    def nothing(words: list[str], *, threads: int | None) -> EncodedSpans:
        library.encode(words, threads=threads)
        return segmented(TOY, [""] * len(words))

    cache = WordCache(cut=CUT, encode=nothing, **bound)
    for text in [" ", "  ", "   ", "   ", "    ", " "]:
        assert len(cache.encode_batch([text]).ids) == 0
    assert library.asked == [" ", "  ", "   ", "    ", " "]


def test_the_library_takes_as_many_threads_as_are_wanted() -> None:
    library = Library()
    WordCache(cut=CUT, encode=library.encode).encode_batch(["a b"], threads=3)
    assert library.threads == 3


def test_threads_may_share_it() -> None:
    cache = WordCache(cut=CUT, encode=Library().encode, most_tokens=50)
    texts = [f"a{'b' * (number % 7)} é{' ' * (number % 3)}b" for number in range(300)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: cache.encode_spans([text]), texts))
    assert all(same(one, segmented(TOY, [text])) for one, text in zip(found, texts, strict=True))


def test_after_an_error_of_the_library_it_is_asked_again() -> None:
    library = Library()
    answers = iter([OSError("no"), None])

    def encode(words: list[str], *, threads: int | None) -> EncodedSpans:
        if (error := next(answers, None)) is not None:
            raise error
        return library.encode(words, threads=threads)

    cache = WordCache(cut=CUT, encode=encode)
    with pytest.raises(OSError, match="no"):
        cache.encode_spans(["a b"])
    assert same(cache.encode_spans(["a b"]), segmented(TOY, ["a b"]))
    assert library.asked == ["a", " b"]


def test_a_surrogate_is_an_error_of_its_text() -> None:
    with pytest.raises(TextError, match=r"U\+D800, at character 3"):
        WordCache(cut=CUT, encode=Library().encode).encode_spans(["a", "ab \ud800"])
