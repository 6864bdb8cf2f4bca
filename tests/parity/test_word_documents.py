"""`tokenizer.json` documents that split text into words have the ids of their library on tokbench's kernel.

Tested are random models of each kind with pre-tokenizers, normalizers and added tokens in any combination.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from support.byte_level_documents import sequence, split
from support.huggingface import added, document, dump
from support.native_documents import assert_same_results, both
from support.texts import bundled_texts
from support.word_documents import (
    CUTTING_WORDS,
    LETTERS,
    STRIP,
    STRIP_SPACES,
    TABLE,
    WHITESPACE,
    WHITESPACE_SPLIT,
    bpe_models,
    documents,
    metaspace,
    mixed_texts,
)

import tokbench
from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError, ModelFormatError, UnknownWordError
from tokbench.opening.native_document import NativeDocument

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")


@settings(max_examples=100)
@given(data=documents(), given_texts=st.lists(mixed_texts, max_size=6))
def test_ids_and_spans_of_any_document_equal_the_librarys(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, given_texts: list[str]
) -> None:
    native, library = both(tmp_path_factory.mktemp("any"), data)
    if isinstance(native, NativeDocument):
        assert_same_results(native, library, given_texts)
        peer = tokenizers.Tokenizer.from_buffer(data)
        expected = [peer.encode(text, add_special_tokens=False).ids for text in given_texts]
        assert [native.encode(text, special=SpecialPolicy.ENCODE) for text in given_texts] == expected


@pytest.mark.slow
@pytest.mark.parametrize("splitters", [(), (split("q"),)], ids=["alone", "then split"])
@settings(max_examples=100)
@given(
    model=bpe_models(), given_text=st.lists(st.sampled_from([*LETTERS, " ", "ab"]), min_size=33, max_size=200)
)
def test_long_words_are_merged_as_by_the_library(
    tmp_path_factory: pytest.TempPathFactory,
    splitters: tuple[dict[str, Any], ...],
    model: dict[str, Any],
    given_text: list[str],
) -> None:
    """They are cut where no merge joins two characters, and each part is merged by itself."""
    splitting = sequence(metaspace("always", cuts=False), *splitters)
    made = document(model | {"unk_token": "[UNK]"}, pre_tokenizer=splitting)
    native, library = both(tmp_path_factory.mktemp("long"), dump(made))
    assert_same_results(native, library, ["".join(given_text)])


def test_a_character_that_merges_also_make_joins_as_in_the_library(tmp_path: Path) -> None:
    """With a suffix, "a</w>" is an "a" at the end of a word, and what an "a" before the text "</w>" becomes."""
    merges = [["<", "/"], ["</", "w"], ["</w", ">"], ["a", "</w>"], ["x", "a</w>"]]
    made = ["".join(pair) for pair in merges]
    vocab = {piece: id for id, piece in enumerate(["[UNK]", *"<>/wax", *made])}
    model = {
        "type": "BPE",
        "vocab": vocab,
        "merges": merges,
        "unk_token": "[UNK]",
        "end_of_word_suffix": "</w>",
    }
    native, library = both(tmp_path, dump(document(model, pre_tokenizer=WHITESPACE_SPLIT)))
    assert isinstance(native, NativeDocument)
    texts = ["x" * 40 + "a", "xa" * 40, "xa</w>" * 20]
    assert_same_results(native, library, texts)
    assert native.encode(texts[0]) == [vocab["x"]] * 39 + [vocab["xa</w>"]]


def outcome(tokenizer: Any, text: str, special: SpecialPolicy) -> object:
    """Return the results of every call on a text, or the message of its error."""
    try:
        ids = tokenizer.encode(text, special=special)
        [batch] = tokenizer.encode_batch([text], special=special)
        starts = tokenizer.encode_spans([text]).starts.tolist() if special is SpecialPolicy.TEXT else []
        return ids, batch.tolist(), starts, tokenizer.segment(text, special=special)
    except UnknownWordError as error:
        return str(error)


@pytest.mark.slow
@settings(max_examples=100)
@given(data=documents(), given_texts=st.lists(mixed_texts, max_size=6))
def test_document_without_an_unknown_token_refuses_the_same_texts(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, given_texts: list[str]
) -> None:
    document = json.loads(data)
    document["model"] |= (
        {"unk_id": None} if document["model"]["type"] == "Unigram" else {"unk_token": "no piece"}
    )
    native, library = both(tmp_path_factory.mktemp("any"), dump(document))
    for special in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
        for text in given_texts:
            try:
                expected = outcome(library, text, special)
            except ModelFormatError as error:  # the library fails if a normalizer strips and prepends
                assert re.search("AddedVocabulary bad split|not a char boundary", error.message)
                continue
            assert outcome(native, text, special) == expected


@pytest.mark.parametrize(
    "model",
    [
        {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]], "unk_token": "[UNK]"},
        {"type": "WordLevel", "vocab": {"ab": 0, "a": 1}, "unk_token": "[UNK]"},
        {
            "type": "WordPiece",
            "vocab": {"ab": 0, "a": 1},
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 9,
        },
        {"type": "Unigram", "vocab": [["a", -2.0], ["b", -2.0], ["ab", -1.0], ["cd", -1.0]], "unk_id": None},
    ],
    ids=lambda model: model["type"],
)
def test_texts_without_unknown_words_run_on_the_kernel(tmp_path: Path, model: dict[str, Any]) -> None:
    """If [UNK] is only an added token, the library has no id for words that are not in the vocabulary."""
    tokens = [added("[UNK]", 4, special=True)]
    native, library = both(tmp_path, dump(document(model, pre_tokenizer=WHITESPACE, added_tokens=tokens)))
    assert isinstance(native, NativeDocument)
    for special in SpecialPolicy.TEXT, SpecialPolicy.ENCODE:
        use = native._kernel_use(special)
        assert use.runs("ab a") and not use.runs("ab cd") and not use.runs("abc")
    assert_same_results(native, library, ["ab a", "a  ab", ""])
    with_token = [library.encode(text, special=SpecialPolicy.ENCODE) for text in ("ab", "[UNK]a")]
    batch = native.encode_batch(["ab", "[UNK]a"], special=SpecialPolicy.ENCODE)
    assert batch.ids.tolist() == [id for ids in with_token for id in ids]
    for text in ("cd", "ab c"):
        with pytest.raises(UnknownWordError):
            native.encode_batch(["ab", text])


@cache
def quick_tour() -> dict[str, Any]:
    """Train the tokenizer of the library's quick tour."""
    library = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]"))
    library.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=700, special_tokens=["[UNK]", "[CLS]"], limit_alphabet=80, show_progress=False
    )
    library.train_from_iterator(bundled_texts().values(), trainer)
    return json.loads(library.to_str())


