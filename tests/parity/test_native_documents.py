"""Byte-level `tokenizer.json` documents beyond a pattern and merges give the ids of their library on tokbench's kernel.

Tested are added tokens with any flags, normalizers, pre-tokenizers in steps, and vocabularies with gaps,
in random combinations, on texts that contain the tokens, parts of them and text that they may strip.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.byte_level_documents import (
    BYTE_LEVEL,
    BYTES,
    MERGES,
    ONLY_BYTES,
    SPLITTING,
    sequence,
    split,
    with_parts,
)
from support.huggingface import added, document, dump
from support.native_documents import assert_same_results, both
from support.texts import texts

import tokbench
from tokbench import SpecialPolicy
from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.explain.assembling import explain
from tokbench.opening.native_document import NativeDocument

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")


def normalizers(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(steps)}


NORMALIZERS: list[dict[str, Any] | None] = [
    None,
    {"type": "NFC"},
    {"type": "NFKC"},
    {"type": "Lowercase"},
    normalizers({"type": "NFKD"}, {"type": "StripAccents"}),
    normalizers(
        {"type": "NFC"},
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
        {"type": "Lowercase"},
    ),
    normalizers({"type": "Replace", "pattern": {"String": "a"}, "content": "bb"}, {"type": "NFD"}),
    normalizers(
        {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Prepend", "prepend": "the "}
    ),
    normalizers({"type": "NFC"}, {"type": "Lowercase"}),
    normalizers({"type": "NFC"}, {"type": "StripAccents"}, {"type": "Nmt"}),
]
CLIP_NORMALIZER = NORMALIZERS[5]

TOKENS = [
    "<s>",
    "<S>",
    "<s> ",
    "<mask>",
    "<m",
    "sk>",
    "  ",
    "   ",
    "\n\n",
    "the",
    "é",
    "e\u0301",
    "Σ",
    "x",
    "a b",
    "<s><s>",
]


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Draw a document that uses everything the kernel supports; some documents are left to the library."""
    missing = draw(st.sets(st.sampled_from([0x00, 0x7F, 0xC3, 0xE4, ord("q"), 0xFF]), max_size=2))
    pieces = [piece for byte, piece in enumerate(BYTES) if byte not in missing]
    merges = [
        (left, right)
        for left, right in draw(st.permutations(MERGES))
        if draw(st.integers(0, 3)) and len(left) < 9
    ]
    made: list[tuple[str, str]] = []
    for left, right in sorted(merges, key=lambda pair: len("".join(pair))):
        if left in pieces and right in pieces:
            made.append((left, right))
            pieces.append(left + right)
    order = draw(st.permutations(made))
    pieces.extend(draw(st.sampled_from([[], ["字"], ["<unk>", "dead entry"]])))
    tokens = draw(st.lists(st.sampled_from(TOKENS), max_size=5, unique=True))
    flag = st.sampled_from([False, False, False, True])
    return dump(
        document(
            {
                "type": "BPE",
                "vocab": {piece: id for id, piece in enumerate(pieces)},
                "merges": [list(pair) for pair in order],
                "ignore_merges": draw(st.booleans()),
                "unk_token": draw(st.sampled_from([None, "a"])),
            },
            normalizer=draw(st.sampled_from(NORMALIZERS)),
            pre_tokenizer=draw(st.sampled_from([BYTE_LEVEL, *SPLITTING.values()])),
            decoder=BYTE_LEVEL,
            added_tokens=[
                added(
                    text,
                    len(pieces) + place,
                    special=draw(st.booleans()),
                    **{name: draw(flag) for name in ("lstrip", "rstrip", "single_word", "normalized")},
                )
                for place, text in enumerate(tokens)
            ],
        )
    )


mixed = st.lists(
    st.sampled_from(
        [*TOKENS, " ", "    ", "\t", "\u3000", "low", "12345", "don'S", "\x00", "q", "字", "_", "ſ", "A"]
    )
    | texts,
    max_size=12,
).map("".join)


