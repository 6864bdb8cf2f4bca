"""Byte-level `tokenizer.json` documents beyond a pattern and merges give the ids of their library on tokbench's kernel.

Tested are added tokens with any flags, normalizers, pre-tokenizers in steps, and vocabularies with gaps,
in random combinations, on texts that contain the tokens, parts of them and text that they may strip.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.byte_level_documents import (
    BYTE_LEVEL,
    BYTES,
    MERGES,
    NORMALIZERS,
    ONLY_BYTES,
    SPLITTING,
    TOKENS,
    mixed,
    sequence,
    split,
    with_parts,
)
from support.huggingface import added, document, dump
from support.kernels import chosen
from support.native_documents import assert_same_results, both

import tokbench
from tokbench import SpecialPolicy
from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.explain.assembling import explain
from tokbench.opening.native_document import NativeDocument

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")


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
    vocab = {piece: id for id, piece in enumerate(pieces)}
    if draw(st.booleans()):  # as the library's trainer does with special tokens
        for text in tokens:
            vocab.setdefault(text, len(vocab))
    ids = {
        text: id for id, text in enumerate((text for text in tokens if text not in vocab), len(vocab))
    } | vocab
    flag = st.sampled_from([False, False, False, True])
    return dump(
        document(
            {
                "type": "BPE",
                "vocab": vocab,
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
                    ids[text],
                    special=draw(st.booleans()),
                    **{name: draw(flag) for name in ("lstrip", "rstrip", "single_word", "normalized")},
                )
                for text in tokens
            ],
        )
    )


@settings(max_examples=60)
@given(data=documents(), given_texts=st.lists(mixed, max_size=6))
def test_ids_and_spans_of_any_document_equal_the_librarys(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, given_texts: list[str]
) -> None:
    native, library = both(tmp_path_factory.mktemp("any"), data)
    if isinstance(native, NativeDocument):
        assert_same_results(native, library, given_texts)


def test_replacement_at_the_start_is_made_in_each_part_between_added_tokens(tmp_path: Path) -> None:
    made = document(
        {"type": "BPE", "vocab": {piece: id for id, piece in enumerate(BYTES)}, "merges": []},
        normalizer={"type": "Replace", "pattern": {"Regex": r"\Aa"}, "content": "bb"},
        pre_tokenizer=BYTE_LEVEL,
        decoder=BYTE_LEVEL,
        added_tokens=[added("<t>", 256, special=False)],
    )
    native, library = both(tmp_path, dump(made))
    assert isinstance(native, NativeDocument)
    assert_same_results(native, library, ["x<t>a", "a", "<t>a", "xa<t>"])
    assert native.encode("x<t>a") == [BYTES.index("x"), 256, BYTES.index("b"), BYTES.index("b")]


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


@st.composite
def wordpieces_of_bytes(draw: st.DrawFn) -> bytes:
    """Draw a WordPiece over the bytes of words, as in NorBERT and LTG-BERT."""
    prefix = draw(st.sampled_from(["", "##", "Ġ", "Ã"]))
    letters = (
        draw(st.lists(st.sampled_from(BYTES), max_size=250, unique=True)) if draw(st.booleans()) else BYTES
    )
    longer = st.text("theĠlow#é字Ã©å", min_size=1, max_size=4)
    pieces = [*letters, *draw(st.lists(longer, max_size=30)), "<s>", "the"]
    pieces += [prefix + piece for piece in draw(st.permutations(pieces))[:200]]
    vocab = {piece: id for id, piece in enumerate(dict.fromkeys(["[UNK]", *pieces]))}
    model = {
        "type": "WordPiece",
        "vocab": vocab,
        "unk_token": draw(st.sampled_from(["[UNK]", "[UNK]", "the"])),
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": draw(st.sampled_from([2, 6, 100])),
    }
    tokens = draw(st.lists(st.sampled_from(TOKENS), max_size=3, unique=True))
    ids = {
        text: id for id, text in enumerate((text for text in tokens if text not in vocab), len(vocab))
    } | vocab
    return dump(
        document(
            model,
            normalizer=draw(st.sampled_from(NORMALIZERS)),
            pre_tokenizer=draw(st.sampled_from([BYTE_LEVEL, *SPLITTING.values()])),
            decoder=BYTE_LEVEL,
            added_tokens=[added(text, ids[text], special=draw(st.booleans())) for text in tokens],
        )
    )


@settings(max_examples=60)
@given(data=wordpieces_of_bytes(), given_texts=st.lists(mixed, max_size=6))
def test_ids_and_spans_of_wordpieces_of_bytes_equal_the_librarys(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, given_texts: list[str]
) -> None:
    native, library = both(tmp_path_factory.mktemp("any"), data)
    if isinstance(native, NativeDocument):
        assert_same_results(native, library, given_texts)
        assert [native.decode(native.encode(text)) for text in given_texts] == [
            library.decode(library.encode(text)) for text in given_texts
        ]


def wordpieces_of_bytes(pieces: list[str], *, longest_word: int = 100) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(with_parts(BYTE_LEVEL, None))
    made["model"] = {
        "type": "WordPiece",
        "vocab": {piece: id for id, piece in enumerate(pieces)},
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "",
        "max_input_chars_per_word": longest_word,
    }
    return made


def test_wordpieces_of_bytes_run_on_the_kernel(tmp_path: Path) -> None:
    made = wordpieces_of_bytes(["[UNK]", "Ġ", "l", "o", "w", "Ġlow", "Ã", "©", "<s>"], longest_word=7)
    made["added_tokens"] = [added("<s>", 8)]
    native, library = both(tmp_path, dump(made))
    assert isinstance(native, NativeDocument)
    assert native.encode("low low é ééé éééé x<s>", special=SpecialPolicy.ENCODE) == [
        *(2, 3, 4, 5, 1, 6, 7, 1, 6, 7, 6, 7, 6, 7),
        *(0, 0, 8),
    ]
    assert_same_results(native, library, ["low low é ééé éééé x<s>", "", "é", "lowé  low"])
    made["model"]["continuing_subword_prefix"] = "▁"
    assert not isinstance(both(tmp_path, dump(made))[0], NativeDocument)


def test_wordpieces_of_bytes_include_special_tokens_only_where_these_are_searched(tmp_path: Path) -> None:
    """The normalizer may write the text of one, which is then a piece like any other."""
    made = wordpieces_of_bytes(["[UNK]", *"toalk", "Ġ", "tool", "oo"])
    made["normalizer"] = {"type": "Replace", "pattern": {"String": "T"}, "content": "t"}
    made["added_tokens"] = [added("tool", 7)]
    native, library = both(tmp_path, dump(made))
    assert isinstance(native, NativeDocument)
    assert_same_results(native, library, ["Tool", "a tool", "talk Tool", "tools"])
    assert native.encode("Tool", special=SpecialPolicy.ENCODE) == [7]
    assert native.encode("Tool") == [1, 8, 4]
    with chosen("python"):
        assert both(tmp_path, dump(made))[0].info.kernel.startswith("tokenizers")


def test_whole_words_are_looked_up_beside_special_tokens_of_the_vocabulary(tmp_path: Path) -> None:
    """As in files made by the library's trainer, with a normalizer that may write the text of a special token."""
    made = json.loads(with_parts(BYTE_LEVEL, {"type": "Replace", "pattern": {"String": "T"}, "content": "t"}))
    vocab = made["model"]["vocab"]
    made["model"]["ignore_merges"] = True
    made["added_tokens"] = [
        added(text, vocab.setdefault(text, len(vocab)), special=special)
        for text, special in (("tool", True), ("Ġtool", True), ("talk", False))
    ]
    native, library = both(tmp_path, dump(made))
    assert isinstance(native, NativeDocument)
    assert_same_results(native, library, ["a tool", "Tool", "a Tool tool", "Talk talk", "Ġtool", " T"])
    assert native.encode("Tool", special=SpecialPolicy.ENCODE) == [vocab["tool"]]
    assert vocab["tool"] not in native.encode("Tool tool")


@pytest.mark.slow
def test_most_documents_run_on_the_kernel(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    for splitting in SPLITTING.values():
        for normalizer in NORMALIZERS:
            path.write_bytes(with_parts(splitting, normalizer))
            native = tokbench.load(path)
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
        ({"pre_tokenizer": sequence(split(r"\bthe\b"), ONLY_BYTES)}, r"contains '\\\\b'"),
        ({"pre_tokenizer": sequence(split(r"(?<!a)b"), ONLY_BYTES)}, "contains '\\(\\?<!'"),
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
