"""Both WordPiece kernels give the ids and spans of `tokenizers` for every text and every option."""

from __future__ import annotations

import itertools
import json
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from support.huggingface import added, document, dump
from support.kernels import KERNEL_NAMES, chosen, kernel_named
from support.texts import all_characters, bundled_texts, characters_in_use, texts

from tokbench.backends.wordpiece.agreement import BertAgreement, is_movable, library_words
from tokbench.backends.wordpiece.document import wordpiece_description
from tokbench.backends.wordpiece.kernel import Kernel, current_kernel
from tokbench.backends.wordpiece.tokenizer import DocumentWordPiece
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import SpecialTokenError, TextError

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = [
    {"clean_text": clean, "handle_chinese_chars": ideographs, "strip_accents": strip, "lowercase": lower}
    for clean, ideographs, strip, lower in itertools.product(
        (True, False), (True, False), (True, False, None), (True, False)
    )
]
BERT = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
# White space, punctuation, ideographs, marks and removed characters of some option, and characters that become such.
HARD = (
    " \t\n\r\x0b\x0c\x1c\x85\xa0\u3000\u2000\0\x7f\ufffd\u200d.,!#字中\uf900\U0002f800\u037e\u2329“—"
    "ABCabcéÉİßǅΣ\u0301\u0316\u0344각가\u0958अनुभव้\U0001d400\u302e\U0001d165\u1b44"
)
woven = st.lists(st.sampled_from(HARD) | texts, max_size=20).map("".join)


def vocabulary(*, prefix: str, gap: int) -> dict[str, int]:
    """Return letters for both positions, and longer pieces with common beginnings, so that matches are cut back."""
    letters = [*"abcdefghijklmnopqrstuvwxyzABCé字中.,!#-", "\u0301", "\u1100", "\u1161", "\u11a8", "ß"]
    inside = [prefix + character for character in "abcdeilmnrstuß\u0301\u1161\u11a8"]
    longer = [
        "ab",
        "abc",
        "abcde",
        prefix + "bcd",
        prefix + "bc",
        prefix + "cdx",
        "the",
        prefix + "ing",
        prefix,
    ]
    pieces = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", *letters, *inside, *longer])
    return {piece: gap * number for number, piece in enumerate(pieces)}


def wordpiece(
    rules: dict[str, Any],
    *,
    tokens: tuple[dict[str, Any], ...] = (),
    prefix: str = "##",
    most: int = 20,
    gap: int = 3,
) -> bytes:
    """Return a document with this vocabulary and three special tokens."""
    vocab = vocabulary(prefix=prefix, gap=gap)
    return dump(
        document(
            {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": prefix,
                "max_input_chars_per_word": most,
                "vocab": vocab,
            },
            added_tokens=[*(added(text, vocab[text]) for text in ("[PAD]", "[UNK]", "[CLS]")), *tokens],
            normalizer={"type": "BertNormalizer", **rules},
            pre_tokenizer={"type": "BertPreTokenizer"},
            decoder={"type": "WordPiece", "prefix": prefix, "cleanup": True},
        )
    )


def opened(data: bytes, name: str = "native") -> DocumentWordPiece:
    kernel_named(name)  # skips the test where it is absent
    with chosen(name):
        return DocumentWordPiece(data, name="test")


def kernel_of(name: str) -> Kernel:
    kernel_named(name)
    with chosen(name):
        return current_kernel()


def on_library(data: bytes) -> DocumentWordPiece:
    return DocumentWordPiece(data, name="library", engine="library")


@pytest.mark.parametrize("name", KERNEL_NAMES)
@pytest.mark.parametrize(
    "rules",
    # Every fifth one covers each value of each option. The others are marked slow.
    [pytest.param(each, marks=[] if n % 5 == 0 else [pytest.mark.slow]) for n, each in enumerate(OPTIONS)],
    ids=["-".join(str(v)[0] for v in rules.values()) for rules in OPTIONS],
)
@given(text=woven)
def test_ids_and_spans_of_any_text_equal_the_librarys(name: str, rules: dict[str, Any], text: str) -> None:
    ours, library = _pair(name, json.dumps(rules))
    assert ours.encode(text) == library.encode(text)
    found, expected = ours.encode_spans([text, "a", text]), library.encode_spans([text, "a", text])
    assert found.encoded.ids.tolist() == expected.encoded.ids.tolist()
    assert found.encoded.offsets.tolist() == expected.encoded.offsets.tolist()
    assert (found.starts.tolist(), found.stops.tolist()) == (
        expected.starts.tolist(),
        expected.stops.tolist(),
    )
    assert found.kinds.tolist() == expected.kinds.tolist()
    assert ours.segment(text) == library.segment(text)
    assert ours.count_batch([text, ""]).tolist() == [len(library.encode(text)), 0]


_pairs: dict[tuple[str, str], tuple[DocumentWordPiece, DocumentWordPiece]] = {}


