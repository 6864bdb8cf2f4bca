"""Pre-tokenizers of a `tokenizer.json` in steps split the same on tokbench's kernel as in the library."""

from __future__ import annotations

import json
from functools import cache
from string import ascii_letters, digits
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.byte_level_documents import ONLY_BYTES, SPLITTING, sequence, split, with_parts
from support.texts import characters_of_all_kinds, texts

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.formats.tokenizer_json import from_byte_level
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.opening.kernel_document import kernel_document
from tokbench.opening.native_document import NativeDocument
from tokbench.opening.tokenizer_json_tokens import NotNativeError

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")

ENDS_OF_RANGES = "\u07ff\u0800\u4dff\u4e00\u9fa5\u9fa6\uabff\uac00\ud7ff\ue000"
"""Characters at the ends of ranges in the patterns."""
LETTERS = ascii_letters + digits


@cache
def splitters(name: str) -> tuple[NativeDocument, Any]:
    data = with_parts(SPLITTING[name], None)
    library = HuggingFaceTokenizer(data, name=name, backend="bpe")
    plan = kernel_document(json.loads(data), ids=library.spelled_ids, path=name)
    return NativeDocument(library, plan=plan), library._engines.plain.pre_tokenizer


def assert_same_splits(name: str, text: str) -> None:
    native, pre_tokenizer = splitters(name)
    if native._covers(text):
        expected = [from_byte_level(piece) for piece, _ in pre_tokenizer.pre_tokenize_str(text)]
        assert native._encoder.pretokens(text.encode()) == expected


@pytest.mark.parametrize("name", SPLITTING)
@given(text=texts)
def test_steps_split_as_in_the_library(name: str, text: str) -> None:
    assert_same_splits(name, text)


@given(text=st.text("ab[]12x \n", max_size=14))
def test_lazy_repetition_matches_as_in_the_library(text: str) -> None:
    assert_same_splits("lazy", text)


@pytest.mark.parametrize("name", ["same character", "same character at most"])
@given(text=st.text("ab12x!.é \n()", max_size=14))
def test_repetition_of_the_same_character_matches_as_in_the_library(name: str, text: str) -> None:
    assert_same_splits(name, text)


@pytest.mark.parametrize(
    ("pattern", "text", "pieces"),
    [
        (r"((b))\1+", "abbbc", ["a", "bbb", "c"]),
        (f"([{LETTERS}éà])\\1", "aabbbZZéé.", ["aa", "bb", "b", "ZZ", "éé", "."]),  # as many as there may be
    ],
)
def test_repetition_of_the_same_character_is_one_pre_token(
    pattern: str, text: str, pieces: list[str]
) -> None:
    data = with_parts(sequence(split(pattern), ONLY_BYTES), None)
    library = HuggingFaceTokenizer(data, name="repeated", backend="bpe")
    plan = kernel_document(json.loads(data), ids=library.spelled_ids, path="repeated")
    found = NativeDocument(library, plan=plan)._encoder.pretokens(text.encode())
    assert [piece.decode() for piece in found] == pieces
    split_by_library = library._engines.plain.pre_tokenizer.pre_tokenize_str(text)
    assert [from_byte_level(piece) for piece, _ in split_by_library] == found


@pytest.mark.parametrize(
    "pattern",
    [
        *[r"(ab)\1*", r"(\p{L})\1*", r"(?i:(a)\1*)", r"(a)(b)\1*", r"(a)b\1", r"(a)\10", r"(a|b)\1"],
        *[r"(a+)\1", r"(a{1,2})\1*", f"([{LETTERS}éàö])\\1"],
    ],
)
def test_other_references_to_groups_are_left_to_the_library(pattern: str) -> None:
    data = with_parts(sequence(split(pattern), ONLY_BYTES), None)
    library = HuggingFaceTokenizer(data, name="references", backend="bpe")
    with pytest.raises(NotNativeError, match="the native kernel does not run its split pattern"):
        kernel_document(json.loads(data), ids=library.spelled_ids, path="references")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["falcon", "deepseek-v3", "tekken", "bloom", "kimi", "brackets"])
def test_steps_split_every_kind_of_character_as_in_the_library(name: str) -> None:
    native, pre_tokenizer = splitters(name)
    characters = characters_of_all_kinds() + ENDS_OF_RANGES
    native._covers(characters)  # asks the library about all of them at once
    covered = [character for character in characters if native._covers(character)]
    assert len(covered) > 35_000
    for start in range(0, len(covered), 1 << 14):
        text = "".join(
            f"a{character} {character}1 '{character}\n" for character in covered[start : start + (1 << 14)]
        )
        # Comparing lengths suffices: the pre-tokens cover the text, and the library spells each byte as a character.
        expected = [len(piece) for piece, _ in pre_tokenizer.pre_tokenize_str(text)]
        assert list(map(len, native._encoder.pretokens(text.encode()))) == expected