def quick_tour_with(pre_tokenizer: dict[str, Any]) -> bytes:
    return dump(quick_tour() | {"pre_tokenizer": pre_tokenizer})


@pytest.mark.slow
@pytest.mark.parametrize("pre_tokenizer", CUTTING_WORDS, ids=lambda step: step["type"])
def test_long_texts_run_on_the_kernel_with_every_pre_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pre_tokenizer: dict[str, Any]
) -> None:
    native, library = both(tmp_path, quick_tour_with(pre_tokenizer))
    assert isinstance(native, NativeDocument)
    # Without the hard cases, whose characters Unicode has assigned lately.
    whole = "\n".join(text for name, text in bundled_texts().items() if not name.startswith("edge"))
    lines = whole.split("\n")
    # Other lines for each pre-tokenizer: all of them for all would take four times as long.
    some = lines[CUTTING_WORDS.index(pre_tokenizer) % 4 :: 4]
    given_texts = ["\n".join(lines[::4]), *some, "漢字 [CLS]é the_cat" * 999]
    placed = library.encode_spans(given_texts)
    with_tokens = library.encode_batch(given_texts, special=SpecialPolicy.ENCODE)
    monkeypatch.setattr(NativeDocument, "_library", None)
    for policy, expected in (SpecialPolicy.TEXT, placed.encoded), (SpecialPolicy.ENCODE, with_tokens):
        for threads in (1, 3):
            found = native.encode_batch(given_texts, special=policy, threads=threads)
            assert np.array_equal(found.ids, expected.ids)
            assert np.array_equal(found.offsets, expected.offsets)
    for threads in (1, 3):
        spans = native.encode_spans(given_texts, threads=threads)
        assert np.array_equal(spans.starts, placed.starts)
        assert np.array_equal(spans.stops, placed.stops)