def _pair(name: str, rules: str) -> tuple[DocumentWordPiece, DocumentWordPiece]:
    if (name, rules) not in _pairs:
        data = wordpiece(json.loads(rules))
        _pairs[name, rules] = opened(data, name), on_library(data)
    return _pairs[name, rules]


@pytest.mark.parametrize("name", KERNEL_NAMES)
@pytest.mark.parametrize("prefix", ["##", "", "a", "b", "é"])
def test_prefix_may_be_any_text(name: str, prefix: str) -> None:
    data = wordpiece(BERT | {"lowercase": False, "strip_accents": False}, prefix=prefix)
    ours, library = opened(data, name), on_library(data)
    words = ["".join(letters) for size in range(1, 6) for letters in itertools.product("abcé", repeat=size)]
    assert ours.encode_batch(words).ids.tolist() == library.encode_batch(words).ids.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("rules", [OPTIONS[0], OPTIONS[-2]], ids=["all", "none"])
def test_every_code_point_inside_a_word_is_normalized_as_by_the_library(rules: dict[str, Any]) -> None:
    kernel = kernel_of("native")
    fields = rules | {"strip_accents": bool(rules["strip_accents"])}
    texts = (f"a{character}b" for character in characters_in_use())
    assert [x for x in texts if kernel.normal_words(x, **fields) != library_words(x, **fields)] == []


@pytest.mark.slow
def test_table_of_movable_characters_is_right() -> None:
    kernel = kernel_of("native")
    assert [
        character
        for character in characters_in_use()
        if kernel.is_movable(ord(character)) != is_movable(ord(character))
    ] == []


def test_no_character_becomes_more_characters_than_it_has_bytes() -> None:
    """The size of the buffer for ids depends on it."""
    kernel = kernel_of("native")
    for lower, strip in itertools.product((True, False), repeat=2):
        rules = {
            "clean_text": False,
            "handle_chinese_chars": True,
            "strip_accents": strip,
            "lowercase": lower,
        }
        for character in all_characters()[2 * lower + strip :: 29]:
            assert len("".join(kernel.normal_words(character, **rules))) <= len(character.encode())


@pytest.mark.parametrize("ideographs", [True, False])
@given(text=woven)
def test_every_simd_tier_splits_alike(ideographs: bool, text: str) -> None:
    kernel_named("native")
    from tokbench.native import _wordpiece

    data = text.encode()
    expected = _wordpiece.split(data, ideographs, "scalar").tolist()
    for tier in ("swar", "avx2", "avx512"):
        try:
            found = _wordpiece.split(data, ideographs, tier).tolist()
        except ValueError:
            continue  # not supported by this processor
        assert found == expected


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_words_of_many_characters_are_unknown(name: str) -> None:
    data = wordpiece(BERT, most=20)
    ours, library = opened(data, name), on_library(data)
    for word in (
        "a" * 19,
        "a" * 20,
        "a" * 21,
        "é" * 20,
        "É" * 21,
        "각" * 7,
        "e\u0301" * 20,
        "a" * 21 + "\u200d",
    ):
        assert ours.encode(word) == library.encode(word)


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_special_and_added_tokens_match_as_in_the_library(name: str) -> None:
    everywhere = (added("<a>", 900, special=False, lstrip=True), added("bc", 901, special=False))
    for tokens in ((), everywhere, everywhere[:1], (added("<B>", 902, normalized=True),)):
        data = wordpiece(BERT, tokens=tokens, gap=1)
        ours, library = opened(data, name), on_library(data)
        assert not ours.library_reason
        for text in ("[CLS] a [UNK]", "ab<a>bc", "x <a> bc", "<b> <B>", "[cls]", "none"):
            for special in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
                assert ours.encode(text, special=special) == library.encode(text, special=special)
                assert ours.segment(text, special=special) == library.segment(text, special=special)
                batch = ours.encode_batch([text, "a", text], special=special)
                assert (
                    batch.ids.tolist()
                    == library.encode_batch([text, "a", text], special=special).ids.tolist()
                )
        with pytest.raises(SpecialTokenError):
            ours.encode("a [CLS]", special=SpecialPolicy.RAISE)
        assert ours.encode("a b", special=SpecialPolicy.RAISE) == library.encode("a b")


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_surrogate_is_refused(name: str) -> None:
    ours = opened(wordpiece(BERT), name)
    for call in (ours.encode, lambda text: ours.encode_batch([text]), lambda text: ours.encode_spans([text])):
        with pytest.raises(TextError, match="U\\+D800"):
            call("a\ud800")


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"normalizer": None}, "normalizes by nothing"),
    ({"normalizer": {"type": "Lowercase"}}, "normalizes by Lowercase"),
    ({"pre_tokenizer": {"type": "Whitespace"}}, "splits by Whitespace"),
    ({"added_tokens": [added("x y", 900, special=False, normalized=True)]}, "normalized text"),
    ({"added_tokens": [added(f"<{i}>", 900 + i, special=False) for i in range(17)]}, "17 added tokens"),
]


