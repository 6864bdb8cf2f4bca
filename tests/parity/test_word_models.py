"""Models of words on tokbench's kernel, one rule of the library at a time, each with a minimal document.

The library itself decides what is right; loading with engine="native" ensures that the kernel runs the document.
Random documents are in test_word_documents.py.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from support.byte_level_documents import sequence, split
from support.huggingface import added, document, dump
from support.native_documents import assert_same_results
from support.texts import characters_of_all_kinds
from support.word_documents import BERT_NORMALIZER, WHITESPACE

import tokbench
from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError
from tokbench.libraries.huggingface.offsets import byte_offsets
from tokbench.opening import character_bpe
from tokbench.opening.normalization_steps import steps_of
from tokbench.opening.text_normalization import TextNormalization

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def bpe(*pieces: str, merges: str = "", **fields: Any) -> dict[str, Any]:
    """Build a BPE of [UNK] and pieces, with merges as in `merges.txt`, separated by commas."""
    return {
        "type": "BPE",
        "vocab": {piece: id for id, piece in enumerate(["[UNK]", *pieces])},
        "merges": [pair.split(" ") for pair in merges.split(",") if pair],
        "unk_token": "[UNK]",
        **fields,
    }


def word_piece(*pieces: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "WordPiece",
        "vocab": {piece: id for id, piece in enumerate(["[UNK]", *pieces])},
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        **fields,
    }


def word_level(*words: str) -> dict[str, Any]:
    vocab = {word: id for id, word in enumerate(["[UNK]", *words])}
    return {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"}


AFFIXED = ["a", "##a", "a</w>", "##a</w>", "b", "##b", "b</w>", "##b</w>"]
PREFIX, SUFFIX = {"continuing_subword_prefix": "##"}, {"end_of_word_suffix": "</w>"}
AFFIXES = {
    "prefix": (
        bpe(*AFFIXED, "##", "ab", "##ba", merges="a ##b,##b ##a", **PREFIX),
        "a ab aba ba bab abab ##",
    ),
    "suffix": (
        bpe(*AFFIXED, "</w>", "ab", "ab</w>", merges="a b,a b</w>", **SUFFIX),
        "a ab aba bab abab </w>",
    ),
    "both": (
        bpe(
            *[*AFFIXED, "##", "</w>", "##</w>", "##ab", "##ab</w>"],
            merges="##a ##b,##a ##b</w>",
            **PREFIX,
            **SUFFIX,
        ),
        "a aa aaa ab aab aabb abab ## </w>",
    ),
    "tokens as long as a letter with affixes": (
        bpe("a", "##a", "a</w>", "##a</w>", "xya", "abcde", "wxyzabc", **PREFIX, **SUFFIX),
        "a aa aaa",
    ),
    "a letter that is known in other places alone": (
        bpe("a", "##b", "c</w>", **PREFIX, **SUFFIX),
        "ab abc ba cab c",
    ),
}
WHOLE_WORDS = {
    "a token that no merge makes": (bpe(*"abc", "ab", "abc", merges="a b"), "abc ab abcabc"),
    "ignored merges": (
        bpe(*"abc", "ab", "abc", "字字", merges="a b", ignore_merges=True),
        "abc ab abcabc 字字 字",
    ),
    "ignored merges and a suffix": (
        bpe(*AFFIXED, "ab", "aba</w>", "ab</w>", merges="a b", **SUFFIX, ignore_merges=True),
        "ab aba aba</w> ab</w>",
    ),
    "a suffix that merges need": (bpe(*AFFIXED, "aa", "aa</w>", merges="a a", **SUFFIX), "aa aaa"),
    "the earliest merge first": (bpe(*"abc", "bc", "ab", merges="b c,a b"), "abc abcabc ab"),
    "more than 32 letters": (
        bpe(*"abc", "bc", "ab", "abc", merges="b c,a b,ab c"),
        f"{'abc' * 11} {'ab' * 16} {'bcab' * 99}",
    ),
}
UNKNOWN_TEXT = "字 a字 字a 字字 a字字b字 字字字字a a é字\u0301 ab字ab"
UNKNOWN = {
    "unknown": (bpe(*"ab", "ab", merges="a b"), UNKNOWN_TEXT),
    "joined": (bpe(*"ab", "ab", merges="a b", fuse_unk=True), UNKNOWN_TEXT),
    "left out": (bpe(*"ab", "ab", merges="a b", unk_token=None), UNKNOWN_TEXT),
    "left out though joined": (bpe(*"ab", "ab", merges="a b", unk_token=None, fuse_unk=True), UNKNOWN_TEXT),
    "left out before a prefix": (bpe("a", "##b", unk_token=None, **PREFIX), "字b 字a a字b b"),
    "as bytes": (bpe(*BYTES, *"ab", byte_fallback=True), UNKNOWN_TEXT),
    "as bytes though joined": (bpe(*BYTES, *"ab", byte_fallback=True, fuse_unk=True), UNKNOWN_TEXT),
    "as bytes without an unknown token": (bpe(*BYTES, "a", byte_fallback=True, unk_token=None), UNKNOWN_TEXT),
    "an unknown token that is not the first": (bpe(*"ab", "?", unk_token="?", fuse_unk=True), UNKNOWN_TEXT),
}
LONGEST_MATCHES = {
    "longest matches": (word_piece("a", "ab", "##b", "##bc", "c"), "abc abbc ab c ca a"),
    "no prefix": (word_piece("a", "ab", "b", "bc", continuing_subword_prefix=""), "abc abbc ab c bb"),
    "characters count, not bytes": (
        word_piece("字", "##字", "字字字字", max_input_chars_per_word=3),
        "字 字字字 字字字字",
    ),
    "no character at all": (word_piece("a", max_input_chars_per_word=0), "a b"),
    "no limit": (word_piece("a", "##a", max_input_chars_per_word=(1 << 64) - 1), "a aaa"),
    "an empty piece": (word_piece("", "a", "##"), "a aa ##"),
    "words": (word_level("a", "ab", "the", "字"), "a ab aab the 字 字字"),
    "words like a prefix": (word_level("a", "\uffff", "\uffffa", "\uffff\uffffa"), "a aa a\uffffa \uffffa"),
}
CASES = AFFIXES | WHOLE_WORDS | UNKNOWN | LONGEST_MATCHES


def loaded(folder: Path, data: bytes) -> tuple[Any, Any]:
    """Open a document on tokbench's kernel and on its library."""
    path = folder / "tokenizer.json"
    path.write_bytes(data)
    return tokbench.load(path, engine="native"), tokbench.load(path, engine="library")


