"""Character classes with set operations have the same meaning in every library as in tiktoken."""

from __future__ import annotations

import string
import unicodedata
from functools import cache, partial
from typing import TYPE_CHECKING

import pytest
import regex
import tiktoken
from hypothesis import assume, example, given, reject
from hypothesis import strategies as st
from support.texts import texts
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

import tokbench
import tokbench.workbench.convert as conversion
from tokbench.backends.bpe.split_patterns import resolve_pattern, split
from tokbench.convert.proof import prove
from tokbench.convert.proof_texts import generated_texts
from tokbench.formats.set_operations import set_operations, without_set_operations
from tokbench.formats.tokenizer_json import for_oniguruma
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from pathlib import Path

HAN = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
KIMI = (
    r"[\p{Han}]+"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{HAN}*{LOWER}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{HAN}+{LOWER}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
OTHERS = r"[\p{L}--\p{Ll}]+|[\p{L}\p{N}~~[\p{Ll}_]]+|(?s:.)"

SMALL = string.ascii_lowercase[:6] + "-^&~|.]["


@cache
def tiktoken_splitter(pattern: str) -> tiktoken.Encoding:
    """Return an encoding that shows the library's splitting: every byte is a token."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    return tiktoken.Encoding("pattern", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def tiktoken_takes(pattern: str, character: str) -> bool:
    """Whether the library's pattern matches a text of one character; it drops unmatched text."""
    return bool(tiktoken_splitter(pattern).encode_ordinary(character))


@cache
def settled() -> str:
    """Return the characters that all libraries put into the same plain classes, despite different Unicode versions."""
    early = unicodedata.ucd_3_2_0
    kept = "".join(
        chr(code)
        for code in range(0x110000)
        if not 0xD800 <= code < 0xE000 and early.category(chr(code)) not in ("Cn", "Co")
    )
    for plain in (
        r"\p{Lu}",
        r"\p{Ll}",
        r"\p{Lt}",
        r"\p{Lo}",
        r"\p{L}",
        r"\p{M}",
        r"\p{N}",
        r"\p{Nd}",
        r"\p{Han}",
    ):
        disputed = set(found_by_regex(plain, kept)) ^ set(found_by_tiktoken(plain, kept))
        disputed |= set(found_by_regex(plain, kept)) ^ set(found_by_oniguruma(plain, kept))
        assert len(disputed) < 30
        kept = "".join(character for character in kept if character not in disputed)
    return kept


def found_by_regex(pattern: str, text: str) -> str:
    return "".join(regex.findall(without_set_operations(pattern), text))


def found_by_tiktoken(pattern: str, text: str) -> str:
    encoding = tiktoken_splitter(pattern)
    return encoding.decode(encoding.encode_ordinary(text))


def found_by_oniguruma(pattern: str, text: str) -> str:
    splitter = Split(Regex(for_oniguruma(pattern)), "removed", invert=True)
    return "".join(piece for piece, _ in splitter.pre_tokenize_str(text))


# Classes are drawn as text with every feature; tiktoken decides which are valid and what they mean.
ITEMS = st.sampled_from(
    [*"abcdef^~|&.-", "a-c", "b-e", r"\]", r"\-", r"\w", r"[b-d]", "[^c]", "[a&&[^b]]", ""]
)
CLASSES = st.builds(
    lambda negation, operands, operations: (
        f"[{negation}{''.join(map(''.join, zip(operands, [*operations, ''], strict=False)))}]"
    ),
    st.sampled_from(["", "^"]),
    st.lists(st.lists(ITEMS, max_size=3).map("".join), min_size=1, max_size=4),
    st.lists(st.sampled_from(["&&", "--", "~~"]), min_size=4, max_size=4),
)


@given(pattern=CLASSES)
@example("[a&&^-b]")
@example("[ab&&^-b--a]")
def test_character_class_has_the_same_members_as_in_tiktoken(pattern: str) -> None:
    try:
        expected = [tiktoken_takes(pattern, character) for character in SMALL]
    except ValueError:
        reject()  # invalid in tiktoken
    found = regex.compile(without_set_operations(pattern))
    assert [found.fullmatch(character) is not None for character in SMALL] == expected, pattern


@pytest.mark.slow
@pytest.mark.parametrize("negation", ["", "^"])
@pytest.mark.parametrize(
    "inside",
    [
        r"\p{L}&&[^\p{Han}]",
        r"[\p{L}\p{N}_]--\p{Lu}",
        r"\p{L}~~[\p{Han}\p{Nd}]",
        r"\p{L}\p{M}&&\p{Lo}\p{M}--\p{Han}~~\p{Lt}",
        r"[\p{Lu}[\p{Nd}]]&&[^[A-F]]",
        r"\p{L}&&^-f",
    ],
)
def test_every_character_is_in_the_same_classes(inside: str, negation: str) -> None:
    pattern = f"[{negation}{inside}]"
    expected = found_by_tiktoken(pattern, settled())
    assert found_by_regex(pattern, settled()) == expected
    assert found_by_oniguruma(pattern, settled()) == expected


@pytest.mark.parametrize("pattern", [KIMI, OTHERS])
@given(text=texts)
def test_pattern_splits_as_in_oniguruma(pattern: str, text: str) -> None:
    assume(all(unicodedata.ucd_3_2_0.category(character) != "Cn" for character in text))
    resolved = resolve_pattern(pattern)
    assert resolved.oniguruma is not None
    pieces = Split(Regex(resolved.oniguruma), "isolated").pre_tokenize_str(text)
    assert split(resolved, text) == [piece for piece, _ in pieces]


@pytest.mark.parametrize("pattern", [KIMI, OTHERS])
def test_tokenizer_with_set_operations_converts_to_both_libraries(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = list(generated_texts(["<|end|>"], seed=0))[::5]
    monkeypatch.setattr(conversion, "prove", partial(prove, texts=few))
    text = "東京tower 東京都 don't HTTPServer 1234\n  x_1 カタカナ漢字 हिन्दी "
    trained = tokbench.train([text * 3], vocab_size=320, pattern=pattern, special_tokens=["<|end|>"])
    assert trained.pattern.regex == pattern
    for target in ("tiktoken", "tokenizers", "tokbin"):
        convert(trained, to=target, out=tmp_path / target)
    opened = tokbench.load(tmp_path / "tiktoken", pattern=pattern, special_tokens={"<|end|>": 319})
    assert opened.encode(text) == trained.encode(text)
    assert trained.encode("東tower") == [*trained.encode("東"), *trained.encode("tower")]


def test_brackets_without_set_operations_are_unchanged() -> None:
    for pattern in (r"[a[]+|.", r"[([{]|[)]|.", "[", "\\", r"\[a&&b\]|.", r"[[:alpha:]]+|."):
        assert without_set_operations(pattern) == pattern
        assert set_operations(pattern) == set()
