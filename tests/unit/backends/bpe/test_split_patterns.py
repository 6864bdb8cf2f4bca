"""Cases that hand-written scanners get wrong, each with its pieces, by the definition and by every kernel."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tokbench.backends.bpe.split_patterns import (
    PATTERN_NAMES,
    SplitPattern,
    resolve_pattern,
    split,
    split_offsets,
)
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from tokbench.backends.bpe.kernel import Kernel

ACUTE = "\u0301"
WIDE_SPACE = "\u3000"

LLAMA3_LIKE = ["llama3", "qwen2", "nanochat", "rustbpe"]
WITH_NEWLINE_RULE = ["gpt4", "gpt4o", *LLAMA3_LIKE]
"""Every pattern with `\\s*[\\r\\n]` except "code", which keeps spaces together."""
IGNORING_CASE = ["gpt4", *LLAMA3_LIKE, "code"]
SPLITTING = [name for name in PATTERN_NAMES if name not in {"none", "superwords"}]
"""Every pattern that keeps words apart."""

CASES = [
    # The end of the text: gpt4 tries `\s++$` before the newline rule, the others after it.
    (["gpt4", "gpt2"], "a\n  ", ["a", "\n  "]),
    (["gpt4o", *LLAMA3_LIKE, "code"], "a\n  ", ["a", "\n", "  "]),
    (["gpt4", "gpt2"], "a \n", ["a", " \n"]),
    (["gpt4"], "a\n  b", ["a", "\n", " ", " b"]),
    # `\s+(?!\S)` takes the whole run at the end of the text, and elsewhere all but its last character.
    (["gpt2"], f"a  {WIDE_SPACE}b", ["a", "  ", WIDE_SPACE, "b"]),
    (WITH_NEWLINE_RULE, f"a  {WIDE_SPACE}b", ["a", "  ", f"{WIDE_SPACE}b"]),
    (SPLITTING, f"a{WIDE_SPACE} {WIDE_SPACE}", ["a", f"{WIDE_SPACE} {WIDE_SPACE}"]),
    (SPLITTING, "a   ", ["a", "   "]),
    (["gpt2", *WITH_NEWLINE_RULE], "a   b", ["a", "  ", " b"]),
    (["gpt2"], "a  1", ["a", " ", " 1"]),
    (WITH_NEWLINE_RULE, "a  1", ["a", " ", " ", "1"]),
    (SPLITTING, "a b", ["a", " b"]),  # a single space falls through
    (SPLITTING, "a ", ["a", " "]),
    # The newline rule takes the run through its last line end, then starts again.
    (WITH_NEWLINE_RULE, "\n\n  b", ["\n\n", " ", " b"]),
    (["code"], "\n\n  b", ["\n\n", "  ", "b"]),
    (["gpt2"], "\n\n  b", ["\n\n ", " b"]),
    (WITH_NEWLINE_RULE, "a \r \n \tb", ["a", " \r \n", " ", "\tb"]),
    (["code"], "a \r \n \tb", ["a", " \r \n", " \t", "b"]),
    ([*WITH_NEWLINE_RULE, "code"], "a\n b", ["a", "\n", " b"]),
    (["gpt2"], "a\nb", ["a", "\n", "b"]),
    # Any white space but a line end joins letters; only U+0020 joins punctuation; none joins digits.
    (WITH_NEWLINE_RULE, "\tb", ["\tb"]),
    ([*WITH_NEWLINE_RULE, "code"], "1\u00a0b", ["1", "\u00a0b"]),
    (["gpt2"], "1\u00a0b\tc", ["1", "\u00a0", "b", "\t", "c"]),
    (SPLITTING, "1 !\u00a0!\t!", ["1", " !", "\u00a0", "!", "\t", "!"]),
    ([*WITH_NEWLINE_RULE, "code"], "a 1", ["a", " ", "1"]),
    (["gpt2"], "a 1", ["a", " 1"]),
    (["gpt2", "gpt4", "gpt4o", "llama3", "rustbpe", "code"], "a\t12", ["a", "\t", "12"]),
    # Contractions: gpt2 knows lower-case ones only; the others ignore case, so that the long s is an s.
    (["gpt2"], "I'll I'LL", ["I", "'ll", " I", "'", "LL"]),
    (IGNORING_CASE, "I'll I'LL", ["I", "'ll", " I", "'LL"]),
    (IGNORING_CASE, "'ſt", ["'ſ", "t"]),
    (["gpt2"], "'ſt", ["'", "ſt"]),
    (["gpt4o"], "a'ſt", ["a'ſ", "t"]),
    (["gpt4o"], "'ſt", ["'ſt"]),
    (["gpt2"], "I\u2019ll", ["I", "\u2019", "ll"]),
    ([*WITH_NEWLINE_RULE, "code"], "I\u2019ll", ["I", "\u2019ll"]),
    (IGNORING_CASE, "'The", ["'T", "he"]),  # contractions come first …
    (["gpt4o"], "'The", ["'The"]),
    (["gpt4o"], "a'S'T", ["a'S", "'T"]),  # … and in gpt4o last, at most once
    (IGNORING_CASE, "a'S'T", ["a", "'S", "'T"]),
    (["gpt4o"], "it's'll", ["it's", "'ll"]),
    (IGNORING_CASE, "'re'ld", ["'re", "'ld"]),
    (["gpt2"], "'re'ld", ["'re", "'", "ld"]),
    # gpt4o backtracks to the last caseless character if no lower-case letter follows the capitals.
    (["gpt4o"], "亚洲AV", ["亚洲", "AV"]),
    (["gpt4o"], "AʰB", ["Aʰ", "B"]),
    (["gpt4o"], "ABc", ["ABc"]),
    (["gpt4o"], "aBC", ["a", "BC"]),
    (["gpt4", *LLAMA3_LIKE], "亚洲AV", ["亚洲AV"]),
    # Marks are in both letter classes of gpt4o, may be a prefix, and count as punctuation.
    (["gpt4o"], f"A{ACUTE}B", [f"A{ACUTE}", "B"]),
    (["gpt4o"], f"e{ACUTE}a", [f"e{ACUTE}a"]),
    (["gpt4o"], f"1{ACUTE}Aa", ["1", f"{ACUTE}Aa"]),
    (["gpt4o"], f"1{ACUTE}A", ["1", ACUTE, "A"]),  # the first alternative matches the mark alone
    (["gpt4o"], f"1{ACUTE}", ["1", ACUTE]),
    (["gpt4o"], f"!{ACUTE}", [f"!{ACUTE}"]),
    (["gpt4o"], f"!!{ACUTE}\n", [f"!!{ACUTE}\n"]),
    # In the other patterns, marks are not letters.
    (["gpt4", "llama3", "qwen2", "nanochat", "rustbpe", "code"], f"e{ACUTE}a", ["e", f"{ACUTE}a"]),
    (["gpt2"], f"e{ACUTE}a", ["e", ACUTE, "a"]),
    # Digits are counted as characters, and include numbers of every kind.
    (["gpt4", "gpt4o", "llama3", "rustbpe", "code"], "1234567", ["123", "456", "7"]),
    (["gpt4", "gpt4o", "llama3", "rustbpe", "code"], "½Ⅻ٣4", ["½Ⅻ٣", "4"]),
    (["nanochat"], "½Ⅻ٣45", ["½Ⅻ", "٣4", "5"]),
    (["qwen2"], "½Ⅻ٣", ["½", "Ⅻ", "٣"]),
    (["gpt2"], "½Ⅻ٣45", ["½Ⅻ٣45"]),
    # Line ends after punctuation belong to it, and in gpt4o slashes too.
    (["gpt4o"], "!/\n/\r\na", ["!/\n/\r\n", "a"]),
    (["gpt4", *LLAMA3_LIKE, "code"], "!/\n/\r\na", ["!/\n", "/\r\n", "a"]),
    (["gpt2"], "!\na", ["!", "\n", "a"]),
    # White space is the Unicode property White_Space.
    (SPLITTING, "!\u0085!", ["!", "\u0085", "!"]),
    (SPLITTING, "!\u2028!", ["!", "\u2028", "!"]),
    *[(SPLITTING, f"!{other}!", [f"!{other}!"]) for other in "\u180e\u200b\ufeff\u001c\u001d\u001e\u001f"],
    # "code": camelCase and snake_case end words, and indentation stays whole.
    (["code"], "getUserName", ["get", "User", "Name"]),
    (["code"], "HTTPServer", ["HTTP", "Server"]),
    (["code"], "parseHTTP2URLs", ["parse", "HTTP", "2", "UR", "Ls"]),
    (["code"], "snake_case_name", ["snake", "_case", "_name"]),
    (["code"], "SCREAMING_CASE", ["SCREAMING", "_CASE"]),
    (["code"], "_private __init__", ["_private", " __", "init", "__"]),
    (["code"], "a.B(cD)", ["a", ".B", "(c", "D", ")"]),
    (["code"], "        return x", [" " * 8, "return", " x"]),
    (["code"], "if x:\n        y", ["if", " x", ":\n", " " * 8, "y"]),
    (["code"], "\t\tgo\tx", ["\t\t", "go", "\t", "x"]),
    (["code"], "\t  x", ["\t  ", "x"]),
    (["code"], "a  \nb", ["a", "  \n", "b"]),
    (["code"], "a;  \n\n    \n  b", ["a", ";", "  \n\n    \n", "  ", "b"]),
    (["code"], "a  ", ["a", "  "]),
    (["code"], "亜B亜", ["亜", "B", "亜"]),
    (["code"], "ǅabǅ", ["ǅab", "ǅ"]),
    # "superwords": digits, two or more punctuation characters, and spaces next to white space are split off.
    (["superwords"], "by the way, it's\n\nso.", ["by the way, it's\n\nso."]),
    (["superwords"], "in 1984 or 12345", ["in ", "198", "4", " or ", "123", "45"]),
    (["superwords"], "so... I / II", ["so", "...", " I / II"]),
    (["superwords"], "so ...\n/x --y", ["so", " ...\n/", "x", " --", "y"]),
    (["superwords"], f"e{ACUTE} !{ACUTE}", [f"e{ACUTE}", f" !{ACUTE}"]),
    (["superwords"], "a   b", ["a", "  ", " b"]),
    (["superwords"], "a  1", ["a", " ", " ", "1"]),
    (["superwords"], "a \n b ", ["a", " ", "\n b", " "]),
    (["superwords"], f"a {WIDE_SPACE}b\t\tc", ["a", " ", f"{WIDE_SPACE}b\t\tc"]),
    (["superwords"], "a  ,b", ["a", " ", " ,b"]),
    (["superwords"], "a  ,,b", ["a", " ", " ,,", "b"]),
    # "none": the document is one pre-token.
    (["none"], "a b\n\n1 ", ["a b\n\n1 "]),
]

EVERY_CASE = [(name, text, pieces) for names, text, pieces in CASES for name in names]


def pieces_by_kernel(kernel: Kernel, name: str, text: str) -> list[str]:
    data = text.encode()
    ends = kernel.split(name, data).tolist()
    return [data[start:end].decode() for start, end in pairwise([0, *ends])]


@pytest.mark.parametrize(("name", "text", "pieces"), EVERY_CASE)
def test_definition_splits_as_listed(name: str, text: str, pieces: list[str]) -> None:
    assert split(resolve_pattern(name), text) == pieces


@pytest.mark.parametrize(("name", "text", "pieces"), EVERY_CASE)
def test_kernel_splits_as_listed(kernel: Kernel, name: str, text: str, pieces: list[str]) -> None:
    assert pieces_by_kernel(kernel, name, text) == pieces


@pytest.mark.parametrize("name", PATTERN_NAMES)
def test_an_empty_text_has_no_pretokens(kernel: Kernel, name: str) -> None:
    assert split(resolve_pattern(name), "") == []
    assert kernel.split(name, b"").tolist() == []


def test_offsets_are_in_bytes() -> None:
    assert split_offsets(resolve_pattern("gpt2"), "é 日本 x") == [2, 9, 11]


def test_pattern_is_resolved_by_name_and_by_text() -> None:
    for name in PATTERN_NAMES:
        pattern = resolve_pattern(name)
        assert pattern.name == name
        assert not pattern.is_custom
        if pattern.regex is not None and pattern.normalization is None:
            assert resolve_pattern(pattern.regex) == pattern


def test_only_qwen2_by_name_normalizes() -> None:
    normalizing = [name for name in PATTERN_NAMES if resolve_pattern(name).normalization is not None]
    assert normalizing == ["qwen2"]
    text = resolve_pattern("qwen2").regex
    assert text is not None
    assert resolve_pattern(text) == SplitPattern(name="custom", regex=text)


def test_oniguruma_spelling_has_no_possessive_intervals() -> None:
    for name in SPLITTING:
        spelling = resolve_pattern(name).oniguruma
        assert spelling is not None
        assert re.search(r"\d\}\+", spelling) is None
    assert SplitPattern(name="custom", regex=r"a{2}+b{1,}+|\{3}++|.").oniguruma == r"a{2}b{1,}|\{3}++|."
    assert resolve_pattern("none").oniguruma is None


# Custom patterns


def test_a_custom_pattern_splits_by_the_regex_package() -> None:
    pattern = resolve_pattern(r"\w\w?|\W")
    assert pattern.is_custom
    assert split(pattern, "abc d") == ["ab", "c", " ", "d"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ("gpt3", "there is no split pattern .gpt3."),
        ("(", "is not a name and does not compile"),
        (r"\w*|\W", "matches the empty string"),
        (r"(?<=a)|(?s:.)", "matches nothing at character 1"),  # or only the empty string inside a text
        (r"\w+", "matches nothing at character"),
        (r"\S+", "matches nothing at character"),
        (r"[^\n]+", "matches nothing at character"),
    ],
)
def test_invalid_pattern_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        resolve_pattern(text)
    assert caught.value.hint


def test_hint_for_an_invalid_pattern_lists_the_names() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_pattern("(gpt4")
    assert caught.value.hint is not None
    assert all(name in caught.value.hint for name in PATTERN_NAMES)


@pytest.mark.parametrize("gap", ["ü", "…", "\u2028"])
def test_text_that_the_pattern_does_not_cover_is_refused(gap: str) -> None:
    pattern = resolve_pattern(rf"[^{gap}]")
    assert split(pattern, "ab") == ["a", "b"]
    with pytest.raises(ConfigError, match="matches nothing at character 2"):
        split(pattern, f"ab{gap}c")