@settings(max_examples=60)
@given(data=documents(), given_texts=st.lists(mixed, max_size=6))
def test_ids_and_spans_of_any_document_equal_the_librarys(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, given_texts: list[str]
) -> None:
    native, library = both(tmp_path_factory.mktemp("any"), data)
    if isinstance(native, NativeDocument):
        assert_same_results(native, library, given_texts)


@given(data=documents(), given_texts=st.lists(mixed, max_size=3))
def test_any_document_is_explained_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, given_texts: list[str]
) -> None:
    native, _ = both(tmp_path_factory.mktemp("explained"), data)
    for text in given_texts:
        try:
            explanation = explain(native, text)
        except ConfigError as error:
            assert "cannot be explained" in error.message or "does not tell" in error.message
            continue
        except ModelFormatError as error:  # the library fails if a normalizer strips and prepends
            assert re.search("AddedVocabulary bad split|not a char boundary", error.message)
            continue
        ids = [symbol.id for step in explanation.steps for symbol in step.trace.tokens]
        assert ids == native.encode(text)


@pytest.mark.parametrize("name", SPLITTING)
def test_texts_with_known_split_steps_are_explained(name: str, tmp_path: Path) -> None:
    native, _ = both(tmp_path, with_parts(SPLITTING[name], None))
    for text in ("the low éab 12345 don's", "  \n\n x\t!! 字q", "abc<s>the", ""):
        explanation = explain(native, text)
        assert [token.id for token in explanation.tokens] == native.encode(text)
        assert len(explanation.boundaries) == max(len(explanation.tokens) - 1, 0)


def test_most_documents_run_on_the_kernel(tmp_path: Path) -> None:
    for splitting in SPLITTING.values():
        for normalizer in NORMALIZERS:
            native, _ = both(tmp_path, with_parts(splitting, normalizer))
            assert isinstance(native, NativeDocument)
            assert native.info.kernel == "native"


def test_white_space_is_stripped_before_matching_normalized_tokens(tmp_path: Path) -> None:
    """Like ModernBERT, whose runs of spaces are matched in the normalized text, after its mask."""
    document = json.loads(with_parts(BYTE_LEVEL, {"type": "NFC"}))
    first = len(document["model"]["vocab"])
    tokens = [
        added("  ", first, special=False, normalized=True),
        added("    ", first + 1, special=False, normalized=True),
        added("<m>", first + 2, special=True, lstrip=True, normalized=False),
    ]
    native, library = both(tmp_path, dump(document | {"added_tokens": tokens}))
    assert isinstance(native, NativeDocument)
    assert_same_results(
        native, library, ["a     <m>    b", "  <m>", "<m>  <m> \t\u3000<m>", "a  e\u0301   <m", ""]
    )


def test_added_token_spelled_as_a_byte_has_the_bytes_length(tmp_path: Path) -> None:
    """The byte C9 is spelled É, so that the added token É has its id; other letters begin with that byte."""
    document = json.loads(with_parts(BYTE_LEVEL, None))
    tokens = [added("É", document["model"]["vocab"]["É"], special=False)]
    native, library = both(tmp_path, dump(document | {"added_tokens": tokens}))
    assert isinstance(native, NativeDocument)
    assert_same_results(native, library, ["aəb", "É", "əÉə the É"])


def test_texts_changed_by_nfc_run_on_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.loads(with_parts(BYTE_LEVEL, {"type": "NFC"}))
    token = added("<s>", len(document["model"]["vocab"]), special=False, normalized=False)
    native, library = both(tmp_path, dump(document | {"added_tokens": [token]}))
    assert isinstance(native, NativeDocument)
    decomposed = unicodedata.normalize("NFD", "Việt Nam, žluťoučký, 각하, काज़, ভালো ")
    given_texts = [
        "cafe\u0301",
        "မြန်မာ\u103a\u1037",
        decomposed,
        "e\u0301\u0323 low\n" * 30_000,
        "\u0301<s>\u0301",
    ]
    expected = [library.encode(text) for text in given_texts]
    monkeypatch.setattr(NativeDocument, "_library", None)
    assert [ids.tolist() for ids in native.encode_batch(given_texts, threads=2)] == expected
    assert [native.encode(text) for text in given_texts] == expected
    assert native.count_batch(given_texts, threads=2).tolist() == list(map(len, expected))