# If the steps allow it, the text between two spaces is looked up without being split.
CUT_AT_SPACES = {"falcon", "deepseek-v3", "deepseek-coder", "bloom", "tekken", "kimi", "words and digits"}
ALTERNATIVES = [
    *[
        r"[.]+",
        r"\d",
        r"[.] ?",
        r"[.][a-z]+",
        r"\d[a-z]*+",
        r"[.][a-z ]+",
        r"\d[a-z]* ?",
        r"[.]a b",
        r"[.\d]",
    ],
    *[
        r"[.][a-z]+(?= )",
        r"[.][a-z]+(?! )",
        r"\d[a-z]+(?=\S)",
        r"[.]a$",
        r"\d[a-z]*(?:$|b)",
        r"\d(?:a(?! ))?",
    ],
]
AT_LAST = [
    *[
        r" ?[A-Za-z]+",
        r"[^a-zA-Z]?[A-Za-z]+|[.]+|\s+(?!\S)",
        r"\s?\w+",
        r"[a-zA-Z]+ ?",
        r"[A-Za-z ]+",
        r" (?=b)B",
    ],
    *[r"[A-Za-z]+(?= )| ?[A-Za-z]+", r" ?[A-Za-z]{1,2}", r" a?+[bB]", r" a?[bB]| a+", r" ?[a-zA-Z]+$"],
]
splitting_steps = st.lists(
    st.tuples(
        st.lists(st.sampled_from(ALTERNATIVES), min_size=1, max_size=3, unique=True),
        st.sampled_from(
            ["Isolated", "Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
        ),
        st.booleans(),
    ),
    max_size=2,
)
WORDS = ["the", "low", "abc", "it's", "1 2", "é", "x  y", "a.b", "(", "\n"]
few_letters = st.text("abB .1\n", max_size=8)


def test_steps_that_split_at_spaces_are_recognized() -> None:
    found = {name for name in SPLITTING if splitters(name)[0]._encoder.cuts_at_spaces}
    assert found >= CUT_AT_SPACES
    assert not found & {"line ends", "optional group", "joined before", "joined after", "spaces put before"}


@settings(max_examples=100)
@given(
    steps=splitting_steps,
    last=st.sampled_from(AT_LAST),
    parts=st.lists(st.tuples(few_letters, few_letters), min_size=1, max_size=10),
)
def test_text_beside_a_space_is_split_independently(
    steps: list[tuple[list[str], str, bool]], last: str, parts: list[tuple[str, str]]
) -> None:
    first_steps = [split("|".join(each), to, invert=turned) for each, to, turned in steps]
    made = sequence(*first_steps, split(last), ONLY_BYTES)
    data = with_parts(made, None)
    library = HuggingFaceTokenizer(data, name="steps", backend="bpe")
    plan = kernel_document(json.loads(data), ids=library.spelled_ids, path="steps")
    encoder = NativeDocument(library, plan=plan)._encoder
    if not encoder.cuts_at_spaces:
        return
    for left, right in parts:
        for before, after in (("a", "a"), ("b", "b"), ("b", "a"), ("B", "B")):
            first, second = (left + before).encode(), (" " + after + right).encode()
            alone = encoder.pretokens(first) + encoder.pretokens(second)
            assert encoder.pretokens(first + second) == alone


@pytest.mark.parametrize("name", SPLITTING)
@settings(max_examples=40)
@given(
    words=st.lists(
        st.sampled_from(["the", "low", "abc", "it's", "1 2", "é", "x  y", "a.b", "(", "\n"]), max_size=40
    )
)
def test_ids_of_texts_with_many_words_equal_the_librarys(name: str, words: list[str]) -> None:
    native, _ = splitters(name)
    library = HuggingFaceTokenizer(native.document, name=name, backend="bpe")
    for text in (" ".join(words), "".join(words), "東京" * 40 + " ".join(words)):
        for _ in range(2):  # the second time from the cache
            assert native.encode(text) == library.encode(text)


def test_runs_prone_to_backtracking_take_linear_time() -> None:
    native, _ = splitters("deepseek-v3")
    for text in (" " * 300_000, "\n " * 150_000, "a" * 300_000, "!" * 300_000):
        assert sum(map(len, native._encoder.pretokens(text.encode()))) == len(text)