@pytest.mark.parametrize("normalizer", [None, {"type": "NFC"}, TABLE], ids=str)
@pytest.mark.parametrize("scheme", ["first", "always", "never"])
def test_metaspace_marks_parts_as_in_the_library(
    tmp_path: Path, normalizer: dict[str, Any] | None, scheme: str
) -> None:
    """A worked example: ▁ precedes the first part, or each, unless the part is empty or begins with a space or ▁."""
    vocab = [["[UNK]", 0.0], ["▁", -2.0], ["a", -2.0], ["▁a", -3.0], ["é", -2.0]]
    made = document(
        {"type": "Unigram", "vocab": vocab, "unk_id": 0},
        normalizer=normalizer,
        pre_tokenizer=metaspace(scheme),
        added_tokens=[added("<t>", 5)],
    )
    native, library = both(tmp_path, dump(made))
    assert isinstance(native, NativeDocument)
    given_texts = ["", " ", "a", " a", "▁a", "a  a", "<t>a", "a<t>a", " <t> a", "<t>", "e\u0301a", "x<t>▁"]
    assert_same_results(native, library, given_texts)
    expected = {"first": [3, 5, 2], "always": [3, 5, 3], "never": [2, 5, 2]}
    assert native.encode("a<t>a", special=SpecialPolicy.ENCODE) == expected[scheme]
    assert native.encode("a  a") == ([2, 1, 3] if scheme == "never" else [3, 1, 3])


@pytest.mark.parametrize(
    "normalizers", [[STRIP], [STRIP_SPACES], [{"type": "NFC"}, STRIP], [TABLE, STRIP]], ids=str
)
def test_metaspace_first_marks_only_the_start_of_the_text(
    tmp_path: Path, normalizers: list[dict[str, Any]]
) -> None:
    """Metaspace with "first" marks a part only if it begins at the start of the text, not after stripped spaces."""
    vocab = [["[UNK]", 0.0], ["▁", -2.0], ["a", -2.0], ["▁a", -3.0]]
    made = document(
        {"type": "Unigram", "vocab": vocab, "unk_id": 0},
        normalizer={"type": "Sequence", "normalizers": normalizers},
        pre_tokenizer=metaspace("first"),
        added_tokens=[added("<t>", 4)],
    )
    native, library = both(tmp_path, dump(made))
    assert isinstance(native, NativeDocument)
    assert_same_results(
        native, library, ["a", " a", "\u00a0a", " a<t>a", "<t>a", " <t> a", "e\u0301a", "\u0301a", "  "]
    )
    assert (native.encode("a"), native.encode(" a")) == ([3], [2])


@pytest.mark.parametrize("kind", ["Whitespace", "WhitespaceSplit", "BertPreTokenizer"])
def test_every_kind_of_character_is_split_as_in_the_library(tmp_path: Path, kind: str) -> None:
    native, library = both(tmp_path, quick_tour_with({"type": kind}))
    pre_tokenizer = library._engines.plain.pre_tokenizer
    characters = list(map(chr, [*range(0x3400), 0xFEFF, 0xFF3F, 0x1F600, 0xE0100]))
    covered = [
        character
        for character in characters
        if not 0xD800 <= ord(character) < 0xE000 and native._covers(character)
    ]
    assert len(covered) > 12_000
    text = "".join(f"a{character}a{character} {character}{character}." for character in covered)
    pieces = [piece for piece, _ in pre_tokenizer.pre_tokenize_str(text)]
    assert [piece.decode() for piece in native._encoder.pretokens(text.encode())] == pieces


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pre_tokenizer": {"type": "UnicodeScripts"}}, "UnicodeScripts"),
        ({"model": {"dropout": 0.1}}, "at random"),
        ({"model": {"merges": [["[UNK]", "a"]]}}, "or the unknown token"),
    ],
)
def test_unsupported_settings_are_left_to_the_library(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    vocab = {piece: id for id, piece in enumerate(["[UNK]", "a", "[UNK]a"])}
    model = {"type": "BPE", "vocab": vocab, "merges": [], "unk_token": "[UNK]"}
    made = document(model, pre_tokenizer=WHITESPACE) | changes
    made["model"] = model | made["model"]
    path = tmp_path / "tokenizer.json"
    path.write_bytes(dump(made))
    with pytest.raises(ConfigError, match=reason):
        tokbench.load(path, engine="native")
