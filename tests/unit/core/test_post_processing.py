"""Inputs of models: our templates, truncation and padding equal those of `tokenizers` for the same file."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from support import huggingface
from support.byte_level_documents import split
from support.descriptions import trained
from support.templates import BERT, BYTE_LEVEL, ROBERTA, documented, special, template, text

import tokbench
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.post_processing import input_of, model_input, template_size
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import TextError
from tokbench.formats.post_processors import (
    UnknownPostProcessingError,
    dump_post_processing,
    parse_post_processing,
    spelled_template,
)
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.workbench.open import load

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.descriptions import PostProcessing

IDS = {"a": 0, "b": 1, "<s>": 2, "</s>": 3, "<pad>": 4}
LLAMA = {"type": "Sequence", "processors": [BYTE_LEVEL, template(["<s>", 0], ["<s>", 0, "<s>", 1])]}
PROCESSORS: dict[str, Any] = {
    "none": None,
    "bytes": BYTE_LEVEL,
    "bert": BERT,
    "roberta": ROBERTA,
    "llama": LLAMA,
    "t5": template([0, "</s>"], [0, "</s>", 1, "</s>"]),
    "two ids": template(["<two>", 0], [1, "<two>", 0], ids={"<two>": [2, 3]}),
    "twice": template([0, "<s>", 0], [0, 1, 1, "</s>", 0]),
    "one of two": template([0], ["</s>", 1]),
    "types": template([special("<s>", 3), text(0, 2)], [text(0, 5), special("</s>", 1), text(1, 7)]),
}
LIMITS: dict[str, dict[str, Any]] = {
    "none": {},
    "cut": {"truncation": {"max_length": 7, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}},
    "cut odd": {
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 1, "direction": "Left"}
    },
    "cut first": {
        "truncation": {"max_length": 7, "strategy": "OnlyFirst", "stride": 0, "direction": "Right"}
    },
    "cut second": {
        "truncation": {"max_length": 9, "strategy": "OnlySecond", "stride": 0, "direction": "Left"}
    },
    "fill": {"padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None}},
    "fill left": {"padding": {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": 4}},
    "both": {
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 7}, "direction": "Left", "pad_to_multiple_of": 3},
    },
}


@cache
def word_level(processor: str, limits: str) -> tuple[tokenizers.Tokenizer, PostProcessing]:
    """Return a tokenizer of letters, and the post-processing read from its file."""
    settings = json.loads(json.dumps(LIMITS[limits]))
    if "padding" in settings:
        settings["padding"] |= {"pad_id": 4, "pad_type_id": 6, "pad_token": "<pad>"}
    model = {"type": "WordLevel", "vocab": IDS, "unk_token": "a"}
    parts = {"pre_tokenizer": split("."), "post_processor": PROCESSORS[processor], **settings}
    document = huggingface.document(model, **parts)
    return tokenizers.Tokenizer.from_str(json.dumps(document)), parse_post_processing(document)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_model_input_equals_the_librarys(processor: str, limits: str) -> None:
    library, read = word_level(processor, limits)
    pairs = [(0, None), (3, None), (20, None), (0, 0), (2, 3), (20, 3), (3, 20), (9, 20), (6, 6)]
    for first, second in pairs:
        texts = ["a" * first, *([] if second is None else ["b" * second])]
        for with_template in (True, False):
            encoding: Any
            try:
                encoding = library.encode(*texts, add_special_tokens=with_template)
            except Exception:
                with pytest.raises(TextError):
                    model_input(read, _ids(texts), template=with_template)
                continue
            ours = model_input(read, _ids(texts), template=with_template)
            assert ours == (tuple(encoding.ids), tuple(encoding.type_ids), tuple(encoding.attention_mask))


def _ids(texts: list[str]) -> list[list[int]]:
    return [[IDS[letter] for letter in text] for text in texts]


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_post_processing_survives_writing_and_reading(processor: str, limits: str) -> None:
    library, read = word_level(processor, limits)
    parts = dump_post_processing(read)
    assert parse_post_processing(parts) == read
    again = tokenizers.Tokenizer.from_str(json.dumps({**json.loads(library.to_str()), **parts}))
    for texts in (["aab"], ["aab", "bb"], ["a" * 11, "b" * 11]):
        for with_template in (True, False):
            assert outcome(library, texts, with_template) == outcome(again, texts, with_template)
    assert (again.truncation, again.padding) == (library.truncation, library.padding)


def outcome(library: tokenizers.Tokenizer, texts: list[str], with_template: Any) -> Any:
    """Return the library's result for texts, or the message of its error."""
    try:
        encoding = library.encode(*texts, add_special_tokens=with_template)
    except Exception as error:
        return str(error)
    return encoding.ids, encoding.type_ids, encoding.attention_mask


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"post_processor": {"type": "Other"}}, "its post-processor is Other"),
        ({"post_processor": {"type": "Sequence", "processors": [BERT, BERT]}}, "two templates"),
        ({"post_processor": {"type": "BertProcessing", "cls": ["x"], "sep": ["y", 1]}}, "without an id"),
        ({"post_processor": {"type": "TemplateProcessing", "single": 7}}, "not a list of parts"),
        ({"post_processor": template([1], [0, 1])}, "has the second text"),
        (
            {"post_processor": template(["<s>", 0], [0], ids={"<s>": []})},
            "neither a text nor a special token",
        ),
        ({"truncation": {"max_length": -1}}, "an unknown kind of truncation"),
        ({"padding": {"strategy": {"Fixed": 1 << 40}}}, "an unknown kind of padding"),
        ({"post_processor": []}, "not an object"),
    ],
)
def test_unknown_post_processing_is_refused(document: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnknownPostProcessingError, match=reason):
        parse_post_processing(document)


