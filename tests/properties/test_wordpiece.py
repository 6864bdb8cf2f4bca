"""The fast WordPiece trainer and the library's encoder, compared to the textbook."""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.kernels import KERNEL_NAMES, chosen, kernel_named
from support.texts import bundled_texts, texts, words
from support.wordpiece import counted_words

from tokbench.backends.wordpiece import WordPieceBackend, reference
from tokbench.backends.wordpiece.agreement import library_words, settled_characters
from tokbench.backends.wordpiece.config import WordPieceConfig
from tokbench.backends.wordpiece.fallback import train as python_train
from tokbench.backends.wordpiece.kernel import current_kernel
from tokbench.backends.wordpiece.reference import longest_match

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tokbench.backends.wordpiece.kernel import Kernel, WordCounter
    from tokbench.backends.wordpiece.tokenizer import WordPieceTokenizer

OBJECTIVES = st.sampled_from(["frequency", "likelihood"])
_SWITCHES = ("lowercase", "clean_text", "handle_chinese_chars")
COUNTS = st.integers(1, 9) | st.sampled_from([2**31, 2**40 + 1, 10**12])
HASHED = st.lists(st.sampled_from("ab#"), min_size=1, max_size=7).map("".join)
"""Words that contain the prefix of pieces inside words, so that two pairs may join to the same piece."""


@pytest.fixture(scope="module", params=KERNEL_NAMES)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    kernel_named(request.param)
    with chosen(request.param):
        return current_kernel()


def counter_of(
    kernel: Kernel, *, special_tokens: Sequence[str] = (), threads: int = 1, **options: object
) -> WordCounter:
    config = WordPieceConfig(**options)  # type: ignore[arg-type]
    return kernel.new_counter(
        special_tokens=list(special_tokens),
        settled=settled_characters(kernel, config.rules),
        max_characters_per_word=config.max_characters_per_word,
        threads=threads,
        seed=threads,
        **asdict(config.rules),
    )


def learned(kernel: Kernel, words: Mapping[str, int], **options: Any) -> list[str]:
    counter = counter_of(kernel, max_characters_per_word=1000)
    counter.finish()
    for word, count in words.items():
        counter.add_counted(word, count)
    return kernel.train(
        counter, **({"min_frequency": 2, "prefix": "##", "seed": 0, "progress": None} | options)
    )


@given(
    words=st.dictionaries(words, COUNTS, max_size=12) | st.dictionaries(HASHED, COUNTS, max_size=12),
    objective=OBJECTIVES,
    num=st.integers(0, 40),
    min_frequency=st.integers(1, 6),
    limit=st.none() | st.integers(1, 3),
    specials=st.sampled_from([[], ["##ab"], ["ab", "##ba"]]),
)
@example(words={"##b": 3, "a##b": 9}, objective="frequency", num=9, min_frequency=1, limit=None, specials=[])
@example(
    words={"#" * 9: 3, "a####": 9}, objective="likelihood", num=20, min_frequency=1, limit=None, specials=[]
)
def test_kernel_learns_as_the_reference(
    kernel: Kernel,
    *,
    words: dict[str, int],
    objective: reference.Objective,
    num: int,
    min_frequency: int,
    limit: int | None,
    specials: list[str],
) -> None:
    letters = reference.alphabet(words, limit=limit)
    first = ["[UNK]", *specials, *reference.first_pieces(words, letters=letters, prefix="##")]
    options: dict[str, Any] = {
        "pieces": first,
        "letters": letters,
        "num_pieces": len(first) + num,
        "objective": objective,
        "min_frequency": min_frequency,
    }
    expected = reference.train(words, **options)
    assert learned(kernel, words, seed=num, **options) == expected


@pytest.mark.parametrize("objective", ["frequency", "likelihood"])
def test_kernel_learns_from_a_text_as_the_reference(kernel: Kernel, objective: reference.Objective) -> None:
    words = Counter(
        library_words(bundled_texts()["parallel/en.txt"][:6000], **asdict(WordPieceConfig().rules))
    )
    letters = reference.alphabet(words)
    first = reference.first_pieces(words, letters=letters, prefix="##")
    options: dict[str, Any] = {
        "pieces": first,
        "letters": letters,
        "num_pieces": len(first) + 150,
        "objective": objective,
        "min_frequency": 2,
    }
    assert learned(kernel, words, **options) == reference.train(words, **options)


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("objective", ["frequency", "likelihood"])
@pytest.mark.parametrize("name", ["en_100mb.txt.xz", "mixed_100mb.txt.xz"])
def test_compiled_trainer_learns_from_a_megabyte_as_the_python_one(
    shared: Path, name: str, objective: str
) -> None:
    with lzma.open(shared / "corpora" / name) as file:
        text = file.read(1 << 20).decode(errors="ignore")
    with chosen("native"):
        native = current_kernel()
    config = WordPieceConfig()
    counter = counted_words([text], config)
    found = counter.characters()
    letters = [character for character, _, _ in found]
    options: dict[str, Any] = {
        "pieces": [*letters, *(f"##{character}" for character, _, is_inside in found if is_inside)],
        "letters": letters,
        "num_pieces": 2 * len(letters) + 3000,
        "objective": objective,
        "min_frequency": 2,
        "prefix": "##",
        "seed": 1,
        "progress": None,
    }
    assert native.train(counter, **options) == python_train(counter, **options)