@pytest.mark.parametrize(
    "text",
    [
        "E\u0301",
        "E\u0323\u0302",
        "\u0391\u0301 \u03a3",
        "\u212b \u2126 K",
        "\u1100\u1161\u11a8",
        "\u0130 I\u0307",
        "\u0915\u093c \u0958",
        "<s>E\u0301<s>\u0301E",
        "\u0301",
    ],
    ids=lambda text: text.encode("unicode_escape").decode(),
)
def test_characters_that_nfc_composes_are_changed_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Each text is the first one, so that the kernel's table has no character of another."""
    document = json.loads(with_parts(BYTE_LEVEL, normalizers({"type": "NFC"}, {"type": "Lowercase"})))
    token = added("<s>", len(document["model"]["vocab"]), special=False, normalized=False)
    native, library = both(tmp_path, dump(document | {"added_tokens": [token]}))
    expected = library.encode(text)
    monkeypatch.setattr(NativeDocument, "_library", None)
    assert native.encode(text) == expected
    assert [ids.tolist() for ids in native.encode_batch([text, text], threads=2)] == [expected, expected]
    assert native.count_batch([text], threads=2).tolist() == [len(expected)]


@pytest.mark.parametrize("has_token", [False, True])
def test_spans_in_composed_text_equal_the_librarys(tmp_path: Path, has_token: bool) -> None:
    """The mark that NFC joins to a letter is in no token, with and without an added token."""
    document = json.loads(with_parts(BYTE_LEVEL, {"type": "NFC"}))
    token = added("<s>", len(document["model"]["vocab"]), special=False, normalized=False)
    native, library = both(tmp_path, dump(document | {"added_tokens": [token] if has_token else []}))
    assert isinstance(native, NativeDocument) is has_token
    assert_same_results(native, library, ["xe\u0301 y", "e\u0301\u0301", "\u0301 the", "\u00e9"])
    assert 4 not in {token.span.stop for token in native.segment("xe\u0301 y").tokens}


# --- letters at the end of a word ---------------------------------------------------------------


def test_single_word_tokens_are_searched_in_normalized_text(tmp_path: Path) -> None:
    """The library takes a mark beside a token for part of a word, which the kernel does not; the ids must agree."""
    document = json.loads(with_parts(BYTE_LEVEL, {"type": "NFC"}))
    size = len(document["model"]["vocab"])
    words = [
        added(text, size + number, special=False, normalized=True) | {"single_word": True}
        for number, text in enumerate(("й", "е\u0308"))
    ]
    native, library = both(tmp_path, dump(document | {"added_tokens": words}))
    assert isinstance(native, NativeDocument)
    given_texts = ["и\u0306\u05b0", "и\u0306 ", "\u05b0и\u0306", "ё\u05b0", "е\u0308\u05b0", "е\u0308 й"]
    assert_same_results(native, library, given_texts)
    assert native.encode("и\u0306 ")[0] == size


def clip_like(normalizer: dict[str, Any] | None = CLIP_NORMALIZER) -> bytes:
    ends = [f"{piece}</w>" for piece in BYTES]
    merges = [("t", "h"), ("th", "e</w>"), ("a", "b</w>"), ("1", "2</w>"), ("t", "he</w>"), ("h", "e</w>")]
    pieces = [*BYTES, *ends, *dict.fromkeys(left + right for left, right in merges), "<|end|>"]
    model = {
        "type": "BPE",
        "vocab": {piece: id for id, piece in enumerate(pieces)},
        "merges": [list(pair) for pair in merges],
        "end_of_word_suffix": "</w>",
        "unk_token": "<|end|>",
    }
    return dump(
        document(
            model,
            normalizer=normalizer,
            pre_tokenizer=SPLITTING["clip"],
            decoder=BYTE_LEVEL,
            added_tokens=[added("<|end|>", len(pieces) - 1)],
        )
    )


