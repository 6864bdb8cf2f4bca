"""The original character of each normalized character agrees with the offsets of the installed `tokenizers`."""

from __future__ import annotations

import sys
import unicodedata
from base64 import b64encode
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from hypothesis import assume, given
from hypothesis import strategies as st
from support.huggingface import document, dump
from support.sentencepiece_models import charsmap
from support.word_documents import BERT_NORMALIZER as BERT
from support.word_documents import STRIP_SPACES

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.opening import normalization_steps
from tokbench.opening.character_changes import APART
from tokbench.opening.character_origins import of_each
from tokbench.opening.normalization_steps import WHITE_SPACE_RUNS
from tokbench.opening.text_normalization import TextNormalization

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the kernel makes NFC")

NFC, NFD, NFKC, NFKD, LOWERCASE, STRIP_ACCENTS = (
    {"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")
)
PREPEND = {"type": "Prepend", "prepend": "▁x"}
REPLACE = {"type": "Replace", "pattern": {"String": "ab"}, "content": "é字c"}
REPLACE_SPACES = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
REPLACE_RUNS = {"type": "Replace", "pattern": {"Regex": r"\s{2,}|[\n\r\t]"}, "content": " "}
REPLACE_EACH = {"type": "Replace", "pattern": {"Regex": "[eé\u0301ﬁ]"}, "content": "xae"}
REMOVE_EACH = {"type": "Replace", "pattern": {"Regex": "[a\u0323Σ]|x"}, "content": ""}
REMOVE = {"type": "Replace", "pattern": {"String": "b"}, "content": ""}
TABLE = {"type": "Precompiled", "precompiled_charsmap": b64encode(charsmap("nmt_nfkc")).decode()}
STRIP_FIRST = {"type": "Replace", "pattern": {"Regex": r"\A +"}, "content": ""}
STRIP_LAST = {"type": "Replace", "pattern": {"Regex": r" +\z"}, "content": ""}
DOUBLE_FIRST = {"type": "Replace", "pattern": {"Regex": r"\Aa"}, "content": "xé"}
REPLACE_FIRST = {"type": "Replace", "pattern": {"Regex": r"\A\ \|▁"}, "content": ""}
STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
NORMALIZERS: list[list[dict[str, Any]]] = [
    *[
        [step]
        for step in (NFC, NFD, NFKC, NFKD, LOWERCASE, STRIP_ACCENTS, BERT, PREPEND, REPLACE, REMOVE, STRIP)
    ],
    *[[LOWERCASE, NFD, STRIP_ACCENTS], [NFKD, REPLACE, NFC], [PREPEND, NFKC, REPLACE_SPACES, STRIP]],
    *[[STRIP, REMOVE, NFKC, LOWERCASE], [REPLACE_SPACES, BERT], [REPLACE_RUNS, NFC, STRIP]],
    *[[TABLE], [TABLE, REPLACE_SPACES, LOWERCASE], [REMOVE, LOWERCASE, TABLE]],
    *[[STRIP_SPACES], [STRIP_FIRST], [STRIP_LAST], [DOUBLE_FIRST], [REPLACE_FIRST]],
    *[[TABLE, STRIP_SPACES, REPLACE_SPACES, DOUBLE_FIRST], [NFD, DOUBLE_FIRST, LOWERCASE, STRIP_LAST]],
    *[[REPLACE_EACH, REMOVE_EACH, NFC], [NFKC, REMOVE_EACH, REPLACE_EACH, LOWERCASE]],
]
MARKS = "".join(
    character for character in map(chr, range(0x20000)) if unicodedata.ucd_3_2_0.combining(character)
)
CHARACTERS = (
    "aAbeEiI xﬁé\u0344ậâạİ한가각\u1100\u1161\u11a8\u0b47\u0b56\u0b3e\u0958Ω½①\u3000カ\u3099ﾞｶﾞ\U0001d15e\u0cca\u0cc6"
    "\u0cc2\u0cd5字\x00\x85\u2028\tΣ\x01\x7f\xad"
)