@given(order=st.permutations(["hug", "hugs", "pug", "pun", "bun", "puns"]), objective=OBJECTIVES)
def test_order_of_words_does_not_change_the_result(
    kernel: Kernel, order: list[str], objective: reference.Objective
) -> None:
    words = {word: len(word) for word in order}
    letters = reference.alphabet(words)
    first = reference.first_pieces(words, letters=letters, prefix="##")
    options = {"pieces": first, "letters": letters, "num_pieces": 30, "objective": objective}
    ordered = dict(sorted(words.items()))
    assert learned(kernel, words, **options) == learned(kernel, ordered, **options)


@cache
def multilingual() -> WordPieceTokenizer:
    names = ("parallel/en.txt", "parallel/ko.txt", "parallel/hi.txt", "code/python.py")
    return WordPieceBackend().train(
        [bundled_texts()[name] for name in names], WordPieceConfig(vocab_size=1500, limit_alphabet=500)
    )


@given(text=texts)
def test_words_are_encoded_as_by_the_reference(text: str) -> None:
    tokenizer = multilingual()
    vocabulary = _vocabulary()
    words = Counter(library_words(text, **asdict(WordPieceConfig().rules)))
    expected = {word: longest_match(word, vocabulary, unknown=1) for word in words}
    assert {word: tokenizer.encode(word) for word in words} == expected
    num_tokens = sum(len(expected[word]) * count for word, count in words.items())
    assert len(tokenizer.encode(text)) == num_tokens


@cache
def _vocabulary() -> dict[str, int]:
    vocabulary: dict[str, int] = json.loads(multilingual().document)["model"]["vocab"]
    return vocabulary


SPECIALS = ["[SEP]", " x", "\nb"]


@given(
    pieces=st.lists(
        texts | st.sampled_from([*SPECIALS, "a\u302e\U0001d165\u0301b", "\u0378", "İ"]), max_size=6
    ),
    options=st.fixed_dictionaries(dict.fromkeys(_SWITCHES, st.booleans())),
    threads=st.integers(1, 3),
    sizes=st.lists(st.integers(1, 30), max_size=20),
)
def test_words_of_documents_equal_the_librarys(
    kernel: Kernel, pieces: list[str], options: dict[str, bool], threads: int, sizes: list[int]
) -> None:
    config = WordPieceConfig(**options)  # type: ignore[arg-type]
    rules = asdict(config.rules)
    text = "".join(pieces)
    expected: Counter[str] = Counter()
    for part in re.split("|".join(map(re.escape, SPECIALS)), text):
        expected.update(2 * library_words(part, **rules))
    counter = counter_of(kernel, special_tokens=SPECIALS, threads=threads, **options)
    counter.add_texts([text])
    counter.begin_source("file")
    data = text.encode()
    for size in [*sizes, len(data)]:
        counter.feed(data[:size])
        data = data[size:]
    counter.end_source()
    counter.finish()
    for part, count in counter.take_unsettled():
        for word in library_words(part, **rules):
            counter.add_counted(word, count)
    expected = Counter({word: count for word, count in expected.items() if len(word) <= 100})
    assert dict(counter.items()) == expected
    assert (counter.words, counter.distinct_words) == (expected.total(), len(expected))
    characters = sorted(set("".join(expected)))
    inside = {character for word in expected for character in word[1:]}
    assert counter.characters() == [
        (
            character,
            sum(word.count(character) * count for word, count in expected.items()),
            character in inside,
        )
        for character in characters
    ]
    assert (counter.documents, counter.num_bytes) == (2 * bool(text), 2 * len(text.encode()))


@pytest.mark.slow
def test_words_do_not_depend_on_where_a_long_text_is_split(kernel: Kernel) -> None:
    text = ("Größe, don't 東京\t[SEP]naïve\u00adly\nx " * 40_000)[:1_500_000]
    expected = Counter(library_words(text.replace("[SEP]", " "), **asdict(WordPieceConfig().rules)))
    for threads in (1, 3):
        counter = counter_of(kernel, special_tokens=["[SEP]"], threads=threads)
        counter.begin_source("file")
        counter.feed(text.encode())
        counter.end_source()
        counter.finish()
        assert dict(counter.items()) == expected


def test_invalid_arguments_are_refused(kernel: Kernel) -> None:
    counter = counter_of(kernel)
    with pytest.raises(ValueError, match="a special token is empty"):
        counter_of(kernel, special_tokens=[""])
    with pytest.raises(UnicodeEncodeError):
        counter.add_texts(["\ud800"])
    counter.finish()
    with pytest.raises(ValueError, match="a count must be positive"):
        counter.add_counted("a", 0)
    with pytest.raises(ValueError, match="min_frequency must be at least 1"):
        kernel.train(
            counter,
            pieces=[],
            letters=[],
            num_pieces=1,
            objective="frequency",
            min_frequency=0,
            prefix="##",
            seed=0,
            progress=None,
        )


def test_ties_and_near_ties_are_decided_exactly(kernel: Kernel) -> None:
    # Scores that float64 cannot distinguish: (2^53 + 1) / (a · b) and its neighbours.
    for low in range(8):
        words = {"ab": 2**53 + low, "cd": 2**53 + 1, "ef": 2**53 + 2, "a": 3, "c": 3, "e": 3}
        letters = reference.alphabet(words)
        first = reference.first_pieces(words, letters=letters, prefix="##")
        options = {"pieces": first, "letters": letters, "num_pieces": 20, "objective": "likelihood"}
        assert learned(kernel, words, **options) == reference.train(words, **options)  # type: ignore[arg-type]
