"""Chunks: they join to the text, have at most the given number of tokens, and end where a reader would split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import model_folders
from support.sentencepiece_models import opened_for_spans, scored, unknown, written
from support.texts import texts

import tokbench
from tokbench.core.chunking import UNITS, unit_ends
from tokbench.core.graphemes import clusters
from tokbench.errors import ConfigError, TextError

if TYPE_CHECKING:
    from pathlib import Path

BACKENDS = ["bpe", "sentencepiece", "wordpiece", "byte"]
WORDS = ["The lower widest newest! é ü 東京。 house of houses.\n\nNext line.\n"] * 40

many = st.lists(
    texts
    | st.sampled_from(["\n\n", ". ", "One. Two! ", " word", "\r\n", "。", "é", "👩\u200d👧", "e\u0301"]),
    max_size=30,
).map("".join)


@pytest.fixture(scope="module", params=BACKENDS)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return tokbench.train(WORDS, backend=request.param)


@given(
    text=many,
    most=st.integers(6, 40),
    overlap=st.integers(0, 3) | st.integers(0, 39),
    respect=st.sampled_from([None, "paragraphs", "lines", "sentences"]),
)
def test_chunks_partition_the_text(tokenizer: Any, text: str, most: int, overlap: int, respect: Any) -> None:
    overlap = min(overlap, most - 1)
    chunks = tokenizer.chunk(text, max_tokens=most, overlap=overlap, respect=respect)
    data = text.encode()
    assert b"".join(chunk.text.encode()[chunk.overlap :] for chunk in chunks) == data
    before = 0
    for chunk in chunks:
        assert chunk.text.encode() == data[chunk.start : chunk.stop]
        assert chunk.start + chunk.overlap == before < chunk.stop
        assert chunk.num_tokens == len(tokenizer.encode(chunk.text)) <= most
        before = chunk.stop
    if chunks:
        assert before == len(data)
        assert chunks[0].overlap == 0


def ends(text: str) -> set[int]:
    """Return the byte offsets of the boundaries of grapheme clusters."""
    positions, place = {0}, 0
    for cluster in clusters(text):
        place += len(cluster.encode())
        positions.add(place)
    return positions


@given(text=many, overlap=st.integers(0, 8))
def test_chunks_end_at_grapheme_boundaries(text: str, overlap: int) -> None:
    tokenizer = tokbench.train([], backend="byte")
    most = 60
    assume(max(map(len, map(str.encode, clusters(text))), default=0) <= most - overlap)
    for chunk in tokenizer.chunk(text, max_tokens=most, overlap=overlap):
        assert {chunk.start, chunk.stop} <= ends(text)


@given(text=many, most=st.integers(8, 60), respect=st.sampled_from(["paragraphs", "lines", "sentences"]))
def test_chunk_ends_at_the_last_boundary_that_fits(text: str, most: int, respect: Any) -> None:
    tokenizer, data = tokbench.train([], backend="byte"), text.encode()
    for chunk in tokenizer.chunk(text, max_tokens=most, respect=respect):
        limit = chunk.start + most
        if limit >= len(data):
            assert chunk.stop == len(data)
            continue
        units = UNITS[UNITS.index(respect) :]
        candidates = ([end for end in unit_ends(data, unit) if chunk.start < end <= limit] for unit in units)
        best = next((candidate[-1] for candidate in candidates if candidate), None)
        assert best is None or chunk.stop == best


def test_chunks_of_an_example_worked_by_hand() -> None:
    tokenizer = tokbench.train([], backend="byte")
    text = "One. Two two.\nThree\n\nFour four four four."
    assert [chunk.text for chunk in tokenizer.chunk(text, max_tokens=22, respect="paragraphs")] == [
        "One. Two two.\nThree\n\n",
        "Four four four four.",
    ]
    assert [chunk.text for chunk in tokenizer.chunk(text, max_tokens=16, respect="lines")] == [
        *("One. Two two.\n", "Three\n\n", "Four four four", " four."),
    ]
    assert [chunk.text for chunk in tokenizer.chunk(text, max_tokens=10, respect="sentences")][:3] == [
        *("One. ", "Two two.\n", "Three\n\n"),
    ]
    assert [chunk.text for chunk in tokenizer.chunk("x" * 10, max_tokens=4)] == ["xxxx", "xxxx", "xx"]
    chunks = tokenizer.chunk("one two three four", max_tokens=10, overlap=4)
    assert [(chunk.text, chunk.overlap) for chunk in chunks] == [
        *(("one two", 0), (" two three", 4), ("hree four", 4)),
    ]


@pytest.mark.parametrize(
    ("unit", "text", "expected"),
    [
        (
            "sentences",
            'He said "No." Then (yes?) he left... Dr. X',
            ['He said "No." ', "Then (yes?) ", "he left... ", "Dr. "],
        ),
        ("sentences", "東京。大阪！「京都。」奈良", ["東京。", "大阪！", "「京都。」"]),
        ("sentences", "3.14 is a number. e.g. this", ["3.14 is a number. ", "e.g. "]),
        ("lines", "a\r\nb\rc\nd", ["a\r\n", "b\r", "c\n"]),
        ("paragraphs", "a\n\nb\n \t\nc\nd", ["a\n\n", "b\n \t\n"]),
        ("words", "  a  b\nc", ["  a", "  b"]),
    ],
)
def test_unit_boundaries_are_found(unit: str, text: str, expected: list[str]) -> None:
    data, units, before = text.encode(), [], 0
    for end in unit_ends(data, unit):
        units.append(data[before:end].decode())
        before = end
    assert units == expected


def test_empty_text_has_no_chunks(tokenizer: Any) -> None:
    assert tokenizer.chunk("", max_tokens=3) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"max_tokens": -5}, "max_tokens is -5"),
        ({"max_tokens": 2.5}, "max_tokens is 2.5"),
        ({"max_tokens": 5, "overlap": 5}, "the largest overlap is 4"),
        ({"max_tokens": 5, "overlap": -1}, "overlap is -1"),
        ({"max_tokens": 5, "respect": "sentence"}, "did you mean 'sentences'"),
    ],
)
def test_invalid_options_are_refused(tokenizer: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tokenizer.chunk("some text", **options)
    assert words in f"{caught.value.message} {caught.value.hint}"


def test_character_with_too_many_tokens_is_refused() -> None:
    tokenizer = tokbench.train([], backend="byte")
    with pytest.raises(TextError, match="'東' at byte 1 has 3 tokens, and a chunk at most 2"):
        tokenizer.chunk("a東", max_tokens=2)
    with pytest.raises(TextError, match="surrogate"):
        tokenizer.chunk("a\ud800", max_tokens=2)


def test_characters_with_one_token_each_fit_where_the_text_has_more() -> None:
    # "ab" is "▁" and "ab", and both begin at byte 0; by themselves, "▁a" and "▁b" are one token.
    scores = {"▁": -2.0, "▁a": -4.0, "▁b": -4.0, "a": -9.0, "b": -9.0, "ab": -1.0}
    tokenizer = opened_for_spans(written([unknown(), *scored(scores)]), "auto")
    chunks = tokenizer.chunk("ab", max_tokens=1)
    assert [(chunk.text, chunk.num_tokens) for chunk in chunks] == [("a", 1), ("b", 1)]


def test_encoded_characters_are_linear_in_the_text() -> None:
    tokenizer = tokbench.train([], backend="byte")
    calls = 0
    encode = tokenizer.encode

    def counted(text: str, **options: Any) -> list[int]:
        nonlocal calls
        calls += len(text)
        return encode(text, **options)

    tokenizer.encode = counted
    for text in ("word " * 4000, "x" * 20_000, "é" * 10_000, "\n" * 20_000, "🇩🇪" * 5000):
        calls = 0
        tokenizer.chunk(text, max_tokens=100, overlap=20, respect="sentences")
        assert calls < 2 * len(text) + 1000


def test_template_tokens_count_if_requested(tmp_path: Path) -> None:
    tokenizer = tokbench.load(model_folders.bert(tmp_path / "bert"))
    text = "the cat sat on the mat. " * 9
    chunks = tokenizer.chunk(text, max_tokens=12, template=True)
    assert b"".join(chunk.text.encode()[chunk.overlap :] for chunk in chunks).decode() == text
    for chunk in chunks:
        [row] = tokenizer.batch([chunk.text]).ids.tolist()
        assert chunk.num_tokens == len(row) == len(tokenizer.encode(chunk.text)) + 2 <= 12
    assert [chunk.text for chunk in chunks] == [chunk.text for chunk in tokenizer.chunk(text, max_tokens=10)]
    with pytest.raises(ConfigError, match="the template has 2 tokens and leaves no room in chunks of 2"):
        tokenizer.chunk(text, max_tokens=2, template=True)
    with pytest.raises(ConfigError, match="leaves no room in chunks of 9 tokens, 2 of them of the template"):
        tokenizer.chunk(text, max_tokens=9, overlap=7, template=True)