@given(
    given_texts=st.lists(
        mixed | st.sampled_from(["the", "THE<|end|>ab", "th the</w>", "12 the12"]), max_size=4
    ),
    normalizer=st.sampled_from(NORMALIZERS),
)
def test_documents_with_a_word_end_suffix_encode_as_in_the_library(
    tmp_path_factory: pytest.TempPathFactory, given_texts: list[str], normalizer: dict[str, Any] | None
) -> None:
    native, library = both(tmp_path_factory.mktemp("clip"), clip_like(normalizer))
    assert isinstance(native, NativeDocument)
    assert_same_results(native, library, given_texts)


@pytest.mark.parametrize(
    "text",
    [
        "the ab 12 THE\u00a0\n\n the " * 300,
        "the,ab;12the\u3000the\t\tab" * 300,
        "a b c " * 300,
        "\xff é e\u0301 İ ß\x85Σ " * 200,
    ],
    ids=["spaces", "few spaces", "single letters", "other letters"],
)
def test_long_texts_with_a_word_end_suffix_encode_as_in_the_library(tmp_path: Path, text: str) -> None:
    native, library = both(tmp_path, clip_like())
    assert isinstance(native, NativeDocument)
    assert_same_results(native, library, [text, text.upper(), text])


def test_vocabulary_with_a_letter_that_ends_no_word_encodes_as_in_the_library(tmp_path: Path) -> None:
    """Where a byte does not merge with the mark of the end, a text may have more ids than bytes on the kernel."""
    document = json.loads(clip_like())
    del document["model"]["vocab"]["q</w>"]
    native, library = both(tmp_path, dump(document))
    assert isinstance(native, NativeDocument)
    assert_same_results(native, library, ["the ab 12 " * 200, "aq q the " * 200, "a b c d e " * 200])


@pytest.mark.parametrize("flags", [{}, {"lstrip": True}, {"normalized": True}])
def test_merges_that_produce_a_special_token_are_excluded(tmp_path: Path, flags: dict[str, bool]) -> None:
    """Like GGUF files of Qwen, where llama.cpp treats the ordinary "</s>" as a control token."""
    document = json.loads(with_parts(SPLITTING["starcoder"], None))
    end = document["model"]["vocab"]["<s>"]
    document["added_tokens"] = [added("<s>", end, special=True, **{"normalized": False, **flags})]
    document["model"]["merges"].append(["<s>", "a"])
    document["model"]["vocab"]["<s>a"] = max(document["model"]["vocab"].values()) + 1
    native, library = both(tmp_path, dump(document))
    assert isinstance(native, NativeDocument)
    assert_same_results(native, library, ["<s>", "the <s>ab <<s>> <s", "<s><s>a low", "<s >"])
    assert end in native.encode("a<s>", special=SpecialPolicy.ENCODE)
    assert end not in native.encode("a<s>")


# --- documents and texts that are left to the library -------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pre_tokenizer": sequence(split(r"\bthe\b"), ONLY_BYTES)}, r"holds '\\\\b'"),
        ({"pre_tokenizer": sequence(split(r"(?<!a)b"), ONLY_BYTES)}, "holds '\\(\\?<!'"),
        ({"pre_tokenizer": sequence(split(r"a*"), ONLY_BYTES)}, "matches the empty string"),
        ({"pre_tokenizer": sequence(split(r"(?:ab)+"), ONLY_BYTES)}, "its repetition"),
        ({"pre_tokenizer": sequence(split(r"(?i:strasse)"), ONLY_BYTES)}, "also match one character"),
        ({"pre_tokenizer": sequence(BYTE_LEVEL, BYTE_LEVEL)}, "bytes twice"),
        ({"pre_tokenizer": sequence({"type": "UnicodeScripts"}, BYTE_LEVEL)}, "UnicodeScripts"),
        ({"normalizer": {"type": "ByteLevel"}}, "normalizes the text"),
        ({"added_tokens": [added("<s>", 300, single_word=True)]}, "has a special token as a part"),
        ({"added_tokens": [added(" <b>", 300), added("<a>", 301, lstrip=True)]}, "strips white space"),
    ],
)
def test_unsupported_settings_are_left_to_the_library(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    made = json.loads(with_parts(BYTE_LEVEL, None)) | changes
    with pytest.raises(ConfigError, match=reason):
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(made))
        tokbench.load(path, engine="native")


