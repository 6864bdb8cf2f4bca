"""Tests that split patterns in JavaScript split every text as the `regex` package does."""

from __future__ import annotations

from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from support.page_engine import Engine
from support.segmentations import HARD_TEXTS

from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern, split
from tokbench.convert.proof_texts import generated_texts
from tokbench.errors import PageError
from tokbench.play_page.regexes import javascript_regex

SPLIT = """
const patterns = new Map();
function parts(source, texts) {
  if (!patterns.has(source)) patterns.set(source, new RegExp(source, "yu"));
  const pattern = patterns.get(source);
  return texts.map((text) => {
    const found = [];
    for (let at = 0; at < text.length; ) {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (match === null || match[0] === "") return null;
      found.push(match[0]);
      at += match[0].length;
    }
    return found;
  });
}
"""
NAMED = [name for name in PATTERN_NAMES if name != "none"]
CUSTOM = [
    r"(?:ab?+)++b?|.|\n",
    r"(?>a|ab)c|[^c]|c",
    r"a{1,2}+a|[\s\S]",
    r"(?i:sk)+|(?i:[k-m])+|[\s\S]",
    r"[\p{L}&&[^\p{Han}]]+|\p{Han}|[^\p{L}]",
    r"\d+?|\w+(?=\s)|\W|\w",
    r"(a|b)+(?!c)|[\s\S]",
    r"(?<=a)b+|(?<!x)c|[\s\S]",
    r"[[:alpha:]_-]+|[^[:alpha:]_-]",
    r"\x41+|\u00e9|\U0001F642|\t|\.|[\s\S]",
    r"\s+$|\S+|\s",
]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(SPLIT)


def expected(pattern: str, text: str) -> list[str] | None:
    matches, reached = [], 0
    for match in regex.compile(pattern).finditer(text):
        if match.start() != reached or not match.group():
            return None
        matches.append(match.group())
        reached = match.end()
    return matches if reached == len(text) else None


@pytest.mark.parametrize("name", NAMED)
def test_named_patterns_split_as_in_python(engine: Engine, name: str) -> None:
    pattern = resolve_pattern(name)
    assert pattern.regex is not None
    texts = list(generated_texts(["<end>"], seed=5))
    parts = engine.call("parts", javascript_regex(pattern.regex), texts)
    assert parts == [split(pattern, text) for text in texts]


@pytest.mark.parametrize("name", NAMED)
def test_every_character_has_the_same_class_as_in_python(engine: Engine, name: str) -> None:
    pattern = resolve_pattern(name)
    assert pattern.regex is not None
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = ["".join(f"a{character}" for character in characters[start::97]) for start in range(3)]
    assert engine.call("parts", javascript_regex(pattern.regex), texts) == [
        split(pattern, text) for text in texts
    ]


@pytest.mark.parametrize("pattern", CUSTOM)
@given(text=st.one_of(HARD_TEXTS, st.text("abckKsſ\u212alm x\n1é🙂A.\t亜_-", max_size=12)))
def test_custom_patterns_split_as_in_python(engine: Engine, pattern: str, text: str) -> None:
    from tokbench.formats.set_operations import without_set_operations

    wanted = expected(without_set_operations(pattern), text)
    assert engine.call("parts", javascript_regex(pattern), [text]) == [wanted]


def test_possessive_repetition_does_not_backtrack(engine: Engine) -> None:
    assert engine.call("parts", javascript_regex("a++ab|a|b"), ["aab"]) == [["a", "a", "b"]]
    assert engine.call("parts", javascript_regex("a+ab|a|b"), ["aab"]) == [["aab"]]


@pytest.mark.parametrize(
    "pattern", [r"\bword|.", r"(?m)^a|.", r"a(?P<n>b)|.", r"\X|.", r"(a", r"a)", r"[a", r"*a", r"(?i)a|."]
)
def test_unsupported_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(PageError, match="split pattern contains"):
        javascript_regex(pattern)


def test_no_character_class_is_left_to_the_browser() -> None:
    for name in NAMED:
        written: Any = resolve_pattern(name).regex
        assert not regex.search(r"\\[pPswdSWDb]|\(\?i", javascript_regex(written))
