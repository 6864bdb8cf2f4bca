"""The fast WordPiece trainer and the library's encoder, held to the textbook."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from support.texts import bundled_texts, texts, words

from tokbench.backends.wordpiece import WordPieceBackend, reference
from tokbench.backends.wordpiece.config import WordPieceConfig
from tokbench.backends.wordpiece.longest_match import longest_match
from tokbench.backends.wordpiece.trainer import train
from tokbench.backends.wordpiece.words import _Splitter, count_words
from tokbench.core.progress import no_progress

if TYPE_CHECKING:
    from tokbench.backends.wordpiece.tokenizer import WordPieceTokenizer

OBJECTIVES = st.sampled_from(["frequency", "likelihood"])
_SWITCHES = ("lowercase", "clean_text", "handle_chinese_chars")
COUNTS = st.integers(1, 9) | st.sampled_from([2**31, 2**40 + 1, 10**12])


@given(
    words=st.dictionaries(words, COUNTS, max_size=12),
    objective=OBJECTIVES,
    num=st.integers(0, 40),
    min_frequency=st.integers(1, 6),
    limit=st.none() | st.integers(1, 3),
)
def test_the_fast_trainer_learns_what_the_textbook_does(
    words: dict[str, int], objective: reference.Objective, num: int, min_frequency: int, limit: int | None
) -> None:
    letters = reference.alphabet(words, limit=limit)
    first = ["[UNK]", *reference.first_pieces(words, letters=letters, prefix="##")]
    options = {
        "pieces": first,
        "letters": letters,
        "num_pieces": len(first) + num,
        "objective": objective,
        "min_frequency": min_frequency,
    }
    assert train(words, **options) == reference.train(words, **options)  # type: ignore[arg-type]


@given(order=st.permutations(["hug", "hugs", "pug", "pun", "bun", "puns"]), objective=OBJECTIVES)
def test_the_order_of_words_changes_nothing(order: list[str], objective: reference.Objective) -> None:
    words = {word: len(word) for word in order}
    letters = reference.alphabet(words)
    first = reference.first_pieces(words, letters=letters, prefix="##")
    options = {"pieces": first, "letters": letters, "num_pieces": 30, "objective": objective}
    ordered = dict(sorted(words.items()))
    assert train(words, **options) == train(ordered, **options)  # type: ignore[arg-type]


@cache
def multilingual() -> WordPieceTokenizer:
    names = ("parallel/en.txt", "parallel/ko.txt", "parallel/hi.txt", "code/python.py")
    return WordPieceBackend().train(
        [bundled_texts()[name] for name in names], WordPieceConfig(vocab_size=1500, limit_alphabet=500)
    )


@given(text=texts)
def test_a_text_is_encoded_word_by_word_as_the_textbook_does(text: str) -> None:
    tokenizer = multilingual()
    vocabulary = _vocabulary()
    counted = count_words([text], WordPieceConfig(max_characters_per_word=1000), progress=no_progress)
    expected = {word: longest_match(word, vocabulary, unknown=1) for word in counted.words}
    assert {word: tokenizer.encode(word) for word in counted.words} == expected
    num_tokens = sum(len(expected[word]) * count for word, count in counted.words.items())
    assert len(tokenizer.encode(text)) == num_tokens


@cache
def _vocabulary() -> dict[str, int]:
    vocabulary: dict[str, int] = json.loads(multilingual().document)["model"]["vocab"]
    return vocabulary


@given(text=texts, again=texts, options=st.fixed_dictionaries(dict.fromkeys(_SWITCHES, st.booleans())))
def test_the_words_of_the_parts_are_those_of_the_text(
    text: str, again: str, options: dict[str, bool]
) -> None:
    config = WordPieceConfig(**options)  # type: ignore[arg-type]
    words = _Splitter(config).words
    expected = Counter([*words(text), *words(again), *words(text)])
    assert count_words([text, again, text], config, progress=no_progress).words == expected


def test_ties_and_near_ties_are_decided_exactly() -> None:
    # Scores that no float64 tells apart: (2^53 + 1) / (a · b) and neighbours of it.
    for low in range(8):
        words = {"ab": 2**53 + low, "cd": 2**53 + 1, "ef": 2**53 + 2, "a": 3, "c": 3, "e": 3}
        letters = reference.alphabet(words)
        first = reference.first_pieces(words, letters=letters, prefix="##")
        options = {"pieces": first, "letters": letters, "num_pieces": 20, "objective": "likelihood"}
        assert train(words, **options) == reference.train(words, **options)  # type: ignore[arg-type]
