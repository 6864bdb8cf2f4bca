"""Tests for all counts, on examples counted by hand; each test runs on both kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.kernels import KERNEL_NAMES
from support.measuring import Document, add, new_measurer, tokens_of

from tokbench.core.tokens import TokenKind
from tokbench.metrics.metric import COUNTS, OPERATORS

if TYPE_CHECKING:
    from tokbench.metrics.kernel import Measurer

NORMAL, BYTE, UNKNOWN, SPECIAL = map(list(TokenKind).index, TokenKind)


@pytest.fixture(params=KERNEL_NAMES)
def measurer(request: pytest.FixtureRequest) -> Measurer:
    return new_measurer(request.param)


def counted(measurer: Measurer, document: Document, *names: str) -> tuple[int, ...]:
    """Return the named counts of one document."""
    add(measurer, [document])
    totals = dict(zip(COUNTS, measurer.totals()[0].tolist(), strict=True))
    return tuple(totals[name] for name in names)


def words_of(measurer: Measurer, text: str) -> list[str]:
    """Return the distinct words of a text in byte order."""
    add(measurer, [tokens_of(text)])
    return sorted(word.decode() for word, _, _ in measurer.worst_words(0, 1000))


# --- tokens, characters, lines ----------------------------------------------------------------


def test_empty_document_has_no_counts(measurer: Measurer) -> None:
    assert counted(measurer, Document(b"", (), ()), *COUNTS) == (0,) * len(COUNTS)
    assert counted(measurer, Document(b"", ((0, 0),), (UNKNOWN,)), "tokens", "unknown_tokens", "bytes") == (
        1,
        1,
        0,
    )


@pytest.mark.parametrize(
    ("text", "lines"), [("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2), ("a\r\nb\r\n", 2), ("a\rb\u2028c", 1)]
)
def test_lines_end_with_a_line_feed(measurer: Measurer, text: str, lines: int) -> None:
    assert counted(measurer, tokens_of(text), "lines") == (lines,)


def test_characters_are_code_points(measurer: Measurer) -> None:
    document = tokens_of("né", "e\u0301 ", b"\xf0\x9f", b"\x99\x82", "語")  # an emoji in two tokens
    names = "bytes", "chars", "multibyte_chars", "cut_chars"
    assert counted(measurer, document, *names) == (14, 7, 4, 1)


def test_invalid_byte_counts_as_one_character(measurer: Measurer) -> None:
    document = tokens_of(b"a\xe6\xbc", b"b\xff\xed\xa0\x80", b"\xc3")
    assert counted(measurer, document, "chars", "multibyte_chars", "words", "cut_chars") == (9, 0, 2, 0)


def test_empty_token_cuts_the_character_around_it(measurer: Measurer) -> None:
    document = Document("né".encode(), ((0, 3), (2, 3), (3, 3)), (0, 0, 0))
    assert counted(measurer, document, "cut_chars", "split_words") == (1, 1)
    empty = Document("né".encode(), ((0, 0), (2, 2), (2, 2)), (0, 0, 0))
    assert counted(measurer, empty, "tokens", "cut_chars", "split_words", "identifier_cuts") == (6, 2, 1, 0)


def test_fallback_and_unknown_tokens_leave_bytes_uncovered(measurer: Measurer) -> None:
    spans = ((0, 1), (1, 2), (1, 4), (4, 4), (5, 8), (8, 9))
    document = Document("a語 東b".encode(), spans, (NORMAL, BYTE, BYTE, UNKNOWN, UNKNOWN, SPECIAL))
    names = "tokens", "unknown_tokens", "fallback_tokens", "uncovered_bytes"
    assert counted(measurer, document, *names) == (6, 2, 2, 6)


def test_words_outside_all_tokens_are_uncovered(measurer: Measurer) -> None:
    dropped = Document("né, 東 b?".encode(), ((0, 1), (5, 8), (10, 11)), (NORMAL, UNKNOWN, NORMAL))
    assert counted(measurer, dropped, "words", "uncovered_bytes") == (3, len("東b".encode()))
    document = Document(b"one two", ((0, 3), (3, 3), (5, 5)), (NORMAL, NORMAL, NORMAL))
    assert counted(measurer, document, "words", "uncovered_bytes") == (5, 4 + len("two"))


# --- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat's 2 dogs' end.", ["2", "The", "cat's", "dogs", "end"]),
        ("l\u2019été, Mel\u00b7la e.g. a,b", ["Mel\u00b7la", "a", "b", "e", "g", "l\u2019été"]),
        ("1,000.50 1. .5 1,,2 3.x", ["1", "1,000.50", "2", "3", "5", "x"]),
        ("don''t '' a'1 1'a", ["1", "a", "don", "t"]),
        ("x1,2 m² Ⅷ½ _ a_b __", ["_", "__", "a_b", "m²", "x1,2", "Ⅷ½"]),
        ("नमस्ते दुनिया", ["दुनिया", "नमस्ते"]),
        ("le\u0301'a \u0301b \u0301", ["b", "le\u0301'a"]),
        ("1\u0301.2", ["1\u0301.2"]),
        ("می\u200cخواهم \u200cx", ["x", "می\u200cخواهم"]),
        ("한국어 텍스트", ["텍스트", "한국어"]),
        ("abc漢字1", ["1", "abc", "字", "漢"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("コー'ヒ", ["コ", "ヒ", "ー"]),
        ("Ёлка-палка", ["Ёлка", "палка"]),
        ("🙂 — …", []),
    ],
)
def test_words_are_split_from_the_text(measurer: Measurer, text: str, words: list[str]) -> None:
    assert words_of(measurer, text) == sorted(words, key=str.encode)


def test_english_words_are_whole_or_split(measurer: Measurer) -> None:
    document = tokens_of("The", " cat", "'s", " token", "iz", "er", ".")
    assert counted(measurer, document, "tokens", "words", "split_words", "chars") == (7, 3, 2, 20)
    assert measurer.worst_words(0, 2) == [(b"tokenizer", 3, 1), (b"cat's", 2, 1)]
    assert measurer.word_types().tolist() == [[3, 1]]


def test_word_of_an_unspaced_script_is_one_letter(measurer: Measurer) -> None:
    document = tokens_of("東京", b"\xe3\x81", b"\xab", "ที", "่นี่", " ok")
    names = "words", "unspaced_words", "split_words", "cut_chars"
    assert counted(measurer, document, *names) == (6, 5, 2, 1)


def test_uncovered_white_space_does_not_split_words(measurer: Measurer) -> None:
    document = Document(b"one two  three", ((0, 3), (4, 7), (9, 11), (11, 14)), (0,) * 4)
    assert counted(measurer, document, "words", "split_words") == (3, 1)
    assert measurer.word_types().tolist() == [[3, 2]]


def test_uncovered_word_is_neither_split_nor_whole(measurer: Measurer) -> None:
    document = Document(b"one one", ((0, 3),), (0,))
    assert counted(measurer, document, "words", "split_words") == (2, 0)
    assert measurer.word_types().tolist() == [[1, 0]]
    assert measurer.worst_words(0, 1) == [(b"one", 1, 2)]


def test_most_fragmented_words_are_sorted_by_tokens_then_frequency_then_bytes() -> None:
    for name in KERNEL_NAMES:
        measurer = new_measurer(name)
        document = tokens_of("a", "b", " b", " d", " c", " c", " a", "b", "c", " ", "x" * 20, "x")
        add(measurer, [document])
        long = b"x" * 21
        expected = [(b"abc", 3, 1), (b"ab", 2, 1), (long, 2, 1), (b"c", 1, 2), (b"b", 1, 1), (b"d", 1, 1)]
        assert measurer.worst_words(0, 10) == expected
        assert measurer.worst_words(0, 3) == expected[:3]
        assert measurer.worst_words(0, 0) == []


# --- numbers ----------------------------------------------------------------------------------

NUMBER_COUNTS = "numbers", "short_numbers", "whole_short_numbers", "number_tokens"
DIGIT_COUNTS = "digit_boundaries", "digit_cuts", "digit_hits"


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["7"], (1, 1, 1, 1)),
        (["in", " \n2", "4", " 365"], (2, 2, 1, 3)),
        (["a", "12"], (1, 1, 1, 1)),
        (["a1", "2"], (1, 1, 0, 2)),
        (["a", " 12b"], (1, 1, 0, 1)),
        (["x12"], (1, 1, 0, 1)),
        (["\u3000", "12"], (1, 1, 1, 1)),
        (["a \t 12"], (1, 1, 0, 1)),
        (["1,", "000", ".5"], (3, 3, 1, 3)),
        (["1234"], (1, 0, 0, 1)),
        (["٣٤", "٥"], (1, 1, 0, 2)),
        (["½Ⅷ²"], (0, 0, 0, 0)),
    ],
)
def test_short_numbers_are_whole_or_split(
    measurer: Measurer, pieces: list[str], expected: tuple[int, ...]
) -> None:
    assert counted(measurer, tokens_of(*pieces), *NUMBER_COUNTS) == expected


def test_partially_covered_number_is_not_whole(measurer: Measurer) -> None:
    for spans in [((1, 2),), ((0, 1),), ((0, 2), (0, 2)), ()]:
        assert counted(measurer, Document(b"12", spans, (0,) * len(spans)), "whole_short_numbers") == (0,)


def test_part_of_a_space_before_a_number_is_white_space(measurer: Measurer) -> None:
    assert counted(measurer, tokens_of(b"\xe3\x80", b"\x8012"), "whole_short_numbers") == (1,)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["1", "234", "567"], (2, 2, 2)),
        (["123", "456", "7"], (2, 2, 0)),
        (["1234567"], (2, 0, 0)),
        (["12", "34", "56"], (1, 2, 0)),
        (["123", "456"], (1, 1, 1)),
        (["1", "2", "3"], (0, 2, 0)),
        (["٣", "٤٥٦"], (1, 1, 1)),
        ([b"\xd9", b"\xa3\xd9\xa4"], (0, 1, 0)),
        (["a", "1", "234", "b"], (1, 1, 1)),
    ],
)
def test_numbers_are_cut_at_groups_of_three_or_elsewhere(
    measurer: Measurer, pieces: list[str], expected: tuple[int, ...]
) -> None:
    assert counted(measurer, tokens_of(*pieces), *DIGIT_COUNTS) == expected


def test_numbers_are_counted_by_their_length(measurer: Measurer) -> None:
    add(measurer, [tokens_of("1", " ", "22", " 2", "3 ", "4" * 16, "4", " ", "5" * 15)])
    by_length = {
        length: row for length, row in enumerate(measurer.numbers_by_length()[0].tolist()) if any(row)
    }
    assert by_length == {1: [1, 1], 2: [2, 3], 15: [1, 1], 16: [1, 2]}


# --- code -------------------------------------------------------------------------------------

IDENTIFIER_COUNTS = "identifiers", "identifier_boundaries", "identifier_cuts", "identifier_hits"


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["get", "User", "Name"], (1, 2, 2, 2)),
        (["getUser", "Name"], (1, 2, 1, 1)),
        (["HTTPS", "erver"], (1, 1, 1, 0)),
        (["HTTP", "Server"], (1, 1, 1, 1)),
        (["snake", "_case"], (1, 1, 1, 1)),
        (["snake_", "case"], (1, 1, 1, 1)),
        (["snake", "_", "case"], (1, 1, 2, 1)),
        (["a_", "_b"], (1, 1, 1, 0)),
        (["__", "init", "__"], (1, 2, 2, 2)),
        (["_", "_"], (1, 0, 1, 0)),
        (["utf", "8", "Bit"], (1, 2, 2, 2)),
        (["x", "2y"], (1, 2, 1, 1)),
        (["plain", "ly"], (1, 0, 1, 0)),
        (["CON", "STANT"], (1, 0, 1, 0)),
        (["a", ".", "b", "->", "c"], (3, 0, 0, 0)),
        (["don't", " 3d", " naïve", " x\u0301", " x1,2"], (0, 0, 0, 0)),
        (["ab", "漢"], (1, 0, 0, 0)),
        (["get", "A" * 70, "b"], (1, 2, 2, 1)),
    ],
)
def test_identifiers_are_cut_at_their_parts_or_elsewhere(
    measurer: Measurer, pieces: list[str], expected: tuple[int, ...]
) -> None:
    assert counted(measurer, tokens_of(*pieces), *IDENTIFIER_COUNTS) == expected


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["a", " ==", " b"], (1, 1)),
        (["a", " == ", "b"], (1, 1)),
        (["a ", "==\n\n", "b"], (1, 1)),
        (["a", "==b"], (1, 0)),
        (["a==", "b"], (1, 0)),
        (["=", "="], (1, 0)),
        (["==", "="], (1, 0)),
        (["===", "=="], (2, 2)),
        (["====="], (2, 0)),
        (["a ", "->", "b", "::", "c", "+=", "1"], (3, 3)),
        (["<<=", " >>>=", " ..="], (3, 3)),
        (["!", "(", "=", "<", ".", ","], (0, 0)),
        (["1..2", "..."], (2, 1)),
        (["==\u3000", "=="], (2, 2)),
        ([b"==\xe3\x80", b"\x80"], (1, 1)),
    ],
)
def test_operators_are_isolated_or_not(
    measurer: Measurer, pieces: list[str], expected: tuple[int, ...]
) -> None:
    assert counted(measurer, tokens_of(*pieces), "operators", "isolated_operators") == expected


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_is_recognized(measurer: Measurer, operator: str) -> None:
    assert counted(measurer, tokens_of("a ", operator, " b"), "operators", "isolated_operators") == (1, 1)


def test_partially_covered_operator_is_not_isolated(measurer: Measurer) -> None:
    for spans in [((1, 2),), ((0, 1),), ((0, 2), (0, 2)), ()]:
        assert counted(measurer, Document(b"==", spans, (0,) * len(spans)), "isolated_operators") == (0,)


LANGUAGE = "language_chars", "covered_chars"


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([" \r\n\t", ".", "_", "+", "\x00"], (0, 0)),
        (["aB", "7½", "é", "語", "e\u0301"], (8, 8)),
        ([b"\xc3", b"\xa9", b" \xe8\xaa", b"\x9e"], (2, 0)),
        ([" \u0928\u092e", "", "x"], (3, 3)),
        ([b"\xff"], (0, 0)),
    ],
)
def test_letters_inside_one_token_are_covered(
    measurer: Measurer, pieces: list[str | bytes], expected: tuple[int, int]
) -> None:
    assert counted(measurer, tokens_of(*pieces), *LANGUAGE) == expected


@pytest.mark.parametrize(
    ("spans", "kinds", "covered"),
    [
        ([(0, 5)], [0], 4),  # é is two bytes
        ([(0, 5)], [2], 0),
        ([(0, 1), (1, 3), (3, 5)], [0, 1, 0], 3),
        ([(0, 1), (1, 3), (1, 3), (3, 5)], [0, 2, 0, 0], 4),  # two tokens with the same span
        ([(0, 2), (2, 5)], [0, 0], 3),
        ([(0, 1), (3, 5)], [0, 3], 3),
        ([(0, 1), (1, 3), (3, 3), (3, 4)], [0, 0, 0, 1], 2),
        ([], [], 0),
    ],
)
def test_unknown_tokens_and_fallback_bytes_do_not_cover_letters(
    measurer: Measurer, spans: list[tuple[int, int]], kinds: list[int], covered: int
) -> None:
    document = Document("aéb7".encode(), tuple(spans), tuple(kinds))
    assert counted(measurer, document, *LANGUAGE) == (4, covered)


INDENTATION_COUNTS = "indented_lines", "indentation_chars", "indentation_tokens"


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["if x:", "\n   ", " y", "\n\t", "\tz"], (2, 6, 4)),
        (["    ", "x"], (1, 4, 1)),
        (["\n    ", "\n  \r\n", "   "], (0, 0, 0)),
        (["  \r\n  ", "a\r\n"], (1, 2, 1)),
        (["\n\u3000x"], (0, 0, 0)),
        (["  \u3000\n", "  \u3000x"], (1, 2, 1)),
        (["a\n  b\n  c"], (2, 4, 2)),
        (["  ", b"\xff"], (1, 2, 1)),
    ],
)
def test_indentation_of_lines_is_counted(
    measurer: Measurer, pieces: list[str], expected: tuple[int, ...]
) -> None:
    assert counted(measurer, tokens_of(*pieces), *INDENTATION_COUNTS) == expected