@cache
def offsets_by_library(number: int) -> Callable[[str], tuple[str, Sequence[tuple[int, int]]]]:
    """Return a function that maps a text to its normalized form and the offsets of each character of that."""
    each_character = {
        "type": "Split",
        "pattern": {"Regex": r"[\s\S]"},
        "behavior": "Isolated",
        "invert": False,
    }
    made = document(
        {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"},
        normalizer={"type": "Sequence", "normalizers": NORMALIZERS[number]},
        pre_tokenizer=each_character,
    )
    tokenizer = tokenizers.Tokenizer.from_buffer(dump(made))
    return lambda text: (tokenizer.normalizer.normalize_str(text), tokenizer.encode(text).offsets)


@given(
    number=st.integers(0, len(NORMALIZERS) - 1),
    text=st.text(st.sampled_from(CHARACTERS) | st.sampled_from(MARKS), max_size=12)
    | st.builds("".join, st.lists(st.sampled_from([" ", "a", " |▁", "\n", "é"]))),
)
def test_origins_of_characters_equal_the_librarys_offsets(number: int, text: str) -> None:
    normalization = TextNormalization(NORMALIZERS[number])
    made, offsets = offsets_by_library(number)(text)
    assume(normalization(text) == made and normalization.knows_origins_of(text))
    assert [(origin, origin + 1) for origin in normalization.with_origins(text)[1]] == offsets


@pytest.mark.parametrize("expression", WHITE_SPACE_RUNS)
@given(
    content=st.sampled_from(["", " ", "▁", "\\1"]),
    text=st.text(st.sampled_from("  \n\n\r\t\x0b\x1c\x85\xa0\u2009\u200b\u3000ab字"), max_size=20),
)
def test_white_space_is_replaced_as_by_the_library(expression: str, content: str, text: str) -> None:
    step = {"type": "Replace", "pattern": {"Regex": expression}, "content": content}
    library = tokenizers.normalizers.Replace(tokenizers.Regex(expression), content)
    assert TextNormalization([step])(text) == library.normalize_str(text)


@pytest.mark.parametrize("expression", [r"\s+", "[[:space:]]+", r"\s{2,}|[\n\r\t]"])
@pytest.mark.parametrize("content", [" ", "▁", ""])
@pytest.mark.parametrize(
    "text",
    [*[f"a{space}b" for space in " \t\n\r\v\f\x85\u2003"], "a   b     c", " \t a\r\n", "a \v b", "\v\n", ""],
)
def test_each_kind_of_white_space_is_replaced_as_by_the_library(
    expression: str, content: str, text: str
) -> None:
    step = {"type": "Replace", "pattern": {"Regex": expression}, "content": content}
    library = tokenizers.normalizers.Replace(tokenizers.Regex(expression), content)
    assert TextNormalization([step])(text) == library.normalize_str(text)


@pytest.mark.parametrize(
    ("expression", "content"), [("[eé]", "x\u0905"), ("[e\u0905]", "x"), ("[eé]", "\u0905")]
)
def test_each_character_is_replaced_as_by_the_library_beside_the_one_that_separates_them(
    expression: str, content: str
) -> None:
    step = {"type": "Replace", "pattern": {"Regex": expression}, "content": content}
    library = tokenizers.normalizers.Replace(tokenizers.Regex(expression), content)
    text = "ae\u0905éx\u0905"
    assert TextNormalization([step])(text) == library.normalize_str(text)
    assert APART == "\u0905"


@pytest.mark.parametrize(
    ("normalizers", "text", "normal"),
    [
        ([NFD, LOWERCASE], "E\u0301\u0323", "e\u0323\u0301"),
        ([LOWERCASE, NFD, STRIP_ACCENTS], "É\u0323x", "ex"),
        # The mark of half width is in canonical order only after it is decomposed.
        ([NFD, LOWERCASE, NFKD], "A\u0301\uff9e", "a\u3099\u0301"),
        ([LOWERCASE, STRIP_ACCENTS], "É\u0301", "é"),
        ([LOWERCASE], "ΑΣ", "ασ"),  # a final sigma is not special
        ([BERT], "É का", "e का"),  # accents are stripped with the case; a spacing mark is none
    ],
)
@pytest.mark.parametrize("is_compiled", [True, False])
def test_runs_of_characterwise_steps_keep_canonical_order(
    monkeypatch: pytest.MonkeyPatch,
    normalizers: list[dict[str, Any]],
    text: str,
    normal: str,
    *,
    is_compiled: bool,
) -> None:
    if not is_compiled:
        monkeypatch.setattr(normalization_steps, "has_native_kernel", lambda: False)
        monkeypatch.setitem(sys.modules, "tokbench.native._bpe", None)
    assert TextNormalization(normalizers)(text) == normal


@pytest.mark.parametrize(
    ("normalizers", "text", "origins"),
    [
        # All parts of a decomposed character originate from it.
        ([NFD], "xéy", [0, 1, 1, 2]),
        # The dot below is sorted before the acute, an inserted part, which originates from the character before it.
        ([NFD], "e\u0301\u0323", [0, 1, 2]),
        ([NFD], "é\u0323", [0, 1, 1]),
        # A composed character originates from the first of its parts.
        ([NFC], "xe\u0301y", [0, 1, 3]),
        ([BERT], "a\x00字É", [0, 2, 2, 2, 3]),
        ([PREPEND], "ab", [0, 0, 0, 1]),
        # A replacement originates from the last character that it replaces.
        ([REPLACE], "xaby", [0, 2, 2, 2, 3]),
        ([STRIP, LOWERCASE], " İ ", [1, 1]),
        # What a table leaves out belongs to the part before it, which then counts for more than one character.
        ([TABLE], "a\x01\x01bﬁ\x01c", [0, 3, 4, 5, 6]),
        ([TABLE], "½\x01x", [0, 0, 1, 2]),
        ([TABLE], "\x01ab", [0, 1]),
    ],
)
def test_origins_of_examples_worked_by_hand(
    normalizers: list[dict[str, Any]], text: str, origins: list[int]
) -> None:
    assert list(TextNormalization(normalizers).with_origins(text)[1]) == origins


@pytest.mark.parametrize("changed", ["a", "abcdefghijklmnopqrstuvwxyz"])
def test_characters_of_other_sizes_are_found_one_by_one_and_in_a_table(changed: str) -> None:
    sizes = {character: place % 4 for place, character in enumerate(changed)}
    text = "the quick é brown fox\U0001f642 jumps over the lazy dog"
    origins = of_each(lambda part: "".join(character * sizes.get(character, 1) for character in part))
    expected = [place for place, character in enumerate(text) for _ in range(sizes.get(character, 1))]
    assert list(origins(text)) == expected
