"""Compiled custom patterns: the kernel finds the pre-tokens that the `regex` package finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import counted_by_definition, kernel_named, new_counter
from support.texts import all_characters, bundled_texts, texts

from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern, split_offsets
from tokbench.backends.bpe.split_programs.compiled import compiled_pattern
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from tokbench.native._bpe import CompiledPattern

PATTERNS = {
    "Qwen 3.5": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "Kimi K2": (
        r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?"
        r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "words": r"\w+|\s+|[^\w\s]+",
    "ASCII words": r"[A-Za-z_][A-Za-z_0-9]*|\d{1,3}+|[[:punct:]]|\s++$|[\s\S]",
    "lazy": r"<.{1,9}?>|\n|.",
    "two characters ahead": r"\p{L}{1,4}(?=\s\p{Lu})|\p{L}|\P{L}+",
    "the same character again": r"([!?.])\1*|\w+|\s|[^\w\s]",
}

SETS = [
    *[r"\p{L}", r"\p{Lu}", r"\p{N}", r"\s", r"\S", r"\w", r"\W", r"\d", ".", "a", "A", " ", r"\n", "é", "'"],
    *["[a-f]", r"[^\r\n\p{L}\p{N}]", r"[\w&&[^ab]]", "[[:punct:]]", r"[\s-]", r"[^\W_]", "[a-z--[aeiou]]"],
]
QUANTIFIERS = [
    "",
    "",
    "?",
    "*",
    "+",
    "?+",
    "*+",
    "++",
    "??",
    "*?",
    "+?",
    "{2}",
    "{1,3}",
    "{2,}",
    "{1,3}+",
    "{1,2}?",
]

characters = st.sampled_from(SETS)
repeated = st.tuples(characters, st.sampled_from(QUANTIFIERS)).map("".join)
ahead = st.tuples(st.sampled_from(["(?!", "(?="]), repeated, st.sampled_from(["", r"\s"])).map(
    lambda parts: "".join(parts) + ")"
)
ignoring_case = st.sampled_from(["(?i:a)", "(?i:[sk])", "(?i:'t|'re)", r"(?i:k)+"])
simple = repeated | repeated | ahead | ignoring_case | st.just("$")
alternatives = st.lists(st.lists(simple, min_size=1, max_size=3).map("".join), min_size=1, max_size=2).map(
    "|".join
)
group = st.tuples(alternatives, st.sampled_from(["", "?"])).map(lambda parts: f"(?:{parts[0]}){parts[1]}")
items = st.lists(simple | group, max_size=2).map("".join)
taken = st.tuples(characters, st.sampled_from(["", "+", "++", "+?", "{1,3}", "{2,}"])).map("".join)
sequence = st.tuples(items, taken, items).map("".join)
patterns = st.lists(sequence, min_size=1, max_size=4).map(lambda tried: "|".join([*tried, r"[\s\S]"]))


def compiled(pattern: str) -> CompiledPattern | None:
    kernel_named("native")  # skips the test if there is no such kernel
    return compiled_pattern(pattern)


TIERS = ["swar", "avx2", "avx512"]


def offsets_by(pattern: CompiledPattern, text: str, tier: str | None = None) -> list[int]:
    return offsets_in_bytes(pattern, text.encode(), tier)


def offsets_in_bytes(pattern: CompiledPattern, data: bytes, tier: str | None = None) -> list[int]:
    """Split by the best tier, or by the named one; skips the test if the processor lacks it."""
    from tokbench.native import _bpe

    try:
        offsets: list[int] = _bpe.split(pattern, data, tier).tolist()
    except ValueError as error:
        pytest.skip(str(error))
    return offsets


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_as_in_real_vocabularies_are_compiled(name: str) -> None:
    made = compiled(PATTERNS[name])
    assert made is not None
    definition = resolve_pattern(PATTERNS[name])
    for text in [*bundled_texts().values(), all_characters(), " a".join(all_characters()[:0x3000])]:
        assert offsets_by(made, text) == split_offsets(definition, text)


@pytest.mark.parametrize("name", [name for name in PATTERN_NAMES if name not in {"none", "superwords"}])
def test_compiled_pattern_equals_the_scanner_of_its_name(name: str) -> None:
    from tokbench.native import _bpe

    made = compiled(resolve_pattern(name).regex or "")
    assert made is not None
    for text in bundled_texts().values():
        assert offsets_by(made, text) == _bpe.split(name, text.encode()).tolist()


@given(pattern=patterns, samples=st.lists(texts, min_size=5, max_size=10))
def test_any_compiled_pattern_splits_as_by_regex(pattern: str, samples: list[str]) -> None:
    try:
        definition = resolve_pattern(pattern)
    except ConfigError:
        return  # it matches the empty string after all
    made = compiled(pattern)
    if made is None:
        return
    for text in samples:
        assert offsets_by(made, text) == split_offsets(definition, text)


# Blocks, against the automaton, which reads character by character


LAYOUT = "def f(x):\n    if x:\n        return 12345  # don't\n\n\n\tpass \u3000 é\u0301\u0301 日本\n" * 3


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("tier", TIERS)
def test_blocks_split_real_texts_as_the_automaton_does(tier: str, name: str) -> None:
    made = compiled(PATTERNS[name])
    assert made is not None
    for text in [*bundled_texts().values(), " a".join(all_characters()[:0x3000]), LAYOUT]:
        assert offsets_by(made, text, tier) == offsets_by(made, text, "scalar")


@pytest.mark.parametrize("tier", TIERS)
@given(
    pattern=patterns | st.sampled_from([*PATTERNS.values()]),
    parts=st.lists(texts, min_size=1, max_size=4),
    data=st.data(),
)
def test_blocks_split_any_text_as_the_automaton_does(
    tier: str, pattern: str, parts: list[str], data: st.DataObject
) -> None:
    made = compiled(pattern)
    if made is None:
        return
    chosen = data.draw(
        st.lists(st.sampled_from([*parts, " ", "    ", "\n", "word", "'s ", "日本"]), max_size=60)
    )
    text = "".join(chosen)
    assert offsets_by(made, text, tier) == offsets_by(made, text, "scalar")


@pytest.mark.parametrize("tier", TIERS)
@given(pattern=patterns | st.sampled_from([*PATTERNS.values()]), data=st.binary(max_size=300))
def test_blocks_split_any_bytes_as_the_automaton_does(tier: str, pattern: str, data: bytes) -> None:
    made = compiled(pattern)
    if made is not None:
        assert offsets_in_bytes(made, data, tier) == offsets_in_bytes(made, data, "scalar")


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+$|\s|\S",  # the end of a line
        r"\S++$|\s|\S",  # which this repetition does not take
        r"\b\w+|[\s\S]",
        r"(?<=a)b|[\s\S]",
        r"^a|[\s\S]",
        r"(?i)a|[\s\S]",
        r"(?:ab)+|[\s\S]",
        r"(?i:ss)|[\s\S]",
        r"(a|b)\1|[\s\S]",
        r"\p{L}+|\s+",  # leaves out parts of a text
        "[ac]+|[^b]",
        r"\p{Lu}+(?!\p{Ll})|\P{Lu}+",
    ],
)
def test_patterns_that_may_mean_something_else_are_not_compiled(pattern: str) -> None:
    assert compiled(pattern) is None


def test_a_pattern_cuts_at_spaces_only_if_both_sides_are_independent() -> None:
    cuts = {pattern: getattr(compiled(pattern), "cuts_at_spaces", None) for pattern in PATTERNS.values()}
    assert [name for name, pattern in PATTERNS.items() if not cuts[pattern]] == [
        "lazy",
        "two characters ahead",
    ]


@pytest.mark.parametrize("name", ["Qwen 3.5", "words"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_counter_counts_by_a_compiled_pattern(name: str, threads: int) -> None:
    made = compiled(PATTERNS[name])
    documents = [*bundled_texts().values(), "low lower lowest\n" * 100_000]
    counter = new_counter(kernel_named("native"), pattern=made, special_tokens=["low l"], threads=threads)  # type: ignore[arg-type]
    counter.add_texts(documents)
    counter.finish()
    expected = counted_by_definition(documents, pattern=PATTERNS[name], special_tokens=["low l"])
    assert dict(counter.items()) == expected