def test_templates_are_spelled_as_by_the_library() -> None:
    _, read = word_level("bert", "none")
    assert read.template is not None
    assert spelled_template(read.template.single) == "<s> $A </s>"
    assert spelled_template(read.template.pair) == "<s> $A </s> $B </s>"
    assert (template_size(read.template, pair=False), template_size(read.template, pair=True)) == (2, 3)
    assert template_size(None, pair=True) == 0


# --- tokenizers -------------------------------------------------------------------------------


@cache
def both(processor: str, flags: tuple[str, ...] = (), limits: str = "none") -> tuple[Any, Any]:
    """Return a byte-level BPE with a post-processor, opened on our kernel and on its library."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_bytes(documented(PROCESSORS[processor], flags=flags, **LIMITS[limits]))
        return load(path, engine="native"), load(path, engine="library")


@pytest.mark.parametrize("processor", ["none", "roberta", "llama", "two ids"])
@pytest.mark.parametrize("limits", ["none", "cut", "cut second"])
def test_both_engines_apply_the_template(processor: str, limits: str) -> None:
    native, library = both(processor, limits=limits)
    assert isinstance(native, BpeTokenizer)
    assert isinstance(library, HuggingFaceTokenizer)
    for first, second in [
        ("the cat", None),
        ("", None),
        ("the <s> cat", "a mat</s>"),
        ("a", "the cats " * 9),
    ]:
        for policy in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
            expected = library.with_template(first, second, special=policy)
            assert native.with_template(first, second, special=policy) == expected
            for options in ({}, {"template": False}, {"limits": False}):
                one, other = (
                    asked(tokenizer, first, second, special=policy, **options)
                    for tokenizer in (native, library)
                )
                assert one == other
    with pytest.raises(tokbench.errors.SpecialTokenError):
        native.with_template("the", "</s>", special=SpecialPolicy.RAISE)


@pytest.mark.parametrize("make", [huggingface.wordpiece, huggingface.unigram, huggingface.word_level])
@pytest.mark.parametrize("limits", ["none", "cut", "cut second", "both"])
def test_kernel_applies_the_template_of_other_algorithms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any, limits: str
) -> None:
    """It gives the library's input without the library, except for texts that the kernel does not encode."""
    settings = {part: dict(value) for part, value in LIMITS[limits].items()}
    if "padding" in settings:
        settings["padding"] |= {"pad_id": 4, "pad_type_id": 6, "pad_token": "<pad>"}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(make()), "post_processor": PROCESSORS["types"], **settings}))
    native, library = load(path), load(path, engine="library")
    assert native.info.kernel != library.info.kernel
    with monkeypatch.context() as patch:
        patch.setattr(native, "_engines", None)
        for texts in [("the cat",), ("",), ("the cat", "a mat"), ("a", "the cats " * 9), ("the " * 20, "a")]:
            for options in ({}, {"template": False}, {"limits": False}):
                assert asked(native, *texts, **options) == asked(library, *texts, **options)
    with_special = "the [CLS] <s> </s> cat"
    for policy in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
        expected = asked(library, with_special, "a </s>", special=policy)
        assert asked(native, with_special, "a </s>", special=policy) == expected


def asked(tokenizer: Any, *texts: str | None, **options: Any) -> Any:
    """Return the input for a model, or that the texts cannot be truncated."""
    try:
        return tokenizer.model_input(*texts, **options)
    except TextError:
        return "cannot be truncated"


@pytest.mark.parametrize("flags", [("lstrip",), ("rstrip",), ("lstrip", "rstrip"), ("lstrip", "normalized")])
@given(parts=st.lists(st.sampled_from(["<mask>", "<s>", " ", "\n", "\x1c", "\u3000", "a", "the", "\u200b"])))
def test_added_tokens_strip_white_space_as_by_the_library(flags: tuple[str, ...], parts: list[str]) -> None:
    native, library = both("none", flags=flags)
    text = "".join(parts)
    assert native.encode(text, special=SpecialPolicy.ENCODE) == library.encode(
        text, special=SpecialPolicy.ENCODE
    )
    one, other = (tokenizer.segment(text, special=SpecialPolicy.ENCODE) for tokenizer in (native, library))
    assert one == other
    assert native.encode(text) == library.encode(text)


def test_tokenizer_without_a_template_returns_its_ids() -> None:
    tokenizer = trained()
    ids = tokenizer.encode("the cat")
    assert tokenizer.with_template("the cat") == ids
    assert tokenizer.model_input("the cat", "the").type_ids == (0,) * len(ids) + (1,) * len(
        tokenizer.encode("the")
    )
    letters = tokbench.train(["the cat"], backend="char")
    assert input_of(letters, "the").ids == tuple(letters.encode("the"))


def test_text_that_cannot_be_truncated_is_refused_by_both_engines() -> None:
    for tokenizer in both("roberta", limits="cut second"):
        with pytest.raises(TextError, match="truncated"):
            tokenizer.model_input("the cat " * 20)
        with pytest.raises(TextError, match="truncated"):
            tokenizer.model_input("the cat " * 20, "a")


def test_wordpiece_is_truncated_and_padded_as_its_file_says(tmp_path: Path) -> None:
    document = {**json.loads(huggingface.wordpiece()), **word_piece_limits()}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    tokenizer: Any = load(tmp_path / "tokenizer.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for given_text in ("the cat", "the cat and the water " * 20):
        encoding = peer.encode(given_text)
        assert tokenizer.model_input(given_text, special=SpecialPolicy.ENCODE).ids == tuple(encoding.ids)
        assert tokenizer.with_template(given_text) == tokenizer.encode(given_text)


def word_piece_limits() -> dict[str, Any]:
    return {
        "truncation": {"max_length": 16, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {
            "strategy": {"Fixed": 16},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
    }