@pytest.mark.parametrize(("change", "reason"), CHANGES)
def test_unsupported_settings_are_left_to_the_library(change: dict[str, Any], reason: str) -> None:
    data = dump(json.loads(wordpiece(BERT)) | change)
    ours = DocumentWordPiece(data, name="test")
    assert reason in ours.library_reason
    assert ours.encode("The Café x y <3>") == on_library(data).encode("The Café x y <3>")
    assert ours.info.kernel.startswith("tokenizers")


def test_text_with_reordered_marks_is_left_to_the_library() -> None:
    data = wordpiece(BERT | {"strip_accents": True})
    ours, library = opened(data), on_library(data)
    text = "a\u302e\U0001d165b"
    assert not ours._agreement.covers(text)
    assert ours.encode(text) == library.encode(text)
    assert not opened(data, "python")._agreement.covers(text)


def test_mark_inside_a_decomposed_note_has_the_librarys_span() -> None:
    data = wordpiece(BERT | {"strip_accents": True})
    ours, library = opened(data), on_library(data)
    for text in ("\U0001d15e\u05b0", "a \U0001d1c0\u0301b", "\U0001d15e"):
        assert ours.encode(text) == library.encode(text)
        assert ours.segment(text) == library.segment(text)


def test_other_library_version_checks_each_character() -> None:
    kernel = kernel_of("native")
    rules = wordpiece_description(json.loads(wordpiece(BERT))).rules
    text = "".join(bundled_texts().values())
    asked = BertAgreement(replace(kernel, tables="tokenizers 0.0"), rules)
    settled = BertAgreement(kernel, rules)
    assert not all(asked._agreed[ord(character)] for character in text)
    for one in (text, "a\u302eb", "字\U0001e000"):
        assert asked.covers(one) == settled.covers(one)
    wrong = replace(kernel, tables="", normal_words=lambda text, **_: ["é" in text])
    assert not BertAgreement(wrong, rules).covers("aé")


def test_threads_do_not_change_ids_and_spans() -> None:
    """The long text is on the kernel's threads, too: it has none of the characters that are left to the library."""
    ours = opened(wordpiece(BERT, most=100))
    whole = "".join(bundled_texts().values())
    disputed = ours._agreement.disputed_among(set(whole))
    long = "".join(character for character in whole if character not in disputed) * 3
    assert disputed and ours._agreement.covers(long)
    many = [*bundled_texts().values(), "", long, "字" * 200_000, "a" * 300_000 + " b"]
    one = ours.encode_batch(many, threads=1)
    for threads in (2, 5):
        more = ours.encode_batch(many, threads=threads)
        assert np.array_equal(one.ids, more.ids) and np.array_equal(one.offsets, more.offsets)
        assert np.array_equal(ours.count_batch(many, threads=threads), one.counts)
        assert np.array_equal(ours.encode_spans(many, threads=threads).encoded.ids, one.ids)


HOSTILE = {
    "a long word": "a" * 1_000_000,
    "marks by the thousand": "e" + "\u0301\u0316" * 500_000,
    "nothing but gaps": " \u3000\n" * 300_000,
    "what is left out": "\u200d" * 300_000,
    "ideographs": "字" * 300_000,
    "words that match until the end": ("ab" * 49 + "q ") * 10_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_take_linear_time(text: str) -> None:
    ours = opened(wordpiece(BERT, most=1 << 31))
    ours.encode(text)
    started = time.process_time()
    ours.encode(text)
    assert time.process_time() - started < 1.5


def test_repetitive_pieces_are_matched_in_linear_time() -> None:
    """Each match is cut back to one letter: without failure links, every letter would take 2,000 steps."""
    vocab = {"[UNK]": 0, "a": 1, "##a": 2, "a" * 2000 + "b": 3, "##" + "a" * 2000 + "b": 4}
    parts = json.loads(wordpiece(BERT, most=1 << 31))
    parts["model"]["vocab"] = vocab
    parts["added_tokens"] = []
    ours = opened(dump(parts))
    started = time.process_time()
    assert ours.encode("a" * 500_000) == [1] + [2] * 499_999
    assert time.process_time() - started < 2


@pytest.mark.real
def test_real_vocabulary_encodes_real_texts_as_the_library(shared: Path) -> None:
    path = shared / "vocab/bert-base-uncased/tokenizer.json"
    kernel_named("native")
    ours = DocumentWordPiece(path.read_bytes(), name="bert")
    library = tokenizers.Tokenizer.from_file(os.fspath(path))
    lines = [
        line
        for file in sorted((shared / "corpora/parallel_ntrex").glob("*.txt"))
        if file.stem != "SOURCE"
        for line in file.read_text(encoding="utf-8").splitlines()[:150]
    ]
    assert not ours.library_reason
    expected = library.encode_batch(lines, add_special_tokens=False)
    found = ours.encode_batch(lines)
    assert [found[i].tolist() for i in range(len(lines))] == [tokens.ids for tokens in expected]