@pytest.mark.parametrize("case", CASES)
def test_model_encodes_words_as_in_the_library(tmp_path: Path, case: str) -> None:
    model, text = CASES[case]
    native, library = loaded(tmp_path, dump(document(model, pre_tokenizer={"type": "WhitespaceSplit"})))
    assert_same_results(native, library, [text, *text.split(" "), text + " "])


@pytest.mark.parametrize(
    ("model", "text", "spans"),
    [
        # Dropped characters have no length: the following characters of a word take their places.
        (bpe("a", "b", "ab", merges="a b", unk_token=None), "é ab字a", [(3, 5), (5, 8)]),
        (bpe("a", fuse_unk=True), "a字éa 字", [(0, 1), (1, 6), (6, 7), (8, 11)]),
        (bpe(*BYTES, "a", byte_fallback=True), "aé", [(0, 1), (1, 2), (2, 3)]),
        (bpe(*AFFIXED, "ab</w>", merges="a b</w>", **SUFFIX), "bab", [(0, 1), (1, 3)]),
        (bpe(*AFFIXED, "##ba", merges="##b ##a", **PREFIX), "aba", [(0, 1), (1, 3)]),
        (word_piece("a", "##bb"), "abb ac", [(0, 1), (1, 3), (4, 6)]),
    ],
)
def test_spans_of_examples_worked_by_hand(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: dict[str, Any],
    text: str,
    spans: list[tuple[int, int]],
) -> None:
    native, _ = loaded(tmp_path, dump(document(model, pre_tokenizer={"type": "WhitespaceSplit"})))
    monkeypatch.setattr(type(native), "_library", None)
    assert [tuple(token.span) for token in native.segment(text).tokens] == spans