@pytest.mark.parametrize(
    ("normalizer", "content", "text"),
    [
        ({"type": "Prepend", "prepend": "the "}, "the", "low"),
        ({"type": "Replace", "pattern": {"String": "x"}, "content": "h"}, "the", "txe"),
        ({"type": "NFKC"}, "<s>", "\uff1cs\uff1e"),
        ({"type": "NFC"}, "low;", "low\u037e"),
        (None, "Ġthe", "a the"),
    ],
)
def test_special_token_produced_by_a_normalizer_is_left_to_the_library(
    tmp_path: Path, normalizer: dict[str, Any] | None, content: str, text: str
) -> None:
    """Special tokens are cut out first, but a normalizer may produce the text of one afterwards."""
    document = json.loads(with_parts(ONLY_BYTES, normalizer))
    model = document["model"]
    model["vocab"]["low;"] = len(model["vocab"])
    model["merges"].append(["low", ";"])
    document["added_tokens"] = [added(content, model["vocab"][content])]
    native, library = both(tmp_path, dump(document))
    expected = library.encode(text, special=SpecialPolicy.ENCODE)
    assert model["vocab"][content] in expected
    assert native.encode(text, special=SpecialPolicy.ENCODE) == expected
    assert native.info.kernel.startswith("tokenizers")


def test_special_tokens_are_excluded_from_merges_in_nfc_documents(tmp_path: Path) -> None:
    document = json.loads(with_parts(BYTE_LEVEL, {"type": "NFC"}))
    document["added_tokens"] = [added("the", document["model"]["vocab"]["the"])]
    native, library = both(tmp_path, dump(document))
    assert native.info.kernel == "native"
    assert_same_results(native, library, ["the low", "e\u0301the\u0301"])


def test_text_with_a_byte_missing_in_the_vocabulary_is_left_to_the_library(tmp_path: Path) -> None:
    document = json.loads(with_parts(BYTE_LEVEL, None))
    del document["model"]["vocab"]["q"]
    native, library = both(tmp_path, dump(document))
    assert isinstance(native, NativeDocument)
    assert (native._covers("the low"), native._covers("aqua")) == (True, False)
    assert native.encode("aqua low") == library.encode("aqua low")


def test_prefix_space_missing_in_the_vocabulary_is_left_to_the_library(tmp_path: Path) -> None:
    document = json.loads(with_parts(BYTE_LEVEL | {"add_prefix_space": True}, None))
    model = document["model"]
    model["merges"] = [merge for merge in model["merges"] if "Ġ" not in "".join(merge)]
    model["vocab"] = {piece: id for piece, id in model["vocab"].items() if "Ġ" not in piece}
    native, library = both(tmp_path, dump(document))
    assert native.encode("low") == library.encode("low")
    assert native.info.kernel.startswith("tokenizers")
    with pytest.raises(ConfigError, match="spaces in front of texts, and has no token for one"):
        tokbench.load(tmp_path / "tokenizer.json", engine="native")


def test_long_text_is_split_for_threads_where_added_tokens_allow(tmp_path: Path) -> None:
    document = json.loads(with_parts(BYTE_LEVEL, None))
    for token in ("<s>", "the\n", "e low"):
        document["added_tokens"] = [added(token, 300, special=False)]
        native, library = both(tmp_path, dump(document))
        text = "the low the\nlow <s>the  \nlow" * 12_000
        assert native.encode_batch([text], threads=2).ids.tolist() == library.encode(text)