SPLIT_TEXT = "ab a_b, c-d 12३3 x²½a\u0301 ।१ «a»$+^`|~ a\u200cb\u200da a\u2028b\x85c\x1cd 字字 ab ab,ab 1a1 _ __a aⅧaⓐa"
SPLITTING = [
    *({"type": kind} for kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer")),
    *({"type": "Digits", "individual_digits": individual} for individual in (True, False)),
    *(
        {"type": "Punctuation", "behavior": behavior}
        for behavior in ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
    ),
    {"type": "CharDelimiterSplit", "delimiter": "_"},
    sequence(WHITESPACE, {"type": "Digits", "individual_digits": True}, {"type": "Punctuation"}),
    *(split("a", "MergedWithNext", invert=invert) for invert in (True, False)),
]


@pytest.mark.parametrize("step", SPLITTING, ids=str)
def test_words_are_split_as_in_the_library(tmp_path: Path, step: dict[str, Any]) -> None:
    pieces = tokenizers.Tokenizer.from_buffer(dump(document(word_level(), pre_tokenizer=step))).pre_tokenizer
    words = dict.fromkeys(piece for piece, _ in pieces.pre_tokenize_str(SPLIT_TEXT))
    native, library = loaded(tmp_path, dump(document(word_level(*words), pre_tokenizer=step)))
    assert_same_results(native, library, [SPLIT_TEXT, SPLIT_TEXT * 9, f"ab{' ab' * 40}", "," * 9])
    assert native._covers(SPLIT_TEXT)
    assert len(set(native.encode(SPLIT_TEXT))) > 3


LOWERCASE, NFD, NFKD, STRIP_ACCENTS = (
    {"type": kind} for kind in ("Lowercase", "NFD", "NFKD", "StripAccents")
)
BY_CHARACTER: list[list[dict[str, Any]]] = [
    [LOWERCASE],
    [NFD],
    [NFKD, LOWERCASE],
    [STRIP_ACCENTS],
    [LOWERCASE, NFD, STRIP_ACCENTS],
    [BERT_NORMALIZER],
    [BERT_NORMALIZER | {"strip_accents": True, "lowercase": False, "clean_text": False}],
]
MARKS = "".join(chr(code) for code in range(0x20000) if unicodedata.combining(chr(code)))
FOUND_TEXTS = [
    "A<s>B",
    "<S>a",
    "ab<s>",
    "É<s>É",
    "<s>",
    "Ab aB <X> <x> ab",
    "Q q",
    "<S><s><X>",
    "a <s> b <s>É",
]


def with_added(*tokens: dict[str, Any], normalizer: dict[str, Any] | None) -> bytes:
    model = word_piece("a", "b", "ab", "é", "##b", "##a", "<", ">", "s", "x", "q")
    listed = [each | {"id": len(model["vocab"]) + place} for place, each in enumerate(tokens)]
    return dump(
        document(
            model, pre_tokenizer=WHITESPACE, normalizer=normalizer, added_tokens=[added("[UNK]", 0), *listed]
        )
    )


@pytest.mark.parametrize("normalizer", [None, {"type": "NFC"}, LOWERCASE, {"type": "NFKD"}], ids=str)
@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_added_tokens_match_before_or_after_normalization(
    tmp_path: Path, normalizer: dict[str, Any] | None, special: bool, normalized: bool
) -> None:
    flags = {"special": special, "normalized": normalized}
    tokens = [added(text, 0, **flags) for text in ("<s>", "Q")]
    native, library = loaded(tmp_path, with_added(*tokens, normalizer=normalizer))
    assert_same_results(native, library, [*FOUND_TEXTS, "A e\u0301 ﬁ<s>e\u0301"])
    for text in FOUND_TEXTS:  # alone too, because other texts of a batch may affect how it is encoded
        assert_same_results(native, library, [text])


@pytest.mark.parametrize("special", [True, False])
def test_single_word_token_does_not_match_beside_non_ascii_letters(tmp_path: Path, special: bool) -> None:
    token = added("ab", 0, special=special, single_word=True)
    native, library = loaded(tmp_path, with_added(token, normalizer=None))
    assert_same_results(native, library, ["ab", "éab", "ab字", "é ab字ab ab", "aab ab_ ab-ab"])


def test_stripping_token_takes_white_space_between_words(tmp_path: Path) -> None:
    token = added("<x>", 0, special=False, lstrip=True, rstrip=True)
    native, library = loaded(tmp_path, with_added(token, normalizer=None))
    texts = ["ab <x> ab", "ab  <x>", f"ab{' ab <x> ab' * 60}", "a b <x>"]
    assert_same_results(native, library, texts)


def test_token_between_letters_matches_across_splits(tmp_path: Path) -> None:
    native, library = loaded(tmp_path, with_added(added("b a", 0, special=False), normalizer=None))
    assert_same_results(native, library, ["ab ab", "ab b a b a", f"b{' ab' * 90}", "a" + "b a" * 400])


@pytest.mark.parametrize("single_word", [True, False])
@pytest.mark.parametrize(
    "model",
    [
        bpe(*"abc", "ab", "abc", merges="a b,ab c"),
        bpe(*"abc", "ab", "abc", merges="a b,ab c", ignore_merges=True),
        word_piece("ab", "a", "##b", "##c", "c"),
    ],
)
def test_special_tokens_as_text_are_no_pieces(
    tmp_path: Path, model: dict[str, Any], single_word: bool
) -> None:
    specials = [
        added(text, model["vocab"][text], single_word=single_word)
        for text in ("[UNK]", "ab", "c", "##c")
        if text in model["vocab"]
    ]
    native, library = loaded(tmp_path, dump(document(model, pre_tokenizer=WHITESPACE, added_tokens=specials)))
    assert_same_results(native, library, ["ab c abc cab a b", "abab", "ab", "abc", "[UNK] a[UNK]"])


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (bpe(*BYTES, "##a", byte_fallback=True, **PREFIX), "byte fallback, and a prefix or suffix"),
        (bpe(*BYTES, "a</w>", byte_fallback=True, **SUFFIX), "byte fallback, and a prefix or suffix"),
        (bpe(*BYTES[1:], "a", byte_fallback=True), "without a token for the byte 00"),
        (
            bpe(*BYTES, "a", "<0x41>a", byte_fallback=True, merges="<0x41> a"),
            "merges byte tokens",
        ),
        (bpe("a", "a[UNK]", merges="a [UNK]"), "or the unknown token"),
        (bpe("a", "b", "ab", merges="a b,a b"), "contains a merge twice"),
        (bpe("a", "bcd", "ad", "abcd", merges="a bcd", **PREFIX), "does not begin with '##'"),
    ],
)
def test_models_that_would_differ_are_left_to_the_library(
    tmp_path: Path, model: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(dump(document(model, pre_tokenizer=WHITESPACE)))
    with pytest.raises(ConfigError, match=reason):
        tokbench.load(path, engine="native")


@pytest.mark.parametrize("limit", ["_MOST_TOKENS", "_MOST_MERGES"])
def test_models_beyond_the_kernels_tables_are_left_to_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(dump(document(bpe("a", "aa", merges="a a"), pre_tokenizer=WHITESPACE)))
    size = {"_MOST_TOKENS": 3, "_MOST_MERGES": 1}[limit]
    monkeypatch.setattr(character_bpe, limit, size + 1)
    assert tokbench.load(path, engine="native").encode("aaa", special=SpecialPolicy.TEXT) == [2, 1]
    monkeypatch.setattr(character_bpe, limit, size)
    with pytest.raises(ConfigError, match="merges, or more"):
        tokbench.load(path, engine="native")


@cache
def normalization_of(number: int) -> TextNormalization:
    return TextNormalization(BY_CHARACTER[number])


def assert_table_knows(number: int, text: str) -> None:
    """Check the normalized text by the kernel's table, and the origin of each of its bytes."""
    normalization = normalization_of(number)
    assert normalization.changes is not None
    table = normalization.changes.of([text])
    made, starts = text, byte_offsets(text)
    for normalizer in BY_CHARACTER[number]:
        for step in steps_of(normalizer):
            made = step(made)
    assert table.of(text) == made
    assert normalization(text) == made
    sizes = (len(character.encode()) for character in made)
    origins = zip(normalization.with_origins(text)[1], sizes, strict=True)
    assert table.origins(text).tolist() == [starts[origin] for origin, size in origins for _ in range(size)]


@pytest.mark.parametrize("number", range(len(BY_CHARACTER)))
def test_kernel_table_normalizes_every_kind_of_character(number: int) -> None:
    ideographs = (range(0x3500, 0x9F00), range(0x20100, 0x2F700), range(0x2FB00, 0xE0000))
    alike = (*ideographs, range(0xE0200, 0x10FF00))  # and unassigned code points
    some = (
        character
        for character in characters_of_all_kinds()
        if not any(ord(character) in characters for characters in alike)
    )
    assert_table_knows(number, "\n".join(some))


@given(
    number=st.integers(0, len(BY_CHARACTER) - 1),
    text=st.text(
        st.sampled_from(
            MARKS + "\u0e31\U0001d165\u302e\u0344aA\u00e9\ud55c\u5b57 \u03a3\u0130\ufb01\x00\u0905"
        )
        | st.characters(max_codepoint=0x1FFFF, exclude_categories=["Cs"])
    ),
)
def test_kernel_reorders_marks(number: int, text: str) -> None:
    assert_table_knows(number, text)


def test_normalization_across_characters_has_no_table() -> None:
    assert TextNormalization([{"type": "NFKC"}]).changes is None
    assert TextNormalization([NFD, STRIP_ACCENTS, NFKD]).changes is None
    assert TextNormalization([]).changes is None


@pytest.mark.parametrize("normalizer", [LOWERCASE, BERT_NORMALIZER], ids=lambda step: step["type"])
@pytest.mark.parametrize("normalized", [True, False])
def test_texts_are_normalized_on_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, normalizer: dict[str, Any], normalized: bool
) -> None:
    tokens = [added("<s>", 0, normalized=normalized), added("Q", 0, special=False, normalized=normalized)]
    native, library = loaded(tmp_path, with_added(*tokens, normalizer=normalizer))
    monkeypatch.setattr(TextNormalization, "leaves", None)  # only Python calls it
    assert_same_results(
        native, library, [*FOUND_TEXTS, "a" + " Ab<s>B \u00c9" * 50, "e\u0327\u0301 E\u0301\u0327"]
    )
